package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	var known Redactor
	if got := known.Cut("nothing is known"); got != "nothing is known" {
		t.Errorf("an empty redactor changes the text to %q", got)
	}
	const s, quoted = "hunter2+hunter/2", "a \"quoted\"\nsecret <&> é"
	known.Replace("configuration", s, "short", quoted, "hunter2+hunter/2 and more")
	var absent *Redactor
	if absent.Cut(s) != s {
		t.Error("a nil redactor hides something")
	}
	raw, _ := json.Marshal(quoted)
	twice, _ := json.Marshal(string(raw))
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{s, Hidden},
		{"x" + s + s + "y", "x" + Hidden + Hidden + "y"},
		{s + " and more", Hidden},
		{"short hunter2 hunter", "short hunter2 hunter"},
		{base64.StdEncoding.EncodeToString([]byte(s)), Hidden},
		{base64.RawURLEncoding.EncodeToString([]byte(s)), Hidden},
		{url.QueryEscape(s), Hidden},
		{"?a=" + strings.ToLower(url.QueryEscape(s)), "?a=" + Hidden},
		{string(raw), `"` + Hidden + `"`},
		{string(twice), `"\"` + Hidden + `\""`},
		{quoted, Hidden},
	} {
		if got := known.Cut(c.in); got != c.want {
			t.Errorf("Cut(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		var b bytes.Buffer
		if n, err := known.Writer(&b).Write([]byte(c.in)); n != len(c.in) || err != nil || b.String() != c.want {
			t.Errorf("Write(%q) = %d, %v and wrote %q, want %q", c.in, n, err, b.String(), c.want)
		}
	}
	for i := range 3 { // preceded by other text, as in Basic authentication
		text := base64.StdEncoding.EncodeToString([]byte("user:"[i:] + s))
		if got := known.Cut(text); strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(s[3:9]))[:6]) || len(got) > 24 {
			t.Errorf("%q became %q, want the secret hidden", text, got)
		}
	}
	known.Replace("configuration", "abcdefgh", "efghijklmnop")
	if got := known.Cut("abcdefghijklmnop-abcdefgh"); got != Hidden+"-"+Hidden { // the values overlap
		t.Errorf("overlapping values: got %q, want both hidden as one", got)
	}
	known.Add("another secret")
	known.Replace("configuration", "a third secret")
	if got := known.Cut(s + ", another secret, a third secret"); got != s+", "+Hidden+", "+Hidden {
		t.Errorf("after Replace: got %q, want only the new values hidden", got)
	}
}

// TestCutShort checks that a truncated secret at the end of a text is hidden.
func TestCutShort(t *testing.T) {
	var known Redactor
	if got := known.CutShort("nothing is known"); got != "nothing is known" {
		t.Errorf("an empty redactor changes the text to %q", got)
	}
	known.Replace("configuration", "hunter2+hunter/2", "another secret")
	var absent *Redactor
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"token hunter2+hunter/2", "token " + Hidden},
		{"token hunter2+hunter/", "token " + Hidden},
		{"hunter2+hunter/2 and hunter2+", Hidden + " and " + Hidden},
		{"token hunter2", "token hunter2"},
		{`http status 401: "bad token hunter2+hun"`, `http status 401: "bad token ` + Hidden + `"`},
		{"bad token another se…", "bad token " + Hidden + "…"},
		{"hunter2+hun and so on", "hunter2+hun and so on"},
		{base64.StdEncoding.EncodeToString([]byte("hunter2+hunter/2"))[:18], Hidden},
	} {
		if got := known.CutShort(c.in); got != c.want {
			t.Errorf("CutShort(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		if absent.CutShort(c.in) != c.in {
			t.Error("a nil redactor hides something")
		}
	}
}

// TestCutBeforeEllipsis checks that a truncated secret before … is hidden.
func TestCutBeforeEllipsis(t *testing.T) {
	var known Redactor
	known.Replace("configuration", "hunter2+hunter/2", "another \"secret\" of mine")
	for _, c := range []struct{ in, want string }{
		{`err="bad token hunter2+hun…" code=-32000`, `err="bad token ` + Hidden + `…" code=-32000`},
		{`a=hunter2+h… b=hunter2+hunter/2 c=hunter2+hunte… d`, `a=` + Hidden + `… b=` + Hidden + ` c=` + Hidden + `… d`},
		{`err="no another \\\"secret\\\" of…" n=1`, `err="no ` + Hidden + `…" n=1`},
		{"of " + url.QueryEscape("hunter2+hunter/2")[:14] + "…, and so on", "of " + Hidden + "…, and so on"},
		{"hunter2… hunter2+ … hunter2+hun", "hunter2… hunter2+ … hunter2+hun"},
		{"……………", "……………"},
	} {
		if got := known.Cut(c.in); got != c.want {
			t.Errorf("Cut(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		var b bytes.Buffer
		if _, err := known.Writer(&b).Write([]byte(c.in)); err != nil || b.String() != c.want {
			t.Errorf("Write(%q): %v, wrote %q, want %q", c.in, err, b.String(), c.want)
		}
	}
}

// TestCutLines checks that the lines of a key are hidden separately.
func TestCutLines(t *testing.T) {
	var known Redactor
	known.Replace("configuration", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END KEY-----\n")
	if got := known.Cut("key: BAQEFAASCBKcwggSjAgEAAo, -----BEGIN KEY-----"); got != "key: "+Hidden+", -----BEGIN KEY-----" {
		t.Errorf("got %q, want the line of the key hidden", got)
	}
}

func TestAddIsBounded(t *testing.T) {
	var known Redactor
	values := make([]string, maxAdded+1)
	for i := range values {
		values[i] = fmt.Sprintf("secret number %d.", i)
	}
	known.Add(values...)
	if got := known.Cut(values[0] + values[1] + values[maxAdded]); got != values[0]+Hidden+Hidden {
		t.Errorf("got %q, want only the oldest value shown", got)
	}
}

// FuzzCut checks that all encodings of a value are hidden, and that text without it is unchanged.
func FuzzCut(f *testing.F) {
	f.Add("hunter2hunter2", "before ", " after")
	f.Add("pa ss\"wo\\rd\n/é<>", "{\"a\":\"", "\"}")
	f.Add("AAAAAAAAAAAA", "AAA", "A")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		value = strings.TrimSpace(value)
		if len(value) < Shortest || strings.Contains(Hidden, value) {
			return
		}
		var known Redactor
		known.Replace("x", value)
		written := append(forms(value), slogged(value)...)
		for _, form := range written {
			got := known.Cut(before + form + after)
			for _, other := range forms(value) {
				if len(other) >= Shortest && !strings.Contains(Hidden, other) && strings.Contains(strings.ReplaceAll(got, Hidden, "\x00"), other) {
					t.Fatalf("%q encoded as %q is not hidden in %q", value, form, got)
				}
			}
		}
		plain := strings.ReplaceAll(before+after, more, "")
		for _, other := range forms(value) {
			if len(other) >= Shortest && strings.Contains(plain, other) {
				return
			}
		}
		if got := known.Cut(plain); got != plain {
			t.Fatalf("%q became %q, though %q is not in it", plain, got, value)
		}
	})
}

// slogged returns the value as slog writes it.
func slogged(value string) []string {
	var text, inJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info(value, "k", value)
	slog.New(slog.NewJSONHandler(&inJSON, nil)).Info(value, "k", value)
	return []string{text.String(), inJSON.String()}
}

// BenchmarkCut measures a log line with as many known secrets as in a large configuration.
func BenchmarkCut(b *testing.B) {
	line := `time=2026-11-25T21:00:00.000Z level=INFO msg="server is ready" server=github tools=37 prompts=0 resources=2 took=231ms version=2025-11-25 pid=12345`
	for _, n := range []int{1, 100, 4000} {
		var known Redactor
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("ghp_%032x", i*7919)
		}
		known.Replace("x", values...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if known.Cut(line) != line {
					b.Fatal("it was cut")
				}
			}
		})
	}
}

// TestValuesAreAddedAndRemoved checks that after adding and removing values, a redactor hides the same as a new one
// with the remaining values.
func TestValuesAreAddedAndRemoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := func() string { return fmt.Sprintf("secret+of/%02d", rng.IntN(30)) }
	var r Redactor
	groups := map[string][]string{}
	for range 2000 {
		group := fmt.Sprint(rng.IntN(8))
		values := []string{value(), value()}[:rng.IntN(3)]
		r.Replace(group, values...)
		groups[group] = values
		var fresh Redactor
		fresh.Replace("all", slices.Concat(groups["0"], groups["1"], groups["2"], groups["3"], groups["4"], groups["5"], groups["6"], groups["7"])...)
		said := value() + " " + base64.StdEncoding.EncodeToString([]byte("x"+value())) + " " + url.QueryEscape(value())
		if got, want := r.Cut(said), fresh.Cut(said); got != want {
			t.Fatalf("Cut(%q)\n got %q\nwant %q", said, got, want)
		}
	}
	for group := range groups {
		r.Replace(group)
	}
	if r.find.count != 0 || len(r.find.texts) != 0 || len(r.values) != 0 || len(r.groups) != 0 {
		t.Errorf("%d texts and %d values are left, want none", r.find.count, len(r.values))
	}
}

// The cost of renewing a token does not depend on the number of other values.
func BenchmarkReplaceAmongMany(b *testing.B) {
	for _, logins := range []int{10, 1000} {
		b.Run(fmt.Sprint(logins), func(b *testing.B) {
			var r Redactor
			n := 0
			token := func() string {
				n++
				return strings.Repeat(fmt.Sprintf("%08d.", n), 100)
			}
			for i := range logins {
				r.Replace(fmt.Sprint(i), token(), token())
			}
			for b.Loop() {
				r.Replace("0", token(), token())
			}
		})
	}
}
