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

// ring is a keyring in memory.
type ring struct {
	mu      sync.Mutex
	entries map[string]string
	err     error // of everything
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

// The keys are those of RFC 5869: what is sealed today opens tomorrow.
func TestKeysAreAlwaysTheSame(t *testing.T) {
	m := Of([]byte("0123456789abcdef0123456789abcdef"))
	state, tasks := m.Key(State), m.Key(Tasks)
	if got := hex.EncodeToString(state[:]); got != wantState {
		t.Errorf("state: %s, want %s", got, wantState)
	}
	if state == tasks || m.ID() == hex.EncodeToString(state[:8]) {
		t.Error("two uses have one key")
	}
	if said := fmt.Sprintf("%v %+v %#v %s", m, m, m, m); strings.Contains(said, "0123") || strings.Contains(said, "48, 49") {
		t.Errorf("printed it is %s", said)
	}
}

const wantState = "991bafb108c7b5dd50c7e4e3134811c0d9b0f4339775d8fc26951245fee77960"

// The first start makes a key in a file that nobody else may read, and says so once.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	var log bytes.Buffer
	o := Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}
	first := mustLoad(t, o)
	again := mustLoad(t, o)
	if first.ID() != again.ID() || first.Key(State) != again.Key(State) {
		t.Error("the second start has another key")
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

// Many that start at once have one key.
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

// A key of the keyring stays there: one that is locked is waited for, not replaced; one that is lost is.
func TestKeyring(t *testing.T) {
	dir, keys := t.TempDir(), newRing()
	inFile := mustLoad(t, Options{Dir: dir, Keyring: keys})
	if len(keys.entries) != 0 {
		t.Error("it went into the keyring unasked")
	}
	first := mustLoad(t, Options{Dir: dir, Keyring: keys, Move: true})
	if first.ID() != inFile.ID() {
		t.Error("a key that was moved is another one")
	}
	if len(keys.entries) != 1 {
		t.Fatalf("%d entries", len(keys.entries))
	}
	raw, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || !strings.HasPrefix(string(raw), inRing) {
		t.Errorf("the file says %q, %v", raw, err)
	}
	if again := mustLoad(t, Options{Dir: dir, Keyring: keys}); again.ID() != first.ID() {
		t.Error("another key")
	}
	for _, o := range []Options{{Dir: dir, Getenv: noEnv}, {Dir: dir, Getenv: noEnv, Keyring: &ring{err: errors.New("locked")}}} {
		if _, err := Load(o); !errors.Is(err, ErrUnreachable) {
			t.Errorf("without the keyring: %v", err)
		}
	}
	if again := mustLoad(t, Options{Dir: dir, Keyring: newRing()}); again.ID() == first.ID() {
		t.Error("a key that is lost came back")
	}
	for _, keyring := range []Keyring{nil, &ring{err: errors.New("locked")}} {
		if _, err := Load(Options{Dir: t.TempDir(), Getenv: noEnv, Keyring: keyring, Move: true}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("a keyring that was asked for and is not there: %v", err)
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
		t.Errorf("a short one: %v", err)
	}
	write(strings.Repeat("long", 20))
	if with := mustLoad(t, Options{Dir: dir, Getenv: env}); with.ID() == without.ID() || with.ID() != Of([]byte(strings.Repeat("long", 20))).ID() {
		t.Error("the credential does not count")
	}
}

func TestFilesThatAreNoKey(t *testing.T) {
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
		t.Errorf("one that others can read: %v", err)
	}
}
