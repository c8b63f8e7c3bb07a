// Package masterkey finds the one key from which all others of the gateway are made, and makes one where there is none yet.
// It is 32 random bytes, or whatever an operator gives as a credential, and never used itself: each use has a key of
// its own, by HKDF-SHA256 (RFC 5869) with the label of the use, so that one that gets out tells nothing of another.
//
// It is, in this order: the credential goblin-actor.key of systemd; what the file master.key in the directory of the state file
// says, which is the key itself or the word "keyring" with the name of an entry there; a new one, in a new file, or in the keyring
// where that is asked for. (Not unasked: a keyring may have to be unlocked, is there in a desktop session only, and a start would wait for it.)
// Where it was once it stays: a gateway that starts without the session finds what one within it has sealed, or says why not,
// and never begins anew because a keyring is locked.
//
//	m, err := masterkey.Load(masterkey.Options{Dir: dir, Getenv: os.Getenv, Log: log})
//	key := m.Key(masterkey.State)
package masterkey
