package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
)

const (
	format   = 2                    // 1 had the sealing key as it is, and no tokens
	maxAside = 100                  // names tried for a file that is set aside
	lockPoll = 2 * time.Millisecond // between two attempts at the lock: another gateway keeps it for a few milliseconds
)

// Names inside the file.
var (
	bucketMeta     = []byte("goblin-actor") // format → "2", master → the id of the key that seals, seal → the sealing key, sealed
	bucketEras     = []byte("eras")         // a replica's identity → {"era":"modern","at":"2026-…"}
	bucketCatalogs = []byte("catalogs")     // a server's identity → what it offers (catalog.go)
	bucketTokens   = []byte("tokens")       // a key of message.RememberToken → its value, sealed
	keyFormat      = []byte("format")
	keyMaster      = []byte("master")
	keySeal        = []byte("seal")
)

var (
	// errHeld is returned when another process does not let go of the file.
	errHeld = errors.New("another process holds it")
	// errDamaged is returned when the file cannot be read.
	errDamaged = errors.New("damaged")
	// errForeign is returned when the file is another program's.
	errForeign = errors.New("not a state file of goblin-actor")
	// errNewer is returned when the file is of a later version of the program, which goes on using it.
	errNewer = errors.New("written by a later version")
	// errLost is returned when the file was sealed with another master key than ours.
	errLost = errors.New("sealed with a master key that is not there any more; logins at servers are needed again")
	// errTheirs is returned when the file belongs to another user: what it says is not to be believed.
	errTheirs = errors.New("it belongs to another user")
)

// unusable reports whether a file like that stays useless, so that it is set aside.
func unusable(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, errForeign) }

// contents is what a file holds.
type contents struct {
	key      message.SealingKey
	eras     map[string]message.KnownEra
	catalogs map[string]*message.KnownCatalog
	tokens   map[string]message.Token
	audit    audit.Mark
	spoiled  int // catalogs that are damaged, each for itself
	unopened int // tokens, likewise
}

// read reads the file, and makes one when there is none. It waits no longer than wait for a gateway that writes at this moment:
// nobody keeps the file longer than that. The errors above say what is wrong with it; others are the system's.
func read(path string, v *vault, wait time.Duration) (contents, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return contents{}, fmt.Errorf("make directory of state file: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path, v, wait)
	case err != nil:
		return contents{}, fmt.Errorf("look at state file: %w", err)
	case !info.Mode().IsRegular():
		return contents{}, errors.New("the state file is no file: " + info.Mode().String())
	case !ours(info):
		return contents{}, errTheirs
	case info.Size() == 0:
		return create(path, v, wait)
	case info.Mode().Perm()&0o077 != 0: // it holds a key
		if err := os.Chmod(path, 0o600); err != nil {
			return contents{}, fmt.Errorf("protect state file: %w", err)
		}
	}
	var c contents
	look := func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error { return c.read(tx, v) })
	}
	err = withFile(path, true, wait, look)
	if errors.Is(err, errPlain) {
		if err = migrate(path, v, wait); err == nil {
			err = withFile(path, true, wait, look)
		}
	}
	if err != nil {
		return contents{}, err
	}
	return c, nil
}

// create makes the file, unless another gateway has just done so: then it reads that one's. The disk is not waited for, as the whole start
// waits for this: what a power cut takes from the file is a key that is seconds old, and the first write of what is learned waits for all of it.
func create(path string, v *vault, wait time.Duration) (contents, error) {
	var c contents
	_, _ = rand.Read(c.key[:]) // never fails
	err := withFile(path, false, wait, func(db *bbolt.DB) error {
		db.NoSync, db.NoGrowSync = true, true
		return db.Update(func(tx *bbolt.Tx) error {
			if err := fill(tx, v, c.key); err != nil {
				return err
			}
			return c.read(tx, v)
		})
	})
	if err != nil {
		return contents{}, err
	}
	return c, nil
}

// write writes the batch, and leaves out of the file what is too much or too old. A file that has gone is made anew with this key.
// refused are the tokens for which there is no room, by key.
func write(path string, v *vault, key message.SealingKey, b batch, wait time.Duration) (refused map[string]bool, err error) {
	if b.empty() {
		return nil, nil
	}
	if err := v.settle(); err != nil {
		return nil, err
	}
	err = withFile(path, false, wait, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			err := fill(tx, v, key)
			if err == nil {
				err = checkFormat(tx, v)
			}
			if err == nil {
				err = putEras(tx, b.eras)
			}
			if err == nil {
				err = putCatalogs(tx, b.catalogs)
			}
			if err == nil {
				refused, err = putTokens(tx, v, b.tokens)
			}
			if err == nil {
				err = putAudit(tx, b.audit)
			}
			if err == nil {
				err = prune(tx, time.Now())
			}
			return err
		})
	})
	return refused, err
}

// withFile opens the file, calls f, and closes it again: it is locked for no longer than that.
func withFile(path string, readOnly bool, wait time.Duration, f func(*bbolt.DB) error) error {
	until := time.Now().Add(wait)
	for {
		err := once(path, readOnly, f)
		if !errors.Is(err, errHeld) || !time.Now().Before(until) {
			return err
		}
		time.Sleep(lockPoll)
	}
}

// once is withFile without waiting. Whatever the file holds, it is closed in the end: bbolt may panic before it could.
func once(path string, readOnly bool, f func(*bbolt.DB) error) error {
	var held *os.File
	var db *bbolt.DB
	open := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		var err error
		held, err = os.OpenFile(name, flag, mode)
		return held, err
	}
	err := guarded(func() (err error) {
		// bbolt tries the lock once when it may wait for less than its own pause of 50 ms.
		if db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 1, ReadOnly: readOnly, OpenFile: open}); err != nil {
			return openError(err)
		}
		return f(db)
	})
	if db != nil {
		if closeErr := guarded(db.Close); err == nil && closeErr != nil {
			err = fmt.Errorf("close state file: %w", closeErr)
		}
	}
	if held != nil {
		_ = held.Close()
	}
	return err
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
			if _, ours := cause.(runtime.Error); ours { // what Go says of it means nothing to whoever reads the log
				cause = "it is cut short, or its pages make no sense"
			}
			err = fmt.Errorf("%w: %v", errDamaged, cause)
		}
	}()
	return f()
}

// fill begins a file that is new.
func fill(tx *bbolt.Tx, v *vault, key message.SealingKey) error {
	if first, _ := tx.Cursor().First(); first != nil {
		return nil
	}
	meta, err := tx.CreateBucket(bucketMeta)
	if err == nil {
		err = meta.Put(keyFormat, strconv.AppendInt(nil, format, 10))
	}
	if err == nil {
		err = v.putKey(meta, key)
	}
	if err != nil {
		return fmt.Errorf("create state file: %w", err)
	}
	return nil
}

// checkFormat finds whether the file is one that we read, and sealed with our key.
func checkFormat(tx *bbolt.Tx, v *vault) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return errForeign
	}
	switch n, err := strconv.Atoi(string(meta.Get(keyFormat))); {
	case err != nil || n < 1:
		return fmt.Errorf("%w: format %.20q", errForeign, meta.Get(keyFormat))
	case n > format:
		return fmt.Errorf("%w: format %d", errNewer, n)
	case n == plainFormat:
		return errPlain
	}
	if string(meta.Get(keyMaster)) != v.id {
		return errLost
	}
	return nil
}

// read takes everything out of the file.
func (c *contents) read(tx *bbolt.Tx, v *vault) error {
	if err := checkFormat(tx, v); err != nil {
		return err
	}
	var err error
	if c.key, err = v.key(tx.Bucket(bucketMeta)); err != nil {
		return err
	}
	c.eras, c.audit = readEras(tx, time.Now()), readAudit(tx)
	c.tokens, c.unopened = readTokens(tx, v)
	c.catalogs, c.spoiled, err = readCatalogs(tx, time.Now())
	return err
}

// setAside renames a file nobody can use and returns its new name. No earlier one is overwritten. was is the file that was
// found to be useless: another gateway may have set it aside already and begun a new one, which stays.
func setAside(path string, was fs.FileInfo) (string, error) {
	for n := 1; n <= maxAside; n++ {
		aside := fmt.Sprintf("%s.unusable-%d", path, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		is, err := os.Stat(path)
		if err != nil || !os.SameFile(is, was) {
			return "", nil
		}
		if err := os.Rename(path, aside); err != nil {
			return "", fmt.Errorf("set state file aside: %w", err)
		}
		return aside, nil
	}
	return "", fmt.Errorf("set state file aside: %d of them are there already", maxAside)
}
