package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerifyFindsFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(lines [][]byte) [][]byte
		line   int
		words  string
	}{
		{"first line removed", func(l [][]byte) [][]byte { return l[1:] }, 1, "does not start with a file line"},
		{"line inserted", func(l [][]byte) [][]byte { return append(l[:5:5], append([][]byte{l[7]}, l[5:]...)...) }, 6, "lines n=6 to n=7 are missing"},
		{"line duplicated", func(l [][]byte) [][]byte { return append(l[:5:5], append([][]byte{l[4]}, l[5:]...)...) }, 6, "the hash of the previous line does not match"},
		{"two lines exchanged", func(l [][]byte) [][]byte { l[5], l[6] = l[6], l[5]; return l }, 6, "lines n=6 to n=6 are missing"},
		{"number changed", func(l [][]byte) [][]byte {
			l[9] = bytes.Replace(l[9], []byte(`"n":10,`), []byte(`"n":11,`), 1)
			return l
		}, 10, "line number 11 appears after 9"},
		{"not JSON", func(l [][]byte) [][]byte { l[9] = []byte("rubbish\n"); return l }, 10, "not a line of an audit log"},
		{"too long", func(l [][]byte) [][]byte { l[9] = append(bytes.Repeat([]byte("x"), 2*maxLine), '\n'); return l }, 10, "longer than"},
		{"last newline removed", func(l [][]byte) [][]byte { l[len(l)-1] = bytes.TrimSuffix(l[len(l)-1], []byte("\n")); return l }, 52, "the newline at the end of the line is missing"},
		{"all lines removed", func([][]byte) [][]byte { return nil }, 0, "the log is empty"},
		{"last signature removed", func(l [][]byte) [][]byte { return l[:51] }, 0, "the end of the log was removed"},
		{"second first line", func(l [][]byte) [][]byte { return append(l, l[0]) }, 53, "in the middle of a file"},
		{"signature of another line", func(l [][]byte) [][]byte {
			at, from := bytes.Index(l[51], []byte(`"sig":"`)), bytes.Index(l[0], []byte(`"sig":"`))
			l[51] = append(l[51][:at:at], l[0][from:]...)
			return l
		}, 52, "the signature does not match the key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caught(t, forged(t, func(lines [][]byte) [][]byte {
				if last := len(lines) - 1; !bytes.HasSuffix(lines[last], []byte("\n")) {
					lines[last] = append(lines[last], '\n')
				}
				return c.change(lines)
			}), c.line, c.words)
		})
	}
}

func TestVerifyRotatedFiles(t *testing.T) {
	rotated := func(t *testing.T) string { return writeLog(t, 1500, func(s *Settings) { s.Size = 64 << 10 }) }
	t.Run("file removed", func(t *testing.T) {
		path := rotated(t)
		if err := os.Remove(rotatedName(path, 3)); err != nil {
			t.Fatal(err)
		}
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault == nil || r.Fault.File != filepath.Base(rotatedName(path, 4)) || r.Fault.Line != 1 || !strings.Contains(r.Fault.What, "are missing") {
			t.Errorf("got %v, want a fault in line 1 of the file after the removed one", r.Fault)
		}
	})
	t.Run("files exchanged", func(t *testing.T) {
		path := rotated(t)
		files := Files(path)
		files[1], files[2] = files[2], files[1]
		r, err := Verify(files, Trust{})
		if err != nil || r.Fault == nil || r.Fault.Line != 1 {
			t.Errorf("got fault %v, error %v; want a fault in line 1", r.Fault, err)
		}
	})
	t.Run("rotated file changed", func(t *testing.T) {
		path := rotated(t)
		lines := linesOf(t, rotatedName(path, 2))
		lines[len(lines)-2] = bytes.Replace(lines[len(lines)-2], []byte("key:ci"), []byte("key:me"), 1)
		if err := os.WriteFile(rotatedName(path, 2), append(bytes.Join(lines, nil), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault == nil || r.Fault.File != filepath.Base(rotatedName(path, 2)) || r.Fault.Line != len(lines) {
			t.Errorf("got fault %v, want line %d", r.Fault, len(lines))
		}
	})
}

func TestParseKey(t *testing.T) {
	text := KeyText(testKeys.Public())
	for _, c := range []struct {
		in string
		ok bool
	}{{text, true}, {"# goblin-actor\n  " + text + "\n", true}, {"", false}, {"#", false}, {text[1:], false}, {"../../etc/passwd", false}} {
		if key, err := ParseKey(c.in); (err == nil) != c.ok || c.ok && !key.Equal(testKeys.Public()) {
			t.Errorf("ParseKey(%q): got %v, %v", c.in, key, err)
		}
	}
}

// Verify terminates without a panic on any input, and finds a fault in every file that does not begin with the signed
// first line. If there is no fault, Newest finds as many lines as Verify.
func FuzzVerify(f *testing.F) {
	c := newChain(testKeys, "")
	b := c.append(nil, &Record{Event: EventFile, Time: now, Count: 1})
	first := len(b)
	for i := range 3 {
		r := callRecord(i)
		r.Time = now
		b = c.append(b, &r)
	}
	b = c.append(b, &Record{Event: EventCheckpoint, Time: now})
	f.Add(b)
	f.Add(b[:first])
	f.Add(b[first:])
	f.Add([]byte("{}\n"))
	checkpoint := checkpointOf("b", 7, nodeKeys("b"))
	f.Add(c.append(b, &Record{Event: EventWitness, Time: now, witness: &checkpoint}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := verifier{trust: Trust{Key: testKeys.Public()}, key: testKeys.Public()}
		defer func() {
			nodes := verifier{trust: v.trust, key: testKeys.Public(), evidence: &evidence{}}
			if err := nodes.readFrom("audit.jsonl", bytes.NewReader(raw)); err == nil && v.Fault != nil && v.Fault.Line > 0 {
				t.Errorf("VerifyNodes does not find %v", v.Fault)
			}
		}()
		if err := v.readFrom("audit.jsonl", bytes.NewReader(raw)); err == nil {
			v.end()
		} else if !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		r := v.Report
		if r.Fault == nil && !bytes.HasPrefix(raw, b[:first]) {
			t.Errorf("no fault found in %q", raw)
		}
		var found []Entry
		if _, _, err := newestInReader(bytes.NewReader(raw), int64(len(raw)), &Filter{}, 1<<20, &found); err != nil {
			t.Fatal(err)
		}
		if r.Fault == nil && uint64(len(found)) != r.Lines {
			t.Errorf("Newest finds %d lines, Verify %d: %q", len(found), r.Lines, raw)
		}
	})
}
