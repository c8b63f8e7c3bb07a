package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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

// catalogOf returns the catalog of a server with tools of these names.
func catalogOf(at time.Time, names ...string) *message.KnownCatalog {
	k := &message.KnownCatalog{At: at, Info: &message.ServerInfo{Version: "2025-11-25", Capabilities: []byte(`{"tools":{}}`), Info: []byte(`{"name":"x"}`), Instructions: "read"}}
	for _, name := range names {
		k.Lists[protocol.Tools].Items = append(k.Lists[protocol.Tools].Items, fmt.Appendf(nil, `{"name":%q}`, name))
	}
	k.Lists[protocol.Templates].Silent = true
	return k
}

// describe formats a catalog for comparison.
func describe(k *message.KnownCatalog) string {
	if k == nil {
		return "nothing"
	}
	return fmt.Sprintf("%v %+v %s %s %q %v", k.At.UTC(), k.Info.Version, k.Info.Capabilities, k.Info.Info, k.Info.Instructions, k.Lists)
}

func mustRead(t *testing.T, path string) contents {
	t.Helper()
	c, err := read(path, testVault, readWait)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// begin creates a state file with two eras and a catalog, and returns its path and key.
func begin(t *testing.T) (string, message.SealingKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new", "state.db")
	c := mustRead(t, path)
	b := batch{eras: map[string]message.KnownEra{"a": modern, "b": legacy}, catalogs: map[string]*message.KnownCatalog{"s": catalogOf(now, "x", "y")}}
	if _, err := write(path, testVault, c.key, b, writeWait); err != nil {
		t.Fatal(err)
	}
	return path, c.key
}

func TestWriteAndRead(t *testing.T) {
	path, key := begin(t)
	c := mustRead(t, path)
	if c.key != key || c.key == (message.SealingKey{}) {
		t.Error("the sealing key has changed")
	}
	if len(c.eras) != 2 || c.eras["a"] != modern || c.eras["b"] != legacy {
		t.Errorf("eras %v", c.eras)
	}
	if want := catalogOf(now, "x", "y"); len(c.catalogs) != 1 || describe(c.catalogs["s"]) != describe(want) {
		t.Errorf("catalogs %s, want %s", describe(c.catalogs["s"]), describe(want))
	}
	gone := batch{eras: map[string]message.KnownEra{"a": {}}, catalogs: map[string]*message.KnownCatalog{"s": nil, "t": catalogOf(now)}}
	if _, err := write(path, testVault, key, gone, writeWait); err != nil {
		t.Fatal(err)
	}
	c = mustRead(t, path)
	if len(c.eras) != 1 || c.eras["b"] != legacy || len(c.catalogs) != 1 || describe(c.catalogs["t"]) != describe(catalogOf(now)) {
		t.Errorf("eras %v, catalogs %v; want b and t", c.eras, c.catalogs)
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v, %v: the file holds a key", info.Mode(), err)
	}
}

// A deleted file is created again with the key in use.
func TestDeletedFileIsCreatedAgain(t *testing.T) {
	path, key := begin(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := write(path, testVault, key, batch{eras: map[string]message.KnownEra{"c": modern}}, writeWait); err != nil {
		t.Fatal(err)
	}
	if c := mustRead(t, path); c.key != key || len(c.eras) != 1 {
		t.Errorf("key kept: %v, eras %v", c.key == key, c.eras)
	}
}

func TestExpiredAndInvalidEntriesAreRemoved(t *testing.T) {
	path, key := begin(t)
	old := now.Add(-eraKept - time.Hour)
	b := batch{
		eras:     map[string]message.KnownEra{"old": {Era: protocol.EraModern, At: old}, "odd": {Era: "baroque", At: now}},
		catalogs: map[string]*message.KnownCatalog{"old": catalogOf(old, "x"), "yet to come": catalogOf(now.Add(catalogKept + time.Hour))},
	}
	big := catalogOf(now, "x")
	big.Info.Instructions = strings.Repeat("x", maxCatalog)
	b.catalogs["big"] = big
	if _, err := write(path, testVault, key, b, writeWait); err != nil {
		t.Fatal(err)
	}
	bolt(func(tx *bbolt.Tx) error {
		return errors.Join(tx.Bucket(bucketEras).Put([]byte("bad"), []byte("{")), tx.Bucket(bucketCatalogs).Put([]byte("bad"), []byte("{")))
	})(t, path)
	if c := mustRead(t, path); len(c.eras) != 2 || len(c.catalogs) != 1 {
		t.Errorf("eras %v, catalogs %v; want a, b and s", c.eras, c.catalogs)
	}
	if _, err := write(path, testVault, key, batch{eras: map[string]message.KnownEra{"a": {}}}, writeWait); err != nil {
		t.Fatal(err)
	}
	left := 0
	bolt(func(tx *bbolt.Tx) error {
		left = tx.Bucket(bucketEras).Stats().KeyN + tx.Bucket(bucketCatalogs).Stats().KeyN
		return nil
	})(t, path)
	if left != 2 {
		t.Errorf("%d entries are left in the file, want b and s", left)
	}
}

// Beyond the limits of servers and bytes, the oldest catalogs are removed.
func TestBounds(t *testing.T) {
	path, key := begin(t)
	b := newBatch()
	for i := range maxCatalogs + 10 {
		b.catalogs[fmt.Sprint(i)] = catalogOf(now.Add(-time.Duration(i)*time.Second), "x")
	}
	if _, err := write(path, testVault, key, b, writeWait); err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, path)
	if len(c.catalogs) != maxCatalogs || c.catalogs["0"] == nil || c.catalogs[fmt.Sprint(maxCatalogs)] != nil {
		t.Errorf("%d catalogs, want the %d newest", len(c.catalogs), maxCatalogs)
	}
	b = newBatch()
	for i := range 10 {
		large := catalogOf(now.Add(time.Duration(i)*time.Second), "x")
		large.Info.Instructions = strings.Repeat("x", maxCatalog-1000)
		b.catalogs[fmt.Sprint("large", i)] = large
	}
	if _, err := write(path, testVault, key, b, writeWait); err != nil {
		t.Fatal(err)
	}
	c = mustRead(t, path)
	if len(c.catalogs) != 8 || c.catalogs["large9"] == nil || c.catalogs["large1"] != nil {
		t.Errorf("%d catalogs, want the 8 newest", len(c.catalogs))
	}
}

// Gateways that start, read and write concurrently lose no data and share one key.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	const writers, rounds = 8, 10
	keys := make([]message.SealingKey, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			c, err := read(path, testVault, time.Minute)
			keys[i] = c.key
			for round := range rounds {
				if err == nil {
					_, err = write(path, testVault, c.key, batch{catalogs: map[string]*message.KnownCatalog{fmt.Sprintf("%d/%d", i, round): catalogOf(now, "x")}}, time.Minute)
				}
				if err == nil {
					_, err = read(path, testVault, time.Minute)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c := mustRead(t, path); len(c.catalogs) != writers*rounds {
		t.Errorf("%d catalogs, want %d", len(c.catalogs), writers*rounds)
	}
	for _, key := range keys {
		if key != keys[0] {
			t.Fatal("the writers have different keys")
		}
	}
}

// The wait for a file that another process keeps locked, as an older version of the program does, is bounded.
func TestFileLockedByAnotherProcess(t *testing.T) {
	path, key := begin(t)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := read(path, testVault, 20*time.Millisecond); !errors.Is(err, errLocked) {
		t.Errorf("read: error %v, want errLocked", err)
	}
	if _, err := write(path, testVault, key, batch{eras: map[string]message.KnownEra{"c": modern}}, 20*time.Millisecond); !errors.Is(err, errLocked) {
		t.Errorf("write: error %v, want errLocked", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("both attempts took %v", took)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	mustRead(t, path)
}

// A file of another user is not trusted.
func TestFileOfAnotherUser(t *testing.T) {
	path, _ := begin(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if o := load(path, testMaster); !errors.Is(o.err, errOtherOwner) || o.aside != "" {
		t.Errorf("load: %v, aside %q; want errOtherOwner", o.err, o.aside)
	}
}

func TestUnusablePaths(t *testing.T) {
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "file"), "x")
	for _, path := range []string{dir, filepath.Join(dir, "file", "state.db")} {
		if o := load(path, testMaster); o.err == nil {
			t.Errorf("load %s: no error", path)
		}
	}
}

// For any bytes, decodeCatalog returns an error or a catalog that encoding and decoding do not change.
func FuzzDecodeCatalog(f *testing.F) {
	f.Add(encodeCatalog(catalogOf(now, "x", "y")))
	f.Add(encodeCatalog(&message.KnownCatalog{Info: &message.ServerInfo{}}))
	f.Add([]byte("no catalog at all"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > headSize { // correct the checksum, to test the code behind its verification
			raw = bytes.Clone(raw)
			binary.LittleEndian.PutUint32(raw, crc32.Checksum(raw[4:], castagnoli))
		}
		k, err := decodeCatalog(raw)
		if err != nil {
			return
		}
		again, err := decodeCatalog(encodeCatalog(k))
		if err != nil || describe(again) != describe(k) {
			t.Errorf("%s became %s, %v", describe(k), describe(again), err)
		}
	})
}
