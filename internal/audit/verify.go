package audit

import (
	"bufio"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Trust is what a log is held against. What is not known is not checked.
type Trust struct {
	Key  ed25519.PublicKey // of the signatures; nil = the one that the first file names itself, which whoever writes all anew can do too
	Mark *Mark             // a signed line that others remember; nil = none
}

// Report is what Verify found.
type Report struct {
	Files    int
	Lines    uint64
	First    uint64 // number of the first line
	Last     uint64 // of the last
	LastTime time.Time
	Key      string // public, of the signatures
	Signed   uint64 // number of the last line with a good signature: that far a log with a fault is what was written; 0 = none
	Unsigned uint64 // lines after it
	Dropped  uint64 // records that the log says it has not
	Notes    []Finding
	Fault    *Finding // what is wrong, and where it begins; nil = nothing is
}

// Finding is something about a line.
type Finding struct {
	File string
	Line int // counted from 1; 0 = the file as such
	N    uint64
	What string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.File, f.What)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

const maxNotes = 100

// verifier goes over the lines of all files.
type verifier struct {
	Report
	trust  Trust
	key    ed25519.PublicKey
	prev   string // hash of the line before; "" = there was none
	file   string
	line   int
	number uint64 // of the file
}

// errFault ends the reading: what is wrong stands in the report.
var errFault = errors.New("the log is not as it was written")

// Verify reads files, which belong together, from the oldest to the newest, and says whether they are what was written. The error is
// that of reading.
func Verify(files []string, trust Trust) (Report, error) {
	v := verifier{trust: trust, key: trust.Key}
	for _, path := range files {
		err := v.read(path)
		if errors.Is(err, errFault) {
			return v.Report, nil
		}
		if err != nil {
			return v.Report, err
		}
		v.Files++
	}
	v.end()
	return v.Report, nil
}

func (v *verifier) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return v.readFrom(filepath.Base(path), f)
}

// readFrom reads a file of that name.
func (v *verifier) readFrom(name string, f io.Reader) error {
	v.file, v.line = name, 0
	r := bufio.NewReaderSize(f, maxLine+1)
	for {
		raw, err := r.ReadSlice('\n')
		v.line++
		switch {
		case err == nil:
			if err := v.take(raw[:len(raw)-1]); err != nil {
				return err
			}
		case errors.Is(err, bufio.ErrBufferFull):
			return v.wrong(0, errTooLong.Error())
		case !errors.Is(err, io.EOF):
			return err
		case len(raw) > 0:
			return v.unfinished(raw)
		default:
			return nil
		}
	}
}

// unfinished is what stands after the last newline of a file.
func (v *verifier) unfinished(raw []byte) error {
	if line, err := ParseLine(raw); err == nil {
		return v.wrong(line.N, "the newline at its end is gone")
	}
	v.note(0, fmt.Sprintf("the last %d bytes are a line that was never finished: the gateway is writing it, or ended hard", len(raw)))
	return nil
}

func (v *verifier) wrong(n uint64, what string) error {
	v.Fault = &Finding{v.file, v.line, n, what}
	return errFault
}

func (v *verifier) note(n uint64, what string) {
	if len(v.Notes) < maxNotes {
		v.Notes = append(v.Notes, Finding{v.file, v.line, n, what})
	}
}

// take checks a line against the one before it.
func (v *verifier) take(raw []byte) error {
	line, err := ParseLine(raw)
	if err != nil {
		return v.wrong(0, err.Error())
	}
	if v.line == 1 {
		if err := v.begins(&line); err != nil {
			return err
		}
	} else if line.Event == EventFile {
		return v.wrong(line.N, "a line that begins a file stands in the middle of one")
	}
	if err := v.follows(&line); err != nil {
		return err
	}
	if line.Signed() && !signedBy(raw, &line, v.key) {
		return v.wrong(line.N, "its signature is not of the key "+KeyText(v.key)+": the line, or all before it, was written by somebody else")
	}
	v.prev = SumOf(raw)
	if err := v.remembered(&line); err != nil {
		return err
	}
	v.count(&line)
	return v.tells(&line)
}

// begins checks the first line of a file.
func (v *verifier) begins(line *Line) error {
	if line.Event != EventFile || line.Format != format {
		return v.wrong(line.N, "the first line of a file has to say that it is an audit log (format 1): lines before it are gone, or it is something else")
	}
	key, err := ParseKey(line.Key)
	if err != nil {
		return v.wrong(line.N, "key: "+err.Error())
	}
	if v.key == nil {
		v.key = key
	}
	if !v.key.Equal(key) {
		return v.wrong(line.N, "the file is signed with the key "+KeyText(key)+", not with "+KeyText(v.key))
	}
	v.Key = KeyText(v.key)
	if v.Lines == 0 {
		v.First = line.N
		if line.N > 1 || line.Prev != "" {
			v.note(line.N, fmt.Sprintf("the log begins at line n=%d, file %d: what was before has been deleted, or is not here", line.N, line.File))
		}
	} else if line.File <= v.number {
		return v.wrong(line.N, fmt.Sprintf("it is file %d, and comes after file %d", line.File, v.number))
	}
	v.number = line.File
	return nil
}

// follows checks that the line is the next one.
func (v *verifier) follows(line *Line) error {
	if v.Lines == 0 {
		return nil
	}
	if line.Prev != v.prev {
		what := "it does not follow the line before it, which was changed or put there"
		if line.N > v.Last+1 {
			what = fmt.Sprintf("lines n=%d to n=%d are gone", v.Last+1, line.N-1)
		}
		return v.wrong(line.N, what)
	}
	if line.N != v.Last+1 && line.Event != EventMissing {
		return v.wrong(line.N, fmt.Sprintf("its number is %d, after %d", line.N, v.Last))
	}
	if back := v.LastTime.Sub(line.Time); back > time.Minute {
		v.note(line.N, "the clock was set back by "+back.Round(time.Second).String())
	}
	return nil
}

// remembered checks the line that others remember.
func (v *verifier) remembered(line *Line) error {
	m := v.trust.Mark
	if m == nil || line.N != m.N {
		return nil
	}
	if m.Sum != "" && m.Sum != v.prev {
		return v.wrong(line.N, "it is not the line that the gateway remembers: it, or one before it, was written anew")
	}
	return nil
}

func (v *verifier) count(line *Line) {
	v.Lines++
	v.Last, v.LastTime = line.N, line.Time
	v.Unsigned++
	if line.Signed() {
		v.Signed, v.Unsigned = line.N, 0
	}
}

// tells notes what the log says of itself.
func (v *verifier) tells(line *Line) error {
	switch line.Event {
	case EventMissing:
		return v.wrong(line.N, fmt.Sprintf("when the gateway started, lines up to n=%d were missing: the tail had been cut off", line.Count))
	case EventDropped:
		v.Dropped += line.Count
		v.note(line.N, fmt.Sprintf("%d records were dropped", line.Count))
	case EventRepair:
		v.note(line.N, fmt.Sprintf("the gateway had ended hard: %d bytes of an unfinished line were cut off here", line.Count))
	case EventOpen:
		if line.Count > 0 {
			v.note(line.N, fmt.Sprintf("the gateway had ended hard: the %d lines before were signed only now", line.Count))
		}
	}
	if v.Unsigned > maxUnsigned {
		return v.wrong(line.N, fmt.Sprintf("there is no signature in %d lines; the gateway signs every %d", v.Unsigned, maxUnsigned))
	}
	return nil
}

// end checks what can be known only at the end.
func (v *verifier) end() {
	v.line = 0
	switch m := v.trust.Mark; {
	case v.Lines == 0:
		_ = v.wrong(0, "there is no line at all")
	case m != nil && m.N > v.Last:
		_ = v.wrong(v.Last, fmt.Sprintf("it ends with line n=%d, and the gateway remembers line n=%d: the tail is cut off", v.Last, m.N))
	}
}
