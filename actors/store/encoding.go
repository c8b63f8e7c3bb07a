package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"goblin-actor/actors/message"
)

// A catalog in the file consists of a checksum of the rest, the time, the server's description of itself, and the
// lists. Each text is preceded by its length, so decoding only skips from length to length and parses nothing. A
// megabyte takes less than a millisecond.
//
//	crc32c(4) at(8) version capabilities info instructions {silent(1) count item…}×4
//
// with each text as its length (uvarint) and its bytes.

// errCatalogDamaged is returned for a damaged catalog.
var errCatalogDamaged = errors.New("a remembered catalog is damaged")

const headSize = 4 + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// catalogTime returns when the server was listed, or zero for an invalid entry.
func catalogTime(raw []byte) time.Time {
	if len(raw) < headSize {
		return time.Time{}
	}
	return time.Unix(0, int64(binary.LittleEndian.Uint64(raw[4:])))
}

// encodedSize returns the approximate size of a catalog in the file.
func encodedSize(k *message.KnownCatalog) int {
	n := 64 + len(k.Info.Version) + len(k.Info.Capabilities) + len(k.Info.Info) + len(k.Info.Instructions)
	for kind := range k.Lists {
		for _, item := range k.Lists[kind].Items {
			n += len(item) + 4
		}
	}
	return n
}

// EncodeCatalog returns a catalog in the form in which the file has it, for another node of a cluster.
func EncodeCatalog(k *message.KnownCatalog) []byte { return encodeCatalog(k) }

// DecodeCatalog decodes the output of EncodeCatalog. The result shares memory with raw. The error says that raw is damaged.
func DecodeCatalog(raw []byte) (*message.KnownCatalog, error) { return decodeCatalog(raw) }

func encodeCatalog(k *message.KnownCatalog) []byte {
	b := make([]byte, headSize, headSize+encodedSize(k))
	binary.LittleEndian.PutUint64(b[4:], uint64(k.At.UnixNano()))
	b = appendText(b, k.Info.Version)
	b = appendText(b, k.Info.Capabilities)
	b = appendText(b, k.Info.Info)
	b = appendText(b, k.Info.Instructions)
	for kind := range k.Lists {
		l := &k.Lists[kind]
		silent := byte(0)
		if l.Silent {
			silent = 1
		}
		b = binary.AppendUvarint(append(b, silent), uint64(len(l.Items)))
		for _, item := range l.Items {
			b = appendText(b, item)
		}
	}
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decodeCatalog decodes the output of encodeCatalog. The result shares memory with raw.
func decodeCatalog(raw []byte) (*message.KnownCatalog, error) {
	if len(raw) < headSize || binary.LittleEndian.Uint32(raw) != crc32.Checksum(raw[4:], castagnoli) {
		return nil, errCatalogDamaged
	}
	d := decoder{rest: raw[headSize:]}
	k := &message.KnownCatalog{At: catalogTime(raw), Info: &message.ServerInfo{
		Version: string(d.text()), Capabilities: d.text(), Info: d.text(), Instructions: string(d.text()),
	}}
	for kind := range k.Lists {
		k.Lists[kind].Silent = d.flag()
		count := d.number()
		if count > uint64(len(d.rest)) { // each item takes at least one byte
			return nil, errCatalogDamaged
		}
		k.Lists[kind].Items = make([][]byte, 0, count)
		for range count {
			k.Lists[kind].Items = append(k.Lists[kind].Items, d.text())
		}
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errCatalogDamaged
	}
	return k, nil
}

// decoder reads values from the start of rest. After a read beyond the end it is bad and returns zero values.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) text() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	text := d.rest[:n:n]
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) flag() bool {
	if len(d.rest) == 0 {
		d.bad = true
		return false
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b == 1
}
