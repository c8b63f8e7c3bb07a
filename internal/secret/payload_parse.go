package secret

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// payloadNode is a JSON value of a payload.
type payloadNode struct {
	kind byte   // { [ " n for numbers, true, false and null, or 0 for one that is nested too deeply
	text string // of a string without escapes, or of a literal
	keys []string
	kids []*payloadNode
	cut  bool // its end is missing
}

// namesSecret reports whether an object is a pair such as {"name": "API_KEY", "value": "…"}, or may be one, because its end
// is missing.
func (n *payloadNode) namesSecret() bool {
	named := false
	for i, kid := range n.kids {
		switch strings.ToLower(n.keys[i]) {
		case "name", "key", "id", "header", "variable", "field", "label", "title":
			if HasWord(kid.text) || (secretName().MatchString(kid.text) || hasWord(kid.text, payloadWords)) && len(kid.text) < 64 {
				return true
			}
			named = named || !kid.cut
		}
	}
	return n.cut && !named
}

// payloadParser parses JSON whose end may be missing.
type payloadParser struct {
	in    string
	at    int
	ended bool // the input ended inside a value
}

// parsePayload parses a JSON text. It returns false if the text is not JSON, or if its end is missing although cut is false.
func parsePayload(text string, cut bool) (*payloadNode, bool) {
	p := payloadParser{in: text}
	n := p.value(0)
	if p.space(); n == nil || p.at < len(p.in) || p.ended && !cut {
		return nil, false
	}
	return n, true
}

func (p *payloadParser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// end records that the input ends inside n.
func (p *payloadParser) end(n *payloadNode) *payloadNode {
	p.ended, n.cut = true, true
	return n
}

// value parses a value, or returns nil if there is none.
func (p *payloadParser) value(depth int) *payloadNode {
	if p.space(); p.at == len(p.in) {
		p.ended = true
		return nil
	}
	switch c := p.in[p.at]; c {
	case '{', '[':
		return p.inside(c, depth)
	case '"':
		return p.text()
	}
	from := p.at
	for p.at < len(p.in) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzE", p.in[p.at]) >= 0 {
		p.at++
	}
	n := &payloadNode{kind: 'n', text: p.in[from:p.at]}
	switch {
	case p.at == len(p.in) && depth > 0:
		return p.end(n)
	case !json.Valid([]byte(n.text)):
		return nil
	}
	return n
}

// inside parses an object or array.
func (p *payloadParser) inside(kind byte, depth int) *payloadNode {
	n := &payloadNode{kind: kind}
	if depth == maxDepth {
		p.at = len(p.in)
		return p.end(&payloadNode{})
	}
	closing := kind + 2 // } or ]
	for p.at++; ; p.at++ {
		if p.space(); p.at == len(p.in) {
			return p.end(n)
		}
		if p.in[p.at] == closing && len(n.kids) == 0 {
			p.at++
			return n
		}
		key := ""
		if kind == '{' {
			name := p.key()
			if p.ended {
				return p.end(n) // without the key: its end may be missing
			}
			if name == nil {
				return nil
			}
			key = name.text
		}
		kid := p.value(depth + 1)
		if kid == nil && p.ended {
			return p.end(n)
		}
		if kid == nil {
			return nil
		}
		n.keys, n.kids = append(n.keys, key), append(n.kids, kid)
		p.space()
		switch {
		case p.ended || p.at == len(p.in):
			return p.end(n)
		case p.in[p.at] == closing:
			p.at++
			return n
		case p.in[p.at] != ',':
			return nil
		}
	}
}

// key parses a member's name and the colon, or returns nil.
func (p *payloadParser) key() *payloadNode {
	if p.in[p.at] != '"' {
		return nil
	}
	name := p.text()
	if p.space(); p.ended || p.at == len(p.in) {
		p.ended = true
		return nil
	}
	if p.in[p.at] != ':' {
		return nil
	}
	p.at++
	return name
}

// text parses a string.
func (p *payloadParser) text() *payloadNode {
	from := p.at + 1
	for i := from; i < len(p.in); i++ {
		switch p.in[i] {
		case '\\':
			i++
		case '"':
			p.at = i + 1
			return &payloadNode{kind: '"', text: unescapeJSON(p.in[from:i])}
		}
	}
	p.at = len(p.in)
	return p.end(&payloadNode{kind: '"', text: strings.ToValidUTF8(unescapeJSON(p.in[from:]), "")})
}

// unescapeJSON resolves the escapes of JSON strings in s. Anything else stays as it is, except an escape whose end is missing.
func unescapeJSON(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		if at := strings.IndexByte(`"\/bfnrt`, s[i]); at >= 0 {
			b = append(b, "\"\\/\b\f\n\r\t"[at])
			continue
		}
		if s[i] != 'u' {
			b = append(b, '\\', s[i])
			continue
		}
		r, n := hexRune(s[i+1:])
		if n == 0 && len(s)-i <= 4 {
			break // the end is missing
		}
		if n == 0 {
			b = append(b, '\\', 'u')
			continue
		}
		b = utf8.AppendRune(b, r)
		i += n
	}
	return string(b)
}

// hexRune returns the rune of four hexadecimal digits, or of a surrogate pair, and its length in s. 0 = there is none.
func hexRune(s string) (r rune, n int) {
	high, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(high) && len(s) >= 10 && s[4:6] == `\u` {
		if low, ok := hex4(s[6:]); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	return high, 4 // AppendRune replaces half of a pair
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}

// unescapeURL resolves the escapes of URLs anywhere in s.
func unescapeURL(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// quote writes a JSON string without escaping < and >. If cut is true, it ends with … instead of a quote.
func (w *payloadWriter) quote(s string, cut bool) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	text := strings.TrimSuffix(b.String(), "\n")
	if cut {
		text = strings.TrimSuffix(text, `"`) + more
	}
	w.b.WriteString(text)
}
