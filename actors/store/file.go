package store

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	format   = "1"
	maxEras  = 4096                // more than anybody configures; the rest is left out
	eraKept  = 90 * 24 * time.Hour // a server nobody has seen for so long is forgotten
	maxAside = 100                 // names tried for a file that is set aside
)

// Names inside the file.
var (
	bucketMeta = []byte("goblin-actor") // format → "1", seal → the sealing key
	bucketEras = []byte("eras")         // a server's identity → {"era":"modern","at":"2026-…"}
	keyFormat  = []byte("format")
	keySeal    = []byte("seal")
)

var (
	// errHeld is returned when another process has the file open.
	errHeld = errors.New("another process holds it")
	// errDamaged is returned when the file cannot be read.
	errDamaged = errors.New("damaged")
	// errForeign is returned when the file is another program's, or of a format we do not know.
	errForeign = errors.New("not a state file of goblin-actor")
)

// unusable reports whether a file like that stays useless, so that it is set aside.
func unusable(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, errForeign) }

// file is an open state file. Its methods block on the disk and may be called from any goroutine.
type file struct {
	mu sync.Mutex
	db *bbolt.DB // nil after close
}

// contents is what a file holds.
type contents struct {
	key  message.SealingKey
	eras map[string]message.KnownEra
}

// open opens or creates the file, waits for its lock no longer than wait, and reads it. errHeld, errDamaged and
// errForeign say what is wrong with it; other errors are the system's.
func open(path string, wait time.Duration) (*file, contents, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, contents{}, fmt.Errorf("make directory of state file: %w", err)
	}
	var held *os.File
	f := &file{}
	var c contents
	err := guarded(func() (err error) {
		f.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: wait, OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			held, err = os.OpenFile(name, flag, mode)
			return held, err
		}})
		if err != nil {
			return openError(err)
		}
		if err := os.Chmod(path, 0o600); err != nil { // it holds a key
			return fmt.Errorf("protect state file: %w", err)
		}
		return f.db.Update(c.read)
	})
	if err == nil {
		return f, c, nil
	}
	if f.db != nil {
		_ = guarded(f.db.Close)
	}
	if held != nil {
		_ = held.Close() // bbolt may have panicked before it could
	}
	return nil, contents{}, err
}

// openError sorts the errors of opening: what the system did not complain about, bbolt did.
func openError(err error) error {
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errHeld
	}
	_, byPath := errors.AsType[*fs.PathError](err)
	_, byNumber := errors.AsType[syscall.Errno](err)
	if byPath || byNumber {
		return fmt.Errorf("open state file: %w", err)
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// guarded runs f, which reads memory that is a file: one that was cut short faults, and bbolt panics over pages that
// make no sense. Both become errDamaged.
func guarded(f func() error) (err error) {
	was := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(was)
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errDamaged, cause)
		}
	}()
	return f()
}

// read takes everything out of the file, and makes what a new one lacks.
func (c *contents) read(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		if first, _ := tx.Cursor().First(); first != nil {
			return errForeign
		}
		return c.create(tx)
	}
	if string(meta.Get(keyFormat)) != format {
		return fmt.Errorf("%w: format %.20q", errForeign, meta.Get(keyFormat))
	}
	if n := copy(c.key[:], meta.Get(keySeal)); n != len(c.key) || len(meta.Get(keySeal)) != n {
		return fmt.Errorf("%w: the sealing key has the wrong length", errDamaged)
	}
	return c.readEras(tx)
}

// create fills a new file.
func (c *contents) create(tx *bbolt.Tx) error {
	_, _ = rand.Read(c.key[:]) // never fails
	meta, err := tx.CreateBucket(bucketMeta)
	if err == nil {
		err = meta.Put(keyFormat, []byte(format))
	}
	if err == nil {
		err = meta.Put(keySeal, c.key[:])
	}
	if err != nil {
		return fmt.Errorf("create state file: %w", err)
	}
	return c.readEras(tx)
}

// storedEra is an era as it stands in the file.
type storedEra struct {
	Era protocol.Era `json:"era"`
	At  time.Time    `json:"at"`
}

func (c *contents) readEras(tx *bbolt.Tx) error {
	eras, err := tx.CreateBucketIfNotExists(bucketEras)
	if err != nil {
		return fmt.Errorf("eras in state file: %w", err)
	}
	c.eras = map[string]message.KnownEra{}
	var old [][]byte
	oldest, cursor := time.Now().Add(-eraKept), eras.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		var e storedEra
		known := json.Unmarshal(v, &e) == nil && (e.Era == protocol.EraLegacy || e.Era == protocol.EraModern)
		if !known || e.At.Before(oldest) || len(c.eras) >= maxEras {
			old = append(old, append([]byte(nil), k...))
			continue
		}
		c.eras[string(k)] = message.KnownEra(e)
	}
	for _, k := range old {
		if err := eras.Delete(k); err != nil {
			return fmt.Errorf("forget an old era: %w", err)
		}
	}
	return nil
}

// put writes eras; one that is unknown is deleted. It does nothing when there are none, or after close.
func (f *file) put(eras map[string]message.KnownEra) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(eras) == 0 || f.db == nil {
		return nil
	}
	return guarded(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(bucketEras)
			for server, known := range eras {
				if err := putEra(bucket, server, known); err != nil {
					return fmt.Errorf("write era: %w", err)
				}
			}
			return nil
		})
	})
}

func putEra(bucket *bbolt.Bucket, server string, known message.KnownEra) error {
	if known.Era == protocol.EraUnknown {
		return bucket.Delete([]byte(server))
	}
	value, err := json.Marshal(storedEra(known))
	if err != nil {
		return err
	}
	return bucket.Put([]byte(server), value)
}

// close closes the file; a second time does nothing.
func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil {
		return nil
	}
	err := guarded(f.db.Close)
	f.db = nil
	return err
}

// setAside renames a file nobody can use and returns its new name. No earlier one is overwritten.
func setAside(path string) (string, error) {
	for n := 1; n <= maxAside; n++ {
		aside := fmt.Sprintf("%s.unusable-%d", path, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return "", fmt.Errorf("set state file aside: %w", err)
		}
		return aside, nil
	}
	return "", fmt.Errorf("set state file aside: %d of them are there already", maxAside)
}
