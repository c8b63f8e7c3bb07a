package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// shortestLine is how long a line of a value is that is looked for alone, as those of a private key are printed one by one.
const shortestLine = 16

// forms are a value and all other ways of writing it that are looked for. Of base64 it is what every text has in common that
// holds the value, wherever in it: the characters around depend on what stands beside.
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
		for _, twice := range jsonForms(escaped) { // a text in a text
			add(twice)
		}
	}
	return all
}

// common is what the base64 of every text has that holds value behind before bytes, counted in groups of three.
func common(encoding *base64.Encoding, before int, value string) string {
	text := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), value...))
	bits := 8 * (before + len(value))
	return text[(8*before+5)/6 : bits/6]
}

// jsonForms are the value as JSON, and our log, write it inside of quotes.
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

// percents escapes all but letters and digits, as some do.
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

// lowerPercents writes escapes with small letters.
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
