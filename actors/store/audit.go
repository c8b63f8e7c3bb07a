package store

import (
	"encoding/json"
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"goblin-actor/internal/audit"
)

var keyAudit = []byte("audit") // in bucketMeta: the newest signed line of the audit log, as JSON

// readAudit returns the stored line, or zero if there is none.
func readAudit(tx *bbolt.Tx) (m audit.Mark) {
	bucket := tx.Bucket(bucketMeta)
	if bucket == nil || json.Unmarshal(bucket.Get(keyAudit), &m) != nil {
		return audit.Mark{}
	}
	return m
}

func putAudit(tx *bbolt.Tx, m audit.Mark) error {
	if m.N == 0 {
		return nil
	}
	value, err := json.Marshal(m)
	if err == nil {
		err = tx.Bucket(bucketMeta).Put(keyAudit, value)
	}
	if err != nil {
		return fmt.Errorf("write audit mark: %w", err)
	}
	return nil
}

// AuditMark returns the audit log's newest line according to a state file, or zero if none is stored. It needs no running
// gateway.
func AuditMark(path string) (m audit.Mark, err error) {
	err = withFile(path, true, readWait, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			m = readAudit(tx)
			return nil
		})
	})
	return m, err
}

// NoteAuditMark stores the audit log's newest line in an existing state file, after the store actor has ended.
func NoteAuditMark(path string, m audit.Mark) error {
	if _, err := os.Stat(path); err != nil || m.N == 0 {
		return nil // no state file, or no line to store
	}
	return withFile(path, false, writeWait, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			if tx.Bucket(bucketMeta) == nil {
				return errForeign
			}
			return putAudit(tx, m)
		})
	})
}
