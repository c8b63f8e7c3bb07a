package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
)

// If one catalog is damaged, only that catalog is lost.
func TestDamagedEntry(t *testing.T) {
	path, key := begin(t)
	if _, err := write(path, testVault, key, batch{catalogs: map[string]*message.KnownCatalog{"t": catalogOf(now, "z")}}, writeWait); err != nil {
		t.Fatal(err)
	}
	bolt(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketCatalogs)
		v := append([]byte(nil), b.Get([]byte("s"))...)
		v[len(v)-3] ^= 1
		return b.Put([]byte("s"), v)
	})(t, path)
	if c := mustRead(t, path); c.damaged != 1 || len(c.catalogs) != 1 || c.catalogs["t"] == nil || len(c.eras) != 2 {
		t.Errorf("%d damaged, catalogs %v, eras %v; want catalog t only", c.damaged, c.catalogs, c.eras)
	}
}

// A file of a later version is not modified, since the two versions may run side by side.
func TestLaterFormatIsNotModified(t *testing.T) {
	path, key := begin(t)
	bolt(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte("99")) })(t, path)
	if o := load(path, testMaster); !errors.Is(o.err, errNewer) || o.aside != "" {
		t.Errorf("load: %v, aside %q; want errNewer", o.err, o.aside)
	}
	if _, err := write(path, testVault, key, batch{eras: map[string]message.KnownEra{"c": modern}}, writeWait); !errors.Is(err, errNewer) {
		t.Errorf("write: %v, want errNewer", err)
	}
}

// A gateway that wants to rename an unusable file does not rename another gateway's new file.
func TestNewFileIsNotRenamed(t *testing.T) {
	path, key := begin(t)
	was, err := os.Stat(filepath.Dir(path)) // stands for an earlier file
	if err != nil {
		t.Fatal(err)
	}
	if aside, err := setAside(path, was); aside != "" || err != nil {
		t.Errorf("renamed to %q, %v", aside, err)
	}
	if c := mustRead(t, path); c.key != key {
		t.Error("the file was replaced")
	}
}

// bolt returns a function that modifies a state file directly.
func bolt(do func(*bbolt.Tx) error) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(do), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged or foreign file is replaced and causes no panic.
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
	tests := []struct {
		name  string
		spoil func(*testing.T, string)
	}{
		{"text", func(t *testing.T, path string) { overwrite(t, path, "my shopping list\n") }},
		{"a page of zeros", func(t *testing.T, path string) { overwrite(t, path, string(make([]byte, 64<<10))) }},
		{"both metas overwritten", edit(16, "garbage garbage garbage garbage")},
		{"cut to a page", func(t *testing.T, path string) { truncate(t, path, int64(os.Getpagesize())) }},
		{"cut to two pages", func(t *testing.T, path string) { truncate(t, path, int64(2*os.Getpagesize())) }},
		{"cut to three pages", func(t *testing.T, path string) { truncate(t, path, int64(3*os.Getpagesize())) }},
		{"cut within a page", func(t *testing.T, path string) { truncate(t, path, 9000) }},
		{"a database of another program", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			bolt(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })(t, path)
		}},
		{"an invalid format", bolt(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte("-7")) })},
		{"a short key in the former format", bolt(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(bucketMeta)
			return errors.Join(meta.Put(keyFormat, []byte("1")), meta.Put(keySeal, []byte("short")))
		})},
		{"a short key", bolt(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keySeal, []byte("short")) })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, key := begin(t)
			test.spoil(t, path)
			o := load(path, testMaster)
			if o.err != nil {
				t.Fatalf("load: %v", o.err)
			}
			w := save(writeFile{path: path, vault: testVault, key: o.held.key, batch: batch{eras: map[string]message.KnownEra{"a": modern}}})
			if w.err != nil {
				t.Errorf("write to the new file: %v", w.err)
			}
			if aside := o.aside + w.aside; aside == "" || o.why == nil && w.why == nil || o.aside != "" && o.held.key == key {
				t.Errorf("aside %q and %q, why %v, %v; want the file renamed, and a new key if load renamed it", o.aside, w.aside, o.why, w.why)
			} else if _, err := os.Stat(aside); err != nil {
				t.Errorf("the renamed file is missing: %v", err)
			}
			if why := fmt.Sprint(o.why, w.why); strings.Contains(why, "runtime error") {
				t.Errorf("the reason contains a Go runtime error: %q", why)
			}
			if c := mustRead(t, path); c.eras["a"] != modern {
				t.Errorf("the written era is missing: %v", c.eras)
			}
		})
	}
}

// A wrong byte in the file causes no panic, and no error except errNewer.
func TestRandomDamage(t *testing.T) {
	path, _ := begin(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 61 {
		raw := append([]byte(nil), whole...)
		raw[at] ^= 0xff
		damaged := filepath.Join(t.TempDir(), "state.db")
		overwrite(t, damaged, string(raw))
		if o := load(damaged, testMaster); o.err != nil && !errors.Is(o.err, errNewer) {
			t.Fatalf("byte %d: %v", at, o.err)
		}
	}
}

func overwrite(t *testing.T, path, text string) {
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
