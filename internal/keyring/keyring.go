// Package keyring reads and writes entries of the service goblin-actor in the user's keyring: the Keychain on macOS,
// the Credential Manager on Windows, the Secret Service on Linux and BSD desktops. A keyring may ask the user to
// unlock it, so calls return after at most Patience. Without a desktop session they fail at once.
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
	// Service is the service name of the entries.
	Service = "goblin-actor"
	// Patience is the time limit for a call.
	Patience = 10 * time.Second
)

var (
	// ErrNotFound is returned if the keyring has no such entry.
	ErrNotFound = errors.New("the keyring has no such entry of the service " + Service)
	// ErrNone is returned if there is no keyring.
	ErrNone = errors.New("no keyring is available: there is no desktop session")
	// ErrBusy is returned if the keyring does not respond in time, for example because it waits for the user.
	ErrBusy = errors.New("the keyring does not respond; it may be locked")
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

// within calls f, but does not wait for it longer than patience.
func within(patience time.Duration, f func() (string, error)) (string, error) {
	if !available() {
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
			return "", fmt.Errorf("keyring: %w", r.err)
		}
		return r.value, nil
	case <-timer.C:
		return "", ErrBusy
	}
}

// available reports whether there may be a keyring. Without a session bus, the library would start one.
func available() bool {
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

// Fake replaces the user's keyring with an empty one in memory, for tests.
func Fake() {
	faked = true
	keyring.MockInit()
}
