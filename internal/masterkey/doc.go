// Package masterkey loads the master key from which all other keys of the gateway are derived, and creates it if it
// does not exist. The master key is 32 random bytes, or a credential given by the operator. It is never used directly.
// Each purpose has its own key, derived by HKDF-SHA256 (RFC 5869) with a label, so that a leaked key reveals nothing
// about the others.
//
// Load uses the first of:
//   - the systemd credential goblin-actor.key;
//   - the file master.key in the directory of the state file, which contains the key, or the word "keyring" and the name of an entry;
//   - a new key, stored in that file or, on request, in the keyring.
//
// The keyring is not the default, because it exists only in a desktop session and may have to be unlocked, which would
// block the start.
//
// A key stays where it was first stored, unless Options.Move moves it to the keyring. A gateway that starts without a
// desktop session uses the same key or fails with an error that names the reason. It never creates a new key because
// the keyring is locked.
//
//	m, err := masterkey.Load(masterkey.Options{Dir: dir, Getenv: os.Getenv, Log: log})
//	key := m.Key(masterkey.State)
package masterkey
