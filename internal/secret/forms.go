package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// shortestLine is the minimum length of a line that is searched for separately. The lines of a private key, for
// example, may be printed separately.
const shortestLine = 16

// forms returns a value and its encodings to search for, or nil if the value is too short. For base64, it also returns
// the part that is common to all texts that contain the value at the same offset modulo three, because the characters
// at its edges depend on the neighboring bytes.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < Shortest {
		return nil
	}
	var all []string
	add := func(s string) {
		if len(s) <= maxLength {
			all = append(all, s)
		}
	}
	add(value)
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
				all = append(all, forms(line)...)
			}
		}
	}
	if len(value) > maxLength {
		return all
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		add(encoding.EncodeToString([]byte(value)))
		add(encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(value)))
		for before := range 3 {
			add(common(encoding, before, value))
		}
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), percents(value)} {
		add(escaped)
		add(lowerPercents(escaped))
	}
	once := jsonForms(value)
	for _, escaped := range once {
		add(escaped)
		for _, twice := range jsonForms(escaped) { // JSON inside a JSON string
			add(twice)
		}
	}
	return all
}

// common returns the base64 characters of value that do not depend on its neighbors, given that `before` bytes precede
// value in its group of three.
func common(encoding *base64.Encoding, before int, value string) string {
	text := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), value...))
	bits := 8 * (before + len(value))
	return text[(8*before+5)/6 : bits/6]
}

// jsonForms returns the value as JSON encoders and slog write it inside quotes.
func jsonForms(value string) []string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	all := []string{inner(strconv.Quote(value)), inner(strconv.QuoteToASCII(value)), strings.ReplaceAll(value, "/", `\/`)}
	if raw, err := json.Marshal(value); err == nil {
		all = append(all, inner(string(raw)))
	}
	if e.Encode(value) == nil {
		all = append(all, inner(strings.TrimSuffix(b.String(), "\n")))
	}
	return all
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// percents percent-encodes everything except letters and digits, as some encoders do.
func percents(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + strings.ToUpper(strconv.FormatInt(0x100+int64(c), 16)[1:]))
	}
	return b.String()
}

// lowerPercents converts percent-escapes to lower case.
func lowerPercents(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}
