package audit

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// forged writes a log, replaces its lines with the result of change, and returns what Verify reports with the key and
// the mark of the original.
func forged(t *testing.T, change func(lines [][]byte) [][]byte) Report {
	t.Helper()
	path := writeLog(t, 50, nil)
	mark := markOf(t, path)
	if err := os.WriteFile(path, bytes.Join(change(linesOf(t, path)), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return verified(t, path, Trust{Key: testKeys.Public(), Mark: &mark})
}

// markOf returns the mark that the gateway remembers after closing the log.
func markOf(t *testing.T, path string) Mark {
	t.Helper()
	lines := linesOf(t, path)
	last := bytes.TrimSuffix(lines[len(lines)-1], []byte("\n"))
	line, err := ParseLine(last)
	if err != nil || !line.Signed() {
		t.Fatalf("the log ends with %s, want a signed line", last)
	}
	return Mark{N: line.N, Sum: SumOf(last)}
}

// caught checks that the report has a fault at the given line of its file, and that its text contains words.
func caught(t *testing.T, r Report, line int, words string) {
	t.Helper()
	if r.Fault == nil || r.Fault.Line != line || !strings.Contains(r.Fault.What, words) {
		t.Errorf("got fault %v, want line %d: …%s…", r.Fault, line, words)
	}
}

// S5.5.2.
func TestAttack84AuditLineChanged(t *testing.T) {
	r := forged(t, func(lines [][]byte) [][]byte {
		lines[9] = bytes.Replace(lines[9], []byte("read_file"), []byte("list_dirs"), 1)
		return lines
	})
	caught(t, r, 11, "the hash of the previous line does not match")
}

// S5.5.2.
func TestAttack85AuditLineRemoved(t *testing.T) {
	r := forged(t, func(lines [][]byte) [][]byte { return append(lines[:20], lines[22:]...) })
	caught(t, r, 21, "lines n=21 to n=22 are missing")
}

// S5.5.2.
func TestAttack86AuditTailCut(t *testing.T) {
	r := forged(t, func(lines [][]byte) [][]byte { return lines[:30] })
	caught(t, r, 0, "the end of the log was removed")
}

// S5.5.2: An attacker who can write the file can build a consistent chain and sign it with another key.
func TestAttack87AuditRewritten(t *testing.T) {
	path := writeLog(t, 50, nil)
	mine := NewKeys([32]byte{2})
	trust := Trust{Key: testKeys.Public()}
	t.Run("with another key", func(t *testing.T) {
		rewrite(t, path, mine, func(c *chain, r *Record, b []byte) []byte { return c.append(b, r) })
		caught(t, verified(t, path, trust), 1, "is signed with the key")
	})
	t.Run("with another key, claiming to be ours", func(t *testing.T) {
		rewrite(t, path, &Keys{signKey: mine.signKey, public: testKeys.public, hmacKey: mine.hmacKey}, func(c *chain, r *Record, b []byte) []byte { return c.append(b, r) })
		caught(t, verified(t, path, trust), 1, "the signature does not match the key")
	})
	t.Run("after our first line", func(t *testing.T) {
		first := writeLog(t, 0, nil)
		head := linesOf(t, first)[0]
		rewrite(t, path, &Keys{signKey: mine.signKey, public: testKeys.public, hmacKey: mine.hmacKey}, func(c *chain, r *Record, b []byte) []byte {
			if r.Event == EventFile {
				b = append(c.append(b, r)[:0], append(bytes.TrimRight(head, "\n"), '\n')...)
				c.prev = sumOf(bytes.TrimRight(head, "\n"))
				return b
			}
			return c.append(b, r)
		})
		caught(t, verified(t, path, trust), 52, "the signature does not match the key")
	})
	t.Run("without signatures", func(t *testing.T) {
		var b []byte
		c := newChain(testKeys, "")
		b = c.append(b, &Record{Event: EventFile, Count: 1, Time: now})
		for i := range maxUnsigned + 1 {
			r := callRecord(i)
			r.Time = now
			b = c.append(b, &r)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		caught(t, verified(t, path, trust), maxUnsigned+2, "lines without a signature")
	})
}

// rewrite replaces the file with a new chain with other items.
func rewrite(t *testing.T, path string, keys *Keys, add func(c *chain, r *Record, b []byte) []byte) {
	t.Helper()
	c := newChain(keys, "")
	b := add(&c, &Record{Event: EventFile, Count: 1, Time: now}, nil)
	for i := range 50 {
		r := callRecord(i)
		r.Item, r.Time = "harmless", now
		b = add(&c, &r, b)
	}
	b = add(&c, &Record{Event: EventCheckpoint, Time: now}, b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A text from outside can neither end its line nor end the JSON string that contains it.
func TestAttack88AuditNewlineInName(t *testing.T) {
	evil := "x\n{\"n\":3,\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"call\",\"who\":\"key:other\",\"prev\":\"\"}\r\n\u2028\x1b[2K\u202e\",\"who\":\"key:boss"
	for _, field := range []func(r *Record){
		func(r *Record) { r.Who = evil }, func(r *Record) { r.Via = evil }, func(r *Record) { r.Peer = evil }, func(r *Record) { r.Session = evil },
		func(r *Record) { r.Call = evil }, func(r *Record) { r.Project = evil }, func(r *Record) { r.Method = evil }, func(r *Record) { r.Server = evil },
		func(r *Record) { r.Item = evil }, func(r *Record) { r.Decision = evil }, func(r *Record) { r.Rule = evil }, func(r *Record) { r.Outcome = evil },
		func(r *Record) { r.Detail = evil }, func(r *Record) { r.Event = evil },
	} {
		c := newChain(testKeys, "")
		r := callRecord(1)
		r.Time = now
		field(&r)
		b := c.append(nil, &r)
		if n := bytes.Count(b, []byte("\n")); n != 1 || !bytes.HasSuffix(b, []byte("\n")) {
			t.Errorf("got %d newlines: %s", n, b)
		}
		if i := bytes.IndexFunc(b[:len(b)-1], func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x202e }); i >= 0 {
			t.Errorf("unescaped control character at %d: %q", i, b)
		}
		line, err := ParseLine(bytes.TrimSuffix(b, []byte("\n")))
		if err != nil || line.Who != r.Who || line.Item != r.Item || line.N != 1 {
			t.Errorf("the line parses as %+v, %v; want the fields of the record", line, err)
		}
	}
}
