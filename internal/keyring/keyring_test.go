package keyring

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

var userKeyring = flag.Bool("keyring", false, "ask the keyring of this session, which must be unlocked (make keyring), instead of one in memory")

// TestKeyring checks that a written entry can be read, and that a missing entry returns ErrNotFound.
func TestKeyring(t *testing.T) {
	if !*userKeyring {
		Fake()
	}
	name := fmt.Sprintf("test-%d", os.Getpid())
	if _, err := Get(name); !errors.Is(err, ErrNotFound) {
		t.Fatalf("before: %v", err)
	}
	if err := Set(name, "päss\nword"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	value, err := Get(name)
	if err != nil || value != "päss\nword" {
		t.Errorf("got %q, %v", value, err)
	}
	if err := keyring.Delete(Service, name); err != nil {
		t.Error(err)
	}
	t.Logf("a lookup took %v", time.Since(began))
}

// TestNoSession checks that without a session the keyring is not accessed, and no bus is started.
func TestNoSession(t *testing.T) {
	if faked {
		faked = false
		defer func() { faked = true }()
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if available() {
		t.Skip("this system's keyring needs no bus")
	}
	if _, err := Get("x"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestPatience checks that a lookup that takes too long returns ErrBusy.
func TestPatience(t *testing.T) {
	Fake()
	held := make(chan struct{})
	defer close(held)
	if _, err := within(time.Millisecond, func() (string, error) { <-held; return "", nil }); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}
