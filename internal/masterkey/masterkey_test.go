package masterkey

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// ring is an in-memory keyring.
type ring struct {
	mu      sync.Mutex
	entries map[string]string
	err     error // returned by every method; nil = none
}

func (r *ring) Get(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return "", r.err
	}
	value, ok := r.entries[name]
	if !ok {
		return "", ErrNotFound
	}
	return value, nil
}

func (r *ring) Set(name, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.entries[name] = value
	}
	return r.err
}

func newRing() *ring { return &ring{entries: map[string]string{}} }

func noEnv(string) string { return "" }

func mustLoad(t *testing.T, o Options) *Master {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = noEnv
	}
	m, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestKeysAreAlwaysTheSame checks that a derived key (RFC 5869) has a fixed value, because sealed data would otherwise
// become unreadable. It also checks that two purposes have different keys, and that a printed Master shows no secret.
func TestKeysAreAlwaysTheSame(t *testing.T) {
	m := Of([]byte("0123456789abcdef0123456789abcdef"))
	state, tasks := m.Key(State), m.Key(Tasks)
	if got := hex.EncodeToString(state[:]); got != wantState {
		t.Errorf("state: %s, want %s", got, wantState)
	}
	if state == tasks || m.ID() == hex.EncodeToString(state[:8]) {
		t.Error("two purposes have the same key")
	}
	if said := fmt.Sprintf("%v %+v %#v %s", m, m, m, m); strings.Contains(said, "0123") || strings.Contains(said, "48, 49") {
		t.Errorf("printed as %s", said)
	}
}

const wantState = "991bafb108c7b5dd50c7e4e3134811c0d9b0f4339775d8fc26951245fee77960"

// TestFile checks that the first start creates a key in a private file and logs the creation. The second start uses the
// same key and logs nothing.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	var log bytes.Buffer
	o := Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}
	first := mustLoad(t, o)
	again := mustLoad(t, o)
	if first.ID() != again.ID() || first.Key(State) != again.Key(State) {
		t.Error("the second start has a different key")
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), File) {
		t.Errorf("log %q, want one line", log.String())
	}
	if err := first.Settle(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files %q", left)
	}
}

// TestManyAtOnce checks that concurrent starts get the same key.
func TestManyAtOnce(t *testing.T) {
	for _, keyring := range []Keyring{nil, newRing()} {
		dir := t.TempDir()
		move := keyring != nil
		ids := make([]string, 16)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				if m, err := Load(Options{Dir: dir, Getenv: noEnv, Keyring: keyring, Move: move}); err != nil {
					t.Error(err)
				} else {
					ids[i] = m.ID()
				}
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("keys %q", ids)
			}
		}
	}
}

// TestKeyring checks that a key stays in the keyring. It is replaced if its entry is lost, but not while the keyring
// is locked.
func TestKeyring(t *testing.T) {
	dir, keys := t.TempDir(), newRing()
	inFile := mustLoad(t, Options{Dir: dir, Keyring: keys})
	if len(keys.entries) != 0 {
		t.Error("the key was stored in the keyring without request")
	}
	first := mustLoad(t, Options{Dir: dir, Keyring: keys, Move: true})
	if first.ID() != inFile.ID() {
		t.Error("the moved key is different")
	}
	if len(keys.entries) != 1 {
		t.Fatalf("%d entries", len(keys.entries))
	}
	raw, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || !strings.HasPrefix(string(raw), inRing) {
		t.Errorf("the file contains %q, %v", raw, err)
	}
	if again := mustLoad(t, Options{Dir: dir, Keyring: keys}); again.ID() != first.ID() {
		t.Error("a different key")
	}
	for _, o := range []Options{{Dir: dir, Getenv: noEnv}, {Dir: dir, Getenv: noEnv, Keyring: &ring{err: errors.New("locked")}}} {
		if _, err := Load(o); !errors.Is(err, ErrUnreachable) {
			t.Errorf("without the keyring: %v", err)
		}
	}
	if again := mustLoad(t, Options{Dir: dir, Keyring: newRing()}); again.ID() == first.ID() {
		t.Error("a lost key was not replaced")
	}
	for _, keyring := range []Keyring{nil, &ring{err: errors.New("locked")}} {
		if _, err := Load(Options{Dir: t.TempDir(), Getenv: noEnv, Keyring: keyring, Move: true}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("requested keyring is not available: %v", err)
		}
	}
}

func TestCredential(t *testing.T) {
	dir, given := t.TempDir(), t.TempDir()
	env := func(name string) string { return map[string]string{"CREDENTIALS_DIRECTORY": given}[name] }
	without := mustLoad(t, Options{Dir: dir, Getenv: env})
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(given, Credential), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("too short")
	if _, err := Load(Options{Dir: dir, Getenv: env}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("short credential: %v", err)
	}
	write(strings.Repeat("long", 20))
	if with := mustLoad(t, Options{Dir: dir, Getenv: env}); with.ID() == without.ID() || with.ID() != Of([]byte(strings.Repeat("long", 20))).ID() {
		t.Error("the credential was not used")
	}
}

func TestInvalidKeyFiles(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "text": "my shopping list", "short": "AAAA", "large": strings.Repeat("A", 5000)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Options{Dir: dir, Getenv: noEnv}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	dir := t.TempDir()
	mustLoad(t, Options{Dir: dir})
	if err := os.Chmod(filepath.Join(dir, File), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Dir: dir, Getenv: noEnv}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("file that other users can read: %v", err)
	}
}

// slowRing calls missed before it reports an entry that it does not have, the first time.
type slowRing struct {
	*ring
	missed func()
}

func (r *slowRing) Get(name string) (string, error) {
	value, err := r.ring.Get(name)
	if missed := r.missed; missed != nil && errors.Is(err, ErrNotFound) {
		r.missed = nil
		missed()
	}
	return value, err
}

// Two gateways that find the keyring's entry lost at the same time end with one key, and leave no other files.
func TestLostKeyIsReplacedOnce(t *testing.T) {
	o := Options{Dir: t.TempDir(), Keyring: newRing(), Move: true, Log: slog.New(slog.DiscardHandler)}
	mustLoad(t, o)
	empty := newRing()
	o.Keyring = empty
	var first *Master
	second := o
	second.Keyring = &slowRing{ring: empty, missed: func() { first = mustLoad(t, o) }}
	if got := mustLoad(t, second); first == nil || !bytes.Equal(got.secret, first.secret) {
		t.Error("the gateways have different keys")
	}
	if got := mustLoad(t, o); !bytes.Equal(got.secret, first.secret) {
		t.Error("after a restart, the key is another one")
	}
	if files, _ := os.ReadDir(o.Dir); len(files) != 1 {
		t.Errorf("files: %v, want only the marker", files)
	}
}
