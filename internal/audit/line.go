package audit

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	format          = 1
	maxText         = 256      // bytes of a text field, before escaping
	maxItem         = 1024     // bytes of an item or a detail, before escaping
	maxLine         = 64 << 10 // maximum bytes of a line; the gateway writes shorter ones
	timeForm        = "2006-01-02T15:04:05.000000Z"
	hmacBytes       = 16                       // bytes of the truncated HMAC of arguments
	signaturePrefix = "goblin-actor audit 1\n" // prefix of the signed text, which is the line up to its signature
)

// chain produces lines, each with the hash of the previous one.
type chain struct {
	node    string            // name of the node in each line; "" = the gateway runs alone
	n       uint64            // number of the last line
	prev    [sha256.Size]byte // hash of the last line
	first   bool              // there is no line yet
	pending int               // lines since the last signature
	signed  signedLine        // last line that this process signed

	keys   *Keys
	shared *sharedKey // makes the HMACs of arguments; nil = keys does
	mac    hash.Hash
	sum    [sha256.Size]byte // scratch
}

// signedLine is a signed line of the log.
type signedLine struct {
	n    uint64
	sum  [sha256.Size]byte
	text string // without its newline; "" = the gateway runs alone, so no other node needs it
}

func newChain(keys *Keys, node string) chain {
	return chain{node: node, first: true, keys: keys, mac: hmac.New(sha256.New, keys.hmacKey)}
}

// share makes the HMACs of arguments with the shared key from now on. nil leaves the chain as it is.
func (c *chain) share(key *sharedKey) {
	if key != nil && key != c.shared {
		c.shared, c.mac = key, hmac.New(sha256.New, key.key[:])
	}
}

// append appends the record's line to b. It signs file and checkpoint lines.
func (c *chain) append(b []byte, r *Record) []byte {
	start := len(b)
	c.n++
	b = strconv.AppendUint(append(b, `{"n":`...), c.n, 10)
	b = r.Time.UTC().AppendFormat(append(b, `,"time":"`...), timeForm)
	b = appendMember(append(b, '"'), `,"node":`, c.node, maxText)
	b = c.appendMembers(b, r)
	b = append(b, `,"prev":"`...)
	if !c.first {
		b = hex.AppendEncode(b, c.prev[:])
	}
	b = append(b, '"')
	c.pending++
	if r.Event == EventFile || r.Event == EventCheckpoint {
		signature := ed25519.Sign(c.keys.signKey, append([]byte(signaturePrefix), b[start:]...))
		b = base64.StdEncoding.AppendEncode(append(b, `,"sig":"`...), signature)
		b = append(b, '"')
		c.pending = 0
	}
	b = append(b, '}')
	c.prev, c.first = sha256.Sum256(b[start:]), false
	if c.pending == 0 {
		c.signed = signedLine{n: c.n, sum: c.prev}
		if c.node != "" {
			c.signed.text = string(b[start:])
		}
	}
	return append(b, '\n')
}

// appendMembers appends the fields of the record that are set.
func (c *chain) appendMembers(b []byte, r *Record) []byte {
	b = appendMember(b, `,"event":`, r.Event, maxText)
	if r.Event == EventFile { // Count holds the number of the file
		b = strconv.AppendInt(append(b, `,"format":`...), format, 10)
		b = strconv.AppendUint(append(b, `,"file":`...), r.Count, 10)
		return appendMember(b, `,"key":`, KeyText(c.keys.public), maxText)
	}
	if r.witness != nil {
		b = appendMember(b, `,"key":`, r.witness.Key, maxText)
		return appendMember(b, `,"witness":`, r.witness.Line, maxCheckpoint)
	}
	b = appendMember(b, `,"who":`, r.Who, maxText)
	b = appendMember(b, `,"via":`, r.Via, maxText)
	b = appendMember(b, `,"peer":`, r.Peer, maxText)
	b = appendMember(b, `,"session":`, r.Session, maxText)
	b = appendMember(b, `,"call":`, r.Call, maxText)
	b = appendMember(b, `,"project":`, r.Project, maxText)
	b = appendMember(b, `,"method":`, r.Method, maxText)
	b = appendMember(b, `,"server":`, r.Server, maxText)
	b = appendMember(b, `,"item":`, r.Item, maxItem)
	b = appendMember(b, `,"run":`, r.Run, maxText)
	b = appendMember(b, `,"decision":`, r.Decision, maxText)
	b = appendMember(b, `,"rule":`, r.Rule, maxText)
	b = appendMember(b, `,"outcome":`, r.Outcome, maxText)
	if r.Took > 0 {
		b = appendMillis(append(b, `,"ms":`...), r.Took)
	}
	b = appendNumber(b, `,"in":`, uint64(max(0, r.In)))
	b = appendNumber(b, `,"out":`, uint64(max(0, r.Out)))
	if r.Arguments != nil {
		b = c.appendArguments(b, r.Arguments)
	}
	b = appendNumber(b, `,"count":`, r.Count)
	return appendMember(b, `,"detail":`, r.Detail, maxItem)
}

// appendArguments appends the truncated HMAC of the arguments. If its key is shared, the id of the key stands in front.
func (c *chain) appendArguments(b, arguments []byte) []byte {
	c.mac.Reset()
	c.mac.Write(arguments)
	b = append(b, `,"args":"`...)
	if c.shared != nil {
		b = append(append(b, c.shared.id...), '-')
	}
	return append(hex.AppendEncode(b, c.mac.Sum(c.sum[:0])[:hmacBytes]), '"')
}

func appendMember(b []byte, key, text string, most int) []byte {
	if text == "" {
		return b
	}
	return appendText(append(b, key...), text, most)
}

func appendNumber(b []byte, key string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(append(b, key...), n, 10)
}

func appendMillis(b []byte, d time.Duration) []byte {
	micros := max(0, d.Microseconds())
	b = append(strconv.AppendInt(b, micros/1000, 10), '.')
	rest := micros % 1000
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendText appends text as a JSON string. It cuts text to a length of most bytes, and escapes everything that is
// not printable. A newline in a name therefore cannot start a line, an escape sequence cannot affect a terminal, and
// a direction mark cannot disguise a name.
func appendText(b []byte, text string, most int) []byte {
	cut := len(text) > most
	if cut {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	b = append(b, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(text[i:]); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		b = appendEscaped(append(b, text[from:i]...), r)
		i += size
		from = i
	}
	b = append(b, text[from:]...)
	if cut {
		b = append(b, "…"...)
	}
	return append(b, '"')
}

func appendEscaped(b []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(b, '\\', byte(r))
	case r > 0xffff:
		r -= 0x10000
		return appendUnit(appendUnit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
