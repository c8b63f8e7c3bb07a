package config

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// encoding is the encoding of a text file: UTF-8 or UTF-16, with or without byte order mark.
type encoding struct {
	order binary.ByteOrder // byte order of UTF-16; nil for UTF-8
	bom   string
}

// encodingOf returns the encoding of data, and data without its byte order mark. Without a mark, the first two bytes identify UTF-16,
// because a configuration starts with an ASCII character.
func encodingOf(data []byte) (encoding, []byte) {
	for _, e := range []encoding{{nil, "\xef\xbb\xbf"}, {binary.LittleEndian, "\xff\xfe"}, {binary.BigEndian, "\xfe\xff"}} {
		if rest, ok := bytes.CutPrefix(data, []byte(e.bom)); ok {
			return e, rest
		}
	}
	if len(data) >= 2 && data[0] != 0 && data[1] == 0 {
		return encoding{order: binary.LittleEndian}, data
	}
	if len(data) >= 2 && data[0] == 0 && data[1] != 0 {
		return encoding{order: binary.BigEndian}, data
	}
	return encoding{}, data
}

// decode converts data to UTF-8. Unpaired surrogates become U+FFFD.
func (e encoding) decode(data []byte) ([]byte, error) {
	if e.order == nil {
		return data, nil
	}
	if len(data)%2 != 0 {
		return nil, errors.New("UTF-16 with an odd number of bytes")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = e.order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units))), nil
}

// encode returns the bytes of a file with this text, including the byte order mark.
func (e encoding) encode(text string) []byte {
	data := []byte(e.bom)
	if e.order == nil {
		return append(data, text...)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = appendUnit(data, e.order, unit)
	}
	return data
}

func appendUnit(data []byte, order binary.ByteOrder, unit uint16) []byte {
	var two [2]byte
	order.PutUint16(two[:], unit)
	return append(data, two[:]...)
}
