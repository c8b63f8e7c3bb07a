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
	format   = 2                    // 1 had an unsealed sealing key and no tokens
	maxAside = 100                  // names tried for renaming an unusable file
	lockPoll = 2 * time.Millisecond // between two attempts to lock the file; another gateway holds the lock for a few milliseconds
)

// Names inside the file.
var (
	bucketMeta     = []byte("goblin-actor") // format → "2", master → ID of the master key, seal → the sealing key, sealed; audit → the newest signed audit line
	bucketEras     = []byte("eras")         // replica identity → {"era":"modern","at":"2026-…"}
	bucketCatalogs = []byte("catalogs")     // server identity → its catalog (encoding.go)
	bucketTokens   = []byte("tokens")       // key of message.RememberToken → its value, sealed
	keyFormat      = []byte("format")
	keyMaster      = []byte("master")
	keySeal        = []byte("seal")
)

var (
	// errLocked is returned if another process has locked the file.
	errLocked = errors.New("another process has locked it")
	// errDamaged is returned if the file's content is invalid.
	errDamaged = errors.New("damaged")
	// errForeign is returned if the file belongs to another program.
	errForeign = errors.New("not a state file of goblin-actor")
	// errNewer is returned if a later version of the program wrote the file. The file is kept for that version.
	errNewer = errors.New("written by a later version")
	// errLost is returned if the file was sealed with another master key.
	errLost = errors.New("sealed with a master key that no longer exists; log in to the servers again")
	// errOtherOwner is returned if the file belongs to another user, and so cannot be trusted.
	errOtherOwner = errors.New("it belongs to another user")
)

// unusable reports whether the error is permanent, so that the file must be replaced.
func unusable(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, errForeign) }

// contents is the decoded content of a file.
type contents struct {
	key      message.SealingKey
	eras     map[string]message.KnownEra
	catalogs map[string]*message.KnownCatalog
	tokens   map[string]message.Token
	audit    audit.Mark
	damaged  int // damaged catalogs, which were skipped
	unopened int // tokens that could not be unsealed, which were skipped
}

// read reads the file, or creates it if it does not exist. It waits for at most wait until other gateways release the
// lock, which they hold only while they read or write. It returns one of the errors above or a system error.
func read(path string, v *vault, wait time.Duration) (contents, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return contents{}, fmt.Errorf("create directory of state file: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path, v, wait)
	case err != nil:
		return contents{}, fmt.Errorf("stat state file: %w", err)
	case !info.Mode().IsRegular():
		return contents{}, errors.New("state file is not a regular file: " + info.Mode().String())
	case !ours(info):
		return contents{}, errOtherOwner
	case info.Size() == 0:
		return create(path, v, wait)
	case info.Mode().Perm()&0o077 != 0: // the file contains a key
		if err := os.Chmod(path, 0o600); err != nil {
			return contents{}, fmt.Errorf("restrict permissions of state file: %w", err)
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

// create creates the file, or reads it if another gateway has just created it. It does not sync to disk, because the
// gateway's start waits for it. A power failure can only lose a new key. The first write syncs everything.
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

// write writes the batch and removes surplus and expired entries. If the file no longer exists, write creates it with
// the key. The result refused contains the keys of the tokens beyond the limit.
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

// withFile opens the file, calls f and closes the file. The file is locked only while it is open.
func withFile(path string, readOnly bool, wait time.Duration, f func(*bbolt.DB) error) error {
	until := time.Now().Add(wait)
	for {
		err := once(path, readOnly, f)
		if !errors.Is(err, errLocked) || !time.Now().Before(until) {
			return err
		}
		time.Sleep(lockPoll)
	}
}

// once does the work of withFile without waiting for the lock. It closes the file even if bbolt panics.
func once(path string, readOnly bool, f func(*bbolt.DB) error) error {
	var held *os.File
	var db *bbolt.DB
	open := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		var err error
		held, err = os.OpenFile(name, flag, mode)
		return held, err
	}
	err := guarded(func() (err error) {
		// bbolt pauses for 50 ms between attempts to lock. With a shorter timeout it tries only once.
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

// openError classifies errors of opening the file. An error that is not a system error comes from bbolt and means that
// the file is damaged.
func openError(err error) error {
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errLocked
	}
	_, byPath := errors.AsType[*fs.PathError](err)
	_, byNumber := errors.AsType[syscall.Errno](err)
	if byPath || byNumber {
		return fmt.Errorf("open state file: %w", err)
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// guarded runs f, which reads memory-mapped pages. A truncated file causes a fault, and bbolt panics on invalid
// pages. Both become errDamaged.
func guarded(f func() error) (err error) {
	was := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(was)
	defer func() {
		if cause := recover(); cause != nil {
			if _, ours := cause.(runtime.Error); ours { // Go's error text would not help the reader of the log
				cause = "it is truncated or has invalid pages"
			}
			err = fmt.Errorf("%w: %v", errDamaged, cause)
		}
	}()
	return f()
}

// fill initializes a new file.
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

// checkFormat returns an error unless the file has the current format and is sealed with our master key.
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

// read reads everything in the file.
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
	c.catalogs, c.damaged, err = readCatalogs(tx, time.Now())
	return err
}

// setAside renames an unusable file and returns its new name. It does not overwrite existing files. The parameter was
// describes the unusable file. If path is a different file by now, another gateway has already replaced it, and setAside
// does nothing.
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
			return "", fmt.Errorf("rename unusable state file: %w", err)
		}
		return aside, nil
	}
	return "", fmt.Errorf("rename unusable state file: %d renamed files exist already; delete some", maxAside)
}
