package store

import (
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	maxEras = 4096                // limit of stored eras; surplus ones are dropped
	eraKept = 90 * 24 * time.Hour // how long an era is kept after it was determined
)

// storedEra is an era in the file.
type storedEra struct {
	Era protocol.Era `json:"era"`
	At  time.Time    `json:"at"`
}

// eraOf decodes an era. It returns false if the era is invalid or expired.
func eraOf(value []byte, now time.Time) (message.KnownEra, bool) {
	var e storedEra
	known := json.Unmarshal(value, &e) == nil && (e.Era == protocol.EraLegacy || e.Era == protocol.EraModern)
	return message.KnownEra(e), known && e.At.After(now.Add(-eraKept))
}

func readEras(tx *bbolt.Tx, now time.Time) map[string]message.KnownEra {
	eras := map[string]message.KnownEra{}
	bucket := tx.Bucket(bucketEras)
	if bucket == nil {
		return eras
	}
	cursor := bucket.Cursor()
	for k, v := cursor.First(); k != nil && len(eras) < maxEras; k, v = cursor.Next() {
		if era, ok := eraOf(v, now); ok {
			eras[string(k)] = era
		}
	}
	return eras
}

func putEras(tx *bbolt.Tx, eras map[string]message.KnownEra) error {
	bucket, err := tx.CreateBucketIfNotExists(bucketEras)
	for server, known := range eras {
		if err == nil {
			err = putEra(bucket, server, known)
		}
	}
	if err != nil {
		return fmt.Errorf("write era: %w", err)
	}
	return nil
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

// pruneEras deletes invalid, expired and surplus eras.
func pruneEras(bucket *bbolt.Bucket, now time.Time) error {
	var gone [][]byte
	kept, cursor := 0, bucket.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		if _, ok := eraOf(v, now); !ok || kept >= maxEras {
			gone = append(gone, append([]byte(nil), k...))
			continue
		}
		kept++
	}
	return deleteAll(bucket, gone)
}

func deleteAll(bucket *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := bucket.Delete(k); err != nil {
			return fmt.Errorf("delete old entries: %w", err)
		}
	}
	return nil
}

// prune deletes expired and surplus entries.
func prune(tx *bbolt.Tx, now time.Time) error {
	if err := pruneEras(tx.Bucket(bucketEras), now); err != nil {
		return err
	}
	return pruneCatalogs(tx.Bucket(bucketCatalogs), now)
}
