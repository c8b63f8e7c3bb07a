package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
)

// plainFormat is the format of earlier versions, in which the sealing key was not sealed.
const plainFormat = 1

// errPlain is returned for a file of that format.
var errPlain = errors.New("not sealed yet")

// migrate seals the secrets in a file of the former format. Earlier versions of the program cannot use the file
// afterwards.
func migrate(path string, v *vault, wait time.Duration) error {
	if err := v.settle(); err != nil {
		return err
	}
	return withFile(path, false, wait, func(db *bbolt.DB) error {
		var plain message.SealingKey
		err := db.Update(func(tx *bbolt.Tx) error {
			if err := checkFormat(tx, v); !errors.Is(err, errPlain) {
				return err // another gateway has already migrated the file
			}
			meta := tx.Bucket(bucketMeta)
			if n := copy(plain[:], meta.Get(keySeal)); n != len(plain) || len(meta.Get(keySeal)) != n || plain == (message.SealingKey{}) {
				return fmt.Errorf("%w: the sealing key has the wrong length", errDamaged)
			}
			err := v.putKey(meta, plain)
			if err == nil {
				err = meta.Put(keyFormat, strconv.AppendInt(nil, format, 10))
			}
			if err != nil {
				return fmt.Errorf("seal state file: %w", err)
			}
			return nil
		})
		if err != nil || plain == (message.SealingKey{}) {
			return err
		}
		// The pages of the previous state are free but still contain the key. One of the file's two meta pages refers to
		// them until the next transaction.
		if err := db.Update(func(*bbolt.Tx) error { return nil }); err != nil {
			return fmt.Errorf("seal state file: %w", err)
		}
		return wipe(path, plain[:])
	})
}

// wipe overwrites every occurrence of text in the file. The caller must have exclusive access.
func wipe(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("erase the plaintext sealing key from the state file: %w", err)
	}
	defer func() { _ = f.Close() }()
	const piece = 1 << 20
	buffer := make([]byte, piece+len(text))
	for from := int64(0); ; from += piece {
		n, err := f.ReadAt(buffer, from)
		for at := 0; ; {
			next := bytes.Index(buffer[at:n], text)
			if next < 0 {
				break
			}
			at += next
			if _, err := f.WriteAt(make([]byte, len(text)), from+int64(at)); err != nil {
				return fmt.Errorf("erase the plaintext sealing key from the state file: %w", err)
			}
			at += len(text)
		}
		if errors.Is(err, io.EOF) {
			return f.Sync()
		}
		if err != nil {
			return fmt.Errorf("erase the plaintext sealing key from the state file: %w", err)
		}
	}
}
