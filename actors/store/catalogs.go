package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/message"
)

// Limits of the stored catalogs. The oldest are removed first.
const (
	maxCatalog  = 8 << 20  // bytes of one server's catalog
	maxCatalogs = 512      // servers
	maxAllBytes = 64 << 20 // bytes of all catalogs
	catalogKept = eraKept
)

// stored is a catalog in the file.
type stored struct {
	server string
	raw    []byte                // valid while the file is open
	known  *message.KnownCatalog // nil = damaged
}

// readCatalogs reads all catalogs and counts the damaged ones, which it skips.
func readCatalogs(tx *bbolt.Tx, now time.Time) (known map[string]*message.KnownCatalog, damaged int, err error) {
	known = map[string]*message.KnownCatalog{}
	bucket := tx.Bucket(bucketCatalogs)
	if bucket == nil {
		return known, 0, nil
	}
	var all []stored
	size, cursor := 0, bucket.Cursor()
	for k, v := cursor.First(); k != nil && len(all) < maxCatalogs && size+len(v) <= maxAllBytes; k, v = cursor.Next() {
		if len(v) <= maxCatalog && fresh(catalogTime(v), now) {
			all = append(all, stored{server: string(k), raw: v})
			size += len(v)
		}
	}
	if err := decodeAll(all); err != nil {
		return nil, 0, err
	}
	for _, s := range all {
		if s.known == nil {
			damaged++
			continue
		}
		known[s.server] = s.known
	}
	return known, damaged, nil
}

// decodeAll copies the catalogs out of the file's memory, which is valid only for a short time, and decodes them on two
// goroutines: a client may be waiting, and most of the time is spent on memory access.
func decodeAll(all []stored) error {
	half := func(part []stored) error {
		return guarded(func() error {
			for i := range part {
				part[i].known, _ = decodeCatalog(bytes.Clone(part[i].raw))
			}
			return nil
		})
	}
	var first error
	var other sync.WaitGroup
	other.Go(func() { first = half(all[:len(all)/2]) })
	second := half(all[len(all)/2:])
	other.Wait()
	return errors.Join(first, second)
}

// fresh reports whether an entry of that time is kept. A time far in the future is the result of damage or of a wrong clock.
func fresh(at, now time.Time) bool {
	return at.After(now.Add(-catalogKept)) && at.Before(now.Add(catalogKept))
}

// putCatalogs writes catalogs. If a catalog is nil or too large, the stored one is outdated, so it is deleted.
func putCatalogs(tx *bbolt.Tx, catalogs map[string]*message.KnownCatalog) error {
	bucket, err := tx.CreateBucketIfNotExists(bucketCatalogs)
	for server, known := range catalogs {
		switch {
		case err != nil:
		case known == nil || encodedSize(known) > maxCatalog:
			err = bucket.Delete([]byte(server))
		default:
			err = bucket.Put([]byte(server), encodeCatalog(known))
		}
	}
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	return nil
}

// pruneCatalogs deletes invalid and expired catalogs, and the oldest ones beyond the limits.
func pruneCatalogs(bucket *bbolt.Bucket, now time.Time) error {
	type entry struct {
		key  []byte
		size int
		at   time.Time
	}
	var all []entry
	var gone [][]byte
	cursor := bucket.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		e := entry{bytes.Clone(k), len(v), catalogTime(v)}
		if len(v) > maxCatalog || !fresh(e.at, now) {
			gone = append(gone, e.key)
			continue
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(b.at.Compare(a.at), bytes.Compare(a.key, b.key)) })
	size := 0
	for i, e := range all {
		if size += e.size; i >= maxCatalogs || size > maxAllBytes {
			gone = append(gone, e.key)
		}
	}
	return deleteAll(bucket, gone)
}
