package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLineHasAllFieldsOfRecord(t *testing.T) {
	c := newChain(testKeys, "")
	r := callRecord(1500)
	r.Time, r.Project, r.Rule, r.Detail, r.Count, r.Call = now, "alpha", "reader", "x", 3, "session/ab12cd34/7"
	got := string(c.append(nil, &r))
	want := `{"n":1,"time":"2026-11-25T12:00:00.000000Z","event":"call","who":"key:ci","via":"key","peer":"127.0.0.1","session":"ab12cd34","call":"session/ab12cd34/7",` +
		`"project":"alpha","method":"tools/call","server":"files","item":"read_file","decision":"allow","rule":"reader","outcome":"ok","ms":1500.000,"in":120,"out":3400,` +
		`"args":"3b29efa4cbabd31592b94ed1c1c5c1d8","count":3,"detail":"x","prev":""}` + "\n"
	if mask := strings.Index(got, `"args":"`) + len(`"args":"`); mask > 10 && len(got) > mask+32 { // the HMAC depends on the key
		got = got[:mask] + "3b29efa4cbabd31592b94ed1c1c5c1d8" + got[mask+32:]
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestArgumentsAreHidden(t *testing.T) {
	hidden := func(keys *Keys, arguments string) string {
		c := newChain(keys, "")
		r := Record{Event: EventCall, Time: now, Arguments: []byte(arguments)}
		line, err := ParseLine(bytes.TrimSuffix(c.append(nil, &r), []byte("\n")))
		if err != nil || len(line.Args) != 2*hmacBytes {
			t.Fatalf("got %+v, %v; want an HMAC of hmacBytes bytes", line, err)
		}
		return line.Args
	}
	a := hidden(testKeys, `{"password":"1234"}`)
	if a != hidden(testKeys, `{"password":"1234"}`) || a == hidden(testKeys, `{"password":"1235"}`) || a == hidden(NewKeys([32]byte{3}), `{"password":"1234"}`) {
		t.Error("HMACs must be equal exactly for equal arguments under the same key")
	}
}

func TestTextsAreTruncated(t *testing.T) {
	c := newChain(testKeys, "")
	long := strings.Repeat("\u202e", 1<<20)
	r := Record{Event: long, Who: long, Via: long, Peer: long, Session: long, Call: long, Project: long, Method: long, Server: long, Item: long, Decision: long, Rule: long,
		Outcome: long, Detail: long, Arguments: []byte(long), Time: now, In: 1 << 60, Out: 1 << 60, Count: 1 << 63}
	if n := len(c.append(nil, &r)); n > maxLine/2 {
		t.Errorf("line of %d bytes, want at most maxLine/2", n)
	}
}

// Any text survives a round trip in one line of printable characters, up to truncation.
func FuzzLine(f *testing.F) {
	f.Add("key:ci", "read_file", []byte(`{"a":1}`))
	f.Add("\n", "\"},{\"\\", []byte{})
	f.Add("\xff\xfe\u2028\u202e", "\U000e0041😀", []byte("\x00"))
	f.Fuzz(func(t *testing.T, who, item string, arguments []byte) {
		c := newChain(testKeys, "")
		r := Record{Event: EventCall, Time: now, Who: who, Item: item, Detail: who, Arguments: arguments}
		b := c.append(nil, &r)
		if bytes.IndexByte(b, '\n') != len(b)-1 || !utf8.Valid(b) || !json.Valid(b) {
			t.Fatalf("got %q", b)
		}
		line, err := ParseLine(b[:len(b)-1])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			got, text string
			most      int
		}{{line.Who, who, maxText}, {line.Item, item, maxItem}, {line.Detail, who, maxItem}} {
			want := strings.ToValidUTF8(c.text, "\ufffd")
			if len(c.text) <= c.most && utf8.ValidString(c.text) && c.got != want {
				t.Errorf("got %q, want %q", c.got, want)
			}
			if len(c.got) > 3*c.most+len("…") {
				t.Errorf("got %d bytes, limit %d", len(c.got), c.most)
			}
		}
	})
}
