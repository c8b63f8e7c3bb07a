// Package keyring reads and writes the user's keyring: the Keychain of macOS, the credentials of Windows, the Secret Service
// of desktops on Linux and the BSDs. Entries are those of the service goblin-actor. It answers within Patience, as a keyring may ask its
// user to unlock it; where there is no session, and so nobody to ask, it says so at once.
//
//	value, err := keyring.Get("github")
package keyring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	// Service is whose entries are read and written.
	Service = "goblin-actor"
	// Patience is how long the keyring may take.
	Patience = 10 * time.Second
)

var (
	// ErrNotFound is returned when the keyring has no such entry.
	ErrNotFound = errors.New("the keyring has no such entry of the service " + Service)
	// ErrNone is returned when there is no keyring to ask.
	ErrNone = errors.New("there is no keyring here: no desktop session")
	// ErrBusy is returned when it does not answer, perhaps as it waits for its user.
	ErrBusy = errors.New("the keyring does not answer; is it locked?")
)

// Get returns the value of an entry.
func Get(name string) (string, error) {
	return within(Patience, func() (string, error) { return keyring.Get(Service, name) })
}

// Set writes an entry.
func Set(name, value string) error {
	_, err := within(Patience, func() (string, error) { return "", keyring.Set(Service, name, value) })
	return err
}

// within calls f, which is left alone when it takes longer.
func within(patience time.Duration, f func() (string, error)) (string, error) {
	if !here() {
		return "", ErrNone
	}
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		switch {
		case errors.Is(r.err, keyring.ErrNotFound):
			return "", ErrNotFound
		case r.err != nil:
			return "", fmt.Errorf("ask the keyring: %w", r.err)
		}
		return r.value, nil
	case <-timer.C:
		return "", ErrBusy
	}
}

// here tells whether there may be a keyring. Where no session bus is, the library would start one.
func here() bool {
	if faked || runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// faked is set by Fake.
var faked bool

// Fake puts an empty keyring in memory in place of the user's, for tests.
func Fake() {
	faked = true
	keyring.MockInit()
}
