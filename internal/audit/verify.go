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

// Trust is what Verify checks a log against.
type Trust struct {
	Key  ed25519.PublicKey // public key of the signatures; nil = the key in the first file, which a forger could have replaced
	Mark *Mark             // a signed line that the log is known to have had; nil = none
	Node string            // the node of a cluster that the log must be of; "" = any
}

// Report is the result of Verify.
type Report struct {
	Files    int
	Lines    uint64
	First    uint64    // number of the first line
	Last     uint64    // number of the last line
	LastTime time.Time // time of the last line
	Key      string    // public key of the signatures
	Node     string    // the node of a cluster that wrote the log; "" = a gateway that runs alone
	Signed   uint64    // number of the last line with a valid signature; a faulty log is authentic up to there; 0 = none
	Unsigned uint64    // lines after Signed
	Dropped  uint64    // records that the log reports as dropped
	Notes    []Finding // remarks, at most maxNotes
	Fault    *Finding  // first error; nil = the log is intact
}

// Finding is a statement about a line.
type Finding struct {
	File string // base name; with VerifyNodes, the path
	Line int    // line in the file, from 1; 0 = the whole file
	N    uint64 // number of the line in the log
	What string
}

// String returns the finding with its file and line.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.File, f.What)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

const maxNotes = 100

// verifier checks the lines of all files in order.
type verifier struct {
	Report
	trust  Trust
	key    ed25519.PublicKey
	prev   string // hash of the previous line; "" = there is none
	file   string
	line   int
	number uint64 // number of the file

	evidence *evidence // nil = only this log is verified
}

// errFault stops reading after the first error. The report holds that error.
var errFault = errors.New("the audit log is not intact")

// Verify checks the files of a log, oldest first, against trust. It returns an error if a file cannot be read.
// Report.Fault is the first error in the log.
func Verify(files []string, trust Trust) (Report, error) {
	v := verifier{trust: trust, key: trust.Key}
	err := v.readAll(files)
	return v.Report, err
}

// readAll verifies all files of a log.
func (v *verifier) readAll(files []string) error {
	for _, path := range files {
		err := v.read(path)
		if errors.Is(err, errFault) {
			return nil
		}
		if err != nil {
			return err
		}
		v.Files++
	}
	v.end()
	return nil
}

func (v *verifier) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if v.evidence != nil {
		return v.readFrom(path, f)
	}
	return v.readFrom(filepath.Base(path), f)
}

// readFrom checks a file with the given name.
func (v *verifier) readFrom(name string, f io.Reader) error {
	v.file, v.line = name, 0
	r := bufio.NewReaderSize(f, maxLine+1)
	for {
		raw, err := r.ReadSlice('\n')
		v.line++
		switch {
		case err == nil:
			if err := v.checkLine(raw[:len(raw)-1]); err != nil {
				return err
			}
		case errors.Is(err, bufio.ErrBufferFull):
			return v.fail(0, errTooLong.Error())
		case !errors.Is(err, io.EOF):
			return err
		case len(raw) > 0:
			return v.unfinished(raw)
		default:
			return nil
		}
	}
}

// unfinished handles text after the last newline of a file.
func (v *verifier) unfinished(raw []byte) error {
	if line, err := ParseLine(raw); err == nil {
		return v.fail(line.N, "the newline at the end of the line is missing")
	}
	v.note(0, fmt.Sprintf("the last %d bytes are an incomplete line: the gateway is still writing it, or it crashed", len(raw)))
	return nil
}

func (v *verifier) fail(n uint64, what string) error {
	v.Fault = &Finding{v.file, v.line, n, what}
	return errFault
}

func (v *verifier) note(n uint64, what string) {
	if len(v.Notes) < maxNotes {
		v.Notes = append(v.Notes, Finding{v.file, v.line, n, what})
	}
}

// checkLine checks a line and its link to the previous one.
func (v *verifier) checkLine(raw []byte) error {
	line, err := ParseLine(raw)
	if err != nil {
		return v.fail(0, err.Error())
	}
	if v.line == 1 {
		if err := v.checkFirst(&line); err != nil {
			return err
		}
	} else if line.Event == EventFile {
		return v.fail(line.N, "the first line of a file appears in the middle of a file")
	}
	if err := v.checkOrder(&line); err != nil {
		return err
	}
	if err := v.checkNode(&line); err != nil {
		return err
	}
	if line.Signed() && !signedBy(raw, &line, v.key) {
		return v.fail(line.N, "the signature does not match the key "+KeyText(v.key)+": this line, or one before it, is forged")
	}
	v.prev = SumOf(raw)
	if err := v.checkMark(&line); err != nil {
		return err
	}
	v.count(&line)
	if v.evidence != nil {
		if err := v.collect(&line); err != nil {
			return err
		}
	}
	return v.checkEvent(&line)
}

// checkFirst checks the first line of a file.
func (v *verifier) checkFirst(line *Line) error {
	switch {
	case line.Event != EventFile:
		return v.fail(line.N, "the file does not start with a file line: lines before this one are missing, or the file is not an audit log")
	case line.Format != format:
		return v.fail(line.N, fmt.Sprintf("format %d is not supported; the file was written by a newer version of goblin-actor", line.Format))
	}
	key, err := ParseKey(line.Key)
	if err != nil {
		return v.fail(line.N, "key: "+err.Error())
	}
	if v.key == nil {
		v.key = key
	}
	if !v.key.Equal(key) {
		return v.fail(line.N, "the file is signed with the key "+KeyText(key)+", expected "+KeyText(v.key))
	}
	v.Key = KeyText(v.key)
	if v.Lines == 0 {
		v.First = line.N
		if line.N > 1 || line.Prev != "" {
			v.note(line.N, fmt.Sprintf("the log starts at line n=%d, file %d: earlier files were deleted or moved", line.N, line.File))
		}
	} else if line.File <= v.number {
		return v.fail(line.N, fmt.Sprintf("file %d appears after file %d", line.File, v.number))
	}
	v.number = line.File
	return nil
}

// checkOrder checks that the line is the successor of the previous one.
func (v *verifier) checkOrder(line *Line) error {
	if v.Lines == 0 {
		return nil
	}
	if line.Prev != v.prev {
		what := "the hash of the previous line does not match: that line or this one was changed, inserted or moved"
		if line.N > v.Last+1 {
			what = fmt.Sprintf("lines n=%d to n=%d are missing", v.Last+1, line.N-1)
		}
		return v.fail(line.N, what)
	}
	if line.N != v.Last+1 && line.Event != EventMissing {
		return v.fail(line.N, fmt.Sprintf("line number %d appears after %d", line.N, v.Last))
	}
	if back := v.LastTime.Sub(line.Time); back > time.Minute {
		v.note(line.N, "the clock was set back by "+back.Round(time.Second).String())
	}
	return nil
}

// checkNode checks that one node wrote all lines. A gateway that runs alone can become a node, and a node can become a
// gateway that runs alone.
func (v *verifier) checkNode(line *Line) error {
	switch {
	case line.Node == "" || line.Node == v.Node:
		return nil
	case v.Node != "":
		return v.fail(line.N, fmt.Sprintf("the line was written by node %q, but the log belongs to node %q", line.Node, v.Node))
	case v.trust.Node != "" && line.Node != v.trust.Node:
		return v.fail(line.N, fmt.Sprintf("this is the log of node %q, expected that of node %q", line.Node, v.trust.Node))
	}
	v.Node = line.Node
	return nil
}

// checkMark compares the line with Trust.Mark if both have the same number.
func (v *verifier) checkMark(line *Line) error {
	m := v.trust.Mark
	if m == nil || line.N != m.N {
		return nil
	}
	if m.Sum != "" && m.Sum != v.prev {
		return v.fail(line.N, "the line differs from the one that the gateway remembers: this line, or one before it, was rewritten")
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

// checkEvent checks what the log reports about itself.
func (v *verifier) checkEvent(line *Line) error {
	switch line.Event {
	case EventMissing:
		return v.fail(line.N, fmt.Sprintf("lines up to n=%d were missing when the gateway started: the end of the log was removed", line.Count))
	case EventDropped:
		v.Dropped += line.Count
		v.note(line.N, fmt.Sprintf("dropped records: %d", line.Count))
	case EventRepair:
		v.note(line.N, fmt.Sprintf("after a crash or a failed write, an incomplete line of %d bytes was removed here", line.Count))
	case EventOpen:
		if line.Count > 0 {
			v.note(line.N, fmt.Sprintf("after a crash or a failed write, the lines before this one were signed late (unsigned until then: %d)", line.Count))
		}
	}
	if v.Unsigned > maxUnsigned {
		return v.fail(line.N, fmt.Sprintf("%d lines without a signature; the gateway signs at least every %d lines", v.Unsigned, maxUnsigned))
	}
	return nil
}

// end performs the checks that need the whole log.
func (v *verifier) end() {
	v.line = 0
	switch m := v.trust.Mark; {
	case v.Lines == 0:
		_ = v.fail(0, "the log is empty")
	case v.trust.Node != "" && v.Node == "":
		_ = v.fail(v.Last, fmt.Sprintf("this is the log of a gateway that runs alone, expected that of node %q", v.trust.Node))
	case m != nil && m.N > v.Last:
		_ = v.fail(v.Last, fmt.Sprintf("the log ends with line n=%d, but the gateway remembers line n=%d: the end of the log was removed", v.Last, m.N))
	}
}
