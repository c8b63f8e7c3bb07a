package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

var (
	now    = time.Now().Round(0).UTC()
	modern = message.KnownEra{Era: protocol.EraModern, At: now}
	legacy = message.KnownEra{Era: protocol.EraLegacy, At: now.Add(-time.Hour)}
)

// begin makes a state file with two eras and returns its path and key.
func begin(t *testing.T) (string, message.SealingKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new", "state.db")
	f, c, err := open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.put(map[string]message.KnownEra{"a": modern, "b": legacy}); err != nil {
		t.Fatal(err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	return path, c.key
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	path, key := begin(t)
	f, c, err := open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	if c.key != key || c.key == (message.SealingKey{}) {
		t.Error("the sealing key is another one")
	}
	if len(c.eras) != 2 || c.eras["a"] != modern || c.eras["b"] != legacy {
		t.Errorf("eras %v", c.eras)
	}
	if err := f.put(map[string]message.KnownEra{"a": {}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.close(), f.close(), f.put(map[string]message.KnownEra{"c": modern})); err != nil {
		t.Errorf("after the end: %v", err)
	}
	f, c, err = open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if len(c.eras) != 1 || c.eras["b"] != legacy {
		t.Errorf("eras %v, want only b", c.eras)
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v, %v: the file holds a key", info.Mode(), err)
	}
}

func TestOldAndSenselessErasAreForgotten(t *testing.T) {
	path, _ := begin(t)
	f, _, err := open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	old := message.KnownEra{Era: protocol.EraModern, At: now.Add(-eraKept - time.Hour)}
	if err := f.put(map[string]message.KnownEra{"old": old, "odd": {Era: "baroque", At: now}}); err != nil {
		t.Fatal(err)
	}
	err = f.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketEras).Put([]byte("bad"), []byte("{")) })
	if err := errors.Join(err, f.close()); err != nil {
		t.Fatal(err)
	}
	f, c, err := open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if len(c.eras) != 2 {
		t.Errorf("eras %v, want a and b", c.eras)
	}
}

func TestHeldByAnother(t *testing.T) {
	path, _ := begin(t)
	f, _, err := open(path, lockWait)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if _, _, err := open(path, 20*time.Millisecond); !errors.Is(err, errHeld) {
		t.Errorf("error %v, want errHeld", err)
	}
}

// Whatever is in the file: it is used or set aside, and nothing dies of it.
func TestDamagedAndForeignFiles(t *testing.T) {
	edit := func(at int, with string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := at; i < len(raw); i += os.Getpagesize() {
				copy(raw[i:], with)
			}
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	bolt := func(change func(*bbolt.Tx) error) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(change), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name  string
		spoil func(*testing.T, string)
	}{
		{"text", func(t *testing.T, path string) { write(t, path, "my shopping list\n") }},
		{"a page of zeros", func(t *testing.T, path string) { write(t, path, string(make([]byte, 64<<10))) }},
		{"both metas overwritten", edit(16, "garbage garbage garbage garbage")},
		{"cut to a page", func(t *testing.T, path string) { truncate(t, path, int64(os.Getpagesize())) }},
		{"cut to two pages", func(t *testing.T, path string) { truncate(t, path, int64(2*os.Getpagesize())) }},
		{"cut to three pages", func(t *testing.T, path string) { truncate(t, path, int64(3*os.Getpagesize())) }},
		{"another program's", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			bolt(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })(t, path)
		}},
		{"a later format", bolt(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte("99")) })},
		{"a short key", bolt(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keySeal, []byte("short")) })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, key := begin(t)
			test.spoil(t, path)
			o := load(path)
			if o.err != nil {
				t.Fatalf("load: %v", o.err)
			}
			defer o.file.close()
			if o.aside == "" || o.why == nil || o.held.key == key {
				t.Errorf("aside %q, why %v: want it set aside and a new key", o.aside, o.why)
			}
			if _, err := os.Stat(o.aside); err != nil {
				t.Errorf("what was there is gone: %v", err)
			}
			if err := o.file.put(map[string]message.KnownEra{"a": modern}); err != nil {
				t.Errorf("write to the new one: %v", err)
			}
		})
	}
}

// Any byte of the file may be wrong: nothing may die of it.
func TestRandomDamage(t *testing.T) {
	path, _ := begin(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 61 {
		raw := append([]byte(nil), whole...)
		raw[at] ^= 0xff
		spoiled := filepath.Join(t.TempDir(), "state.db")
		write(t, spoiled, string(raw))
		if o := load(spoiled); o.err != nil {
			t.Fatalf("byte %d: %v", at, o.err)
		} else if err := o.file.close(); err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

func TestPlacesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	for _, path := range []string{dir, filepath.Join(dir, "file", "state.db")} {
		if o := load(path); o.err == nil {
			t.Errorf("load %s: no error", path)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}
