package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	tailSize  = 4 << 20 // bytes at the end of a file that must contain its last whole line; enough for more than maxUnsigned lines of usual length
	maxNumber = 1000    // file numbers tried for the name of a rotated file
)

var (
	// errNotAuditLog is returned for a file that is not an audit log.
	errNotAuditLog = errors.New("not an audit log of goblin-actor; move the file away, or set audit.file to another path")
	// ErrInUse is returned if another process writes the log.
	ErrInUse = errors.New("another gateway writes this audit log; set a different audit.file for each gateway, or run a single gateway with goblin-actor serve and let clients connect to it")
)

// file is the part of *os.File that the log uses.
type file interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// opened is an open file of the log, with the state for its next line.
type opened struct {
	f      file
	size   int64     // bytes
	number uint64    // number of the file
	key    string    // public key of its signatures, from its first line
	node   string    // the node that wrote its last line; "" = a gateway that runs alone
	began  time.Time // creation time, from its first line
	chain  chain
	first  []Record // records to write immediately
}

// opener opens the files of a log for writing.
type opener struct {
	keys *Keys
	node string
	wrap func(file) file // wraps the file in tests; nil = not at all
}

func (l *Log) opener() opener { return opener{l.keys, l.o.Node, l.wrap} }

// open opens the log for writing, or creates it. It removes an incomplete last line. If the file was signed with
// another key, open rotates it and creates the next file.
func (s opener) open(path string) (opened, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.createNext(path)
	case err != nil:
		return opened{}, err
	case !info.Mode().IsRegular():
		return opened{}, fmt.Errorf("%s is not a regular file (%s); the audit log does not follow links, so set audit.file to the path of the file itself", path, fileKind(info.Mode()))
	case !ownedByUser(info):
		return opened{}, fmt.Errorf("%s belongs to another user, who could change it; set audit.file to a file of the gateway's user", path)
	}
	f, err := openLocked(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return opened{}, err
	}
	if info, err = statLocked(path, f); err != nil {
		return opened{}, errors.Join(err, f.Close())
	}
	if lacksFirstLine(f, info.Size()) {
		return s.restart(path, f, info.Size())
	}
	o, err := s.resume(f)
	if err == nil {
		err = s.checkNode(&o)
	}
	if err == nil {
		err = repair(f, info, o)
	}
	if err != nil || o.key != KeyText(s.keys.public) {
		_ = f.Close()
	}
	switch {
	case err != nil:
		return opened{}, fmt.Errorf("%s: %w", path, err)
	case o.key != KeyText(s.keys.public):
		return s.rotateForeignKey(path, o)
	}
	if o.f = f; s.wrap != nil {
		o.f = s.wrap(f)
	}
	return o, nil
}

func fileKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	}
	return "a device or a pipe"
}

// statLocked returns the status of a file that was just locked. It fails if path now names another file, because
// another gateway has rotated the log.
func statLocked(path string, f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if at, err := os.Lstat(path); err != nil || !os.SameFile(at, info) {
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	}
	return info, nil
}

// linePrefix is the prefix of each line.
const linePrefix = `{"n":`

// lacksFirstLine reports whether a file has no first line: it is empty, or the gateway crashed before the first line
// reached the disk.
func lacksFirstLine(f io.ReaderAt, size int64) bool {
	if size > maxLine {
		return false
	}
	raw := make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	begins := raw[:min(len(raw), len(linePrefix))]
	return !bytes.ContainsRune(raw, '\n') && (strings.HasPrefix(linePrefix, string(begins)) || len(bytes.Trim(raw, "\x00")) == 0)
}

// restart starts the log in a file that has no first line.
func (s opener) restart(path string, f *os.File, size int64) (opened, error) {
	o, err := s.continueRotated(path)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil && hasModeBits {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return opened{}, errors.Join(err, f.Close())
	}
	o = s.begin(f, o)
	if size > 0 {
		o.first = append(o.first, repairRecord(int(size)))
	}
	return o, nil
}

// repair removes an incomplete last line, and makes the file readable by its owner only.
func repair(f *os.File, info fs.FileInfo, o opened) error {
	if o.size < info.Size() {
		if err := f.Truncate(o.size); err != nil {
			return err
		}
	}
	if info.Mode().Perm()&0o077 == 0 || !hasModeBits {
		return nil
	}
	return f.Chmod(0o600)
}

// rotateForeignKey rotates a file that was signed with another key, and starts the next one.
func (s opener) rotateForeignKey(path string, was opened) (opened, error) {
	number, err := setAside(path, was.number)
	if err != nil {
		return opened{}, err
	}
	return s.create(path, opened{number: number + 1, chain: was.chain})
}

// checkNode returns an error if another node of a cluster has written the file. A gateway that runs alone continues every
// log, because it may have been a node before.
func (s opener) checkNode(o *opened) error {
	if s.node != "" && o.node != "" && o.node != s.node {
		return fmt.Errorf("this is the log of node %s, and the name of this node is %s; set audit.file to another path, or move the file away if the node was renamed", o.node, s.node)
	}
	return nil
}

// createNext creates the file of a log that has no current file.
func (s opener) createNext(path string) (opened, error) {
	o, err := s.continueRotated(path)
	if err != nil {
		return opened{}, err
	}
	return s.create(path, o)
}

// continueRotated returns the state for a new file: it continues the newest rotated file, if there is one.
func (s opener) continueRotated(path string) (opened, error) {
	o := opened{number: 1, chain: newChain(s.keys, s.node)}
	if old := Rotated(path); len(old) > 0 {
		f, err := os.Open(old[len(old)-1])
		if err != nil {
			return opened{}, err
		}
		was, err := s.resume(f)
		if err == nil {
			err = s.checkNode(&was)
		}
		_ = f.Close()
		if err != nil {
			return opened{}, fmt.Errorf("read the newest rotated file %s: %w", old[len(old)-1], err)
		}
		o.chain, o.number = was.chain, numberOf(path, old[len(old)-1])+1
	}
	return o, nil
}

// create creates the file that o describes. The file must not exist.
func (s opener) create(path string, o opened) (opened, error) {
	f, err := openLocked(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return opened{}, err
	}
	return s.begin(f, o), nil
}

// begin makes the empty file f the current file of o.
func (s opener) begin(f *os.File, o opened) opened {
	o.began, o.size = time.Now(), 0
	o.first = []Record{{Event: EventFile, Time: o.began, Count: o.number}}
	if o.f = f; s.wrap != nil {
		o.f = s.wrap(f)
	}
	return o
}

func repairRecord(torn int) Record {
	return Record{Event: EventRepair, Count: uint64(torn), Detail: "removed an incomplete line; count is its length in bytes"}
}

// resume finds the end of a log's file, excluding an incomplete last line.
func (s opener) resume(f *os.File) (opened, error) {
	info, err := f.Stat()
	if err != nil {
		return opened{}, err
	}
	head, err := firstLine(f)
	if err != nil {
		return opened{}, err
	}
	from := max(0, info.Size()-tailSize)
	tail := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(tail, from); err != nil {
		return opened{}, err
	}
	last, torn := lastLine(tail)
	if last == nil {
		return opened{}, errNotAuditLog
	}
	line, _ := ParseLine(last)
	o := opened{size: info.Size() - int64(torn), number: head.File, key: head.Key, node: line.Node, began: head.Time, chain: newChain(s.keys, s.node)}
	o.chain.n, o.chain.prev, o.chain.first, o.chain.pending = line.N, sha256.Sum256(last), false, unsigned(tail[:len(tail)-torn])
	again := Record{Event: EventOpen, Count: uint64(o.chain.pending), Detail: "an existing file was opened"}
	if again.Count > 0 {
		again.Detail += "; count is the number of lines that were unsigned"
	}
	o.first = append(o.first, again)
	if torn > 0 {
		o.first = append(o.first, repairRecord(torn))
	}
	return o, nil
}

// firstLine reads and checks the first line of a file, which describes it.
func firstLine(f io.ReaderAt) (Line, error) {
	head := make([]byte, maxLine)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Line{}, err
	}
	raw, _, whole := bytes.Cut(head[:n], []byte("\n"))
	line, err := ParseLine(raw)
	if !whole || err != nil || line.Event != EventFile {
		return Line{}, errNotAuditLog
	}
	if line.Format != format {
		return Line{}, fmt.Errorf("format %d is not supported; the file was written by a newer version of goblin-actor", line.Format)
	}
	return line, nil
}

// Head returns the first line of a file of a log. If the line does not name a node, because the gateway became one later,
// Node is that of the last line.
func Head(path string) (Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return Line{}, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	head, err := firstLine(f)
	if err != nil || head.Node != "" {
		return head, err
	}
	o, err := opener{keys: &Keys{}}.resume(f)
	head.Node = o.node
	return head, err
}

// KeyOf returns the public key that a file of a log names in its first line.
func KeyOf(f io.ReaderAt) (ed25519.PublicKey, error) {
	line, err := firstLine(f)
	if err != nil {
		return nil, err
	}
	return ParseKey(line.Key)
}

// lastLine returns the last whole and valid line of tail, which is the end of a file, and the number of bytes after
// that line. last is nil if there is no such line.
func lastLine(tail []byte) (last []byte, torn int) {
	end := bytes.LastIndexByte(tail, '\n')
	for end >= 0 {
		start := bytes.LastIndexByte(tail[:end], '\n') + 1
		if _, err := ParseLine(tail[start:end]); err == nil {
			return tail[start:end], len(tail) - end - 1
		}
		end = start - 1
	}
	return nil, 0
}

// unsigned counts the lines after the last signed line.
func unsigned(tail []byte) int {
	count := 0
	for end := len(tail) - 1; end > 0; {
		start := bytes.LastIndexByte(tail[:end], '\n') + 1
		if line, err := ParseLine(tail[start:end]); err == nil && line.Signed() {
			break
		}
		count++
		end = start - 1
	}
	return count
}

// Rotated returns the paths of a log's rotated files, oldest first.
func Rotated(path string) []string {
	stem, ext := stemOf(path)
	pattern := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(stem)) + `-(\d{6,18})` + regexp.QuoteMeta(ext) + `$`)
	entries, _ := os.ReadDir(filepath.Dir(path)) // an unreadable directory counts as empty
	var found []string
	for _, e := range entries {
		if pattern.MatchString(e.Name()) && e.Type().IsRegular() {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if d := int64(numberOf(path, a)) - int64(numberOf(path, b)); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(a, b)
	})
	return found
}

// rotatedPattern matches the number in the name of a rotated file.
var rotatedPattern = regexp.MustCompile(`-\d{6,18}(\.[^.]*)?$`)

// CurrentPath returns the path of the log that a file belongs to, by the file's name: a.jsonl for a-000001.jsonl. It is path
// itself if the file does not have the name of a rotated one.
func CurrentPath(path string) string { return rotatedPattern.ReplaceAllString(path, "$1") }

// Files returns the paths of all files of a log, oldest first.
func Files(path string) []string {
	files := Rotated(path)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		files = append(files, path)
	}
	return files
}

func stemOf(path string) (stem, ext string) {
	ext = filepath.Ext(path)
	return strings.TrimSuffix(path, ext), ext
}

// rotatedName returns the path of the rotated file with the given number.
func rotatedName(path string, number uint64) string {
	stem, ext := stemOf(path)
	return fmt.Sprintf("%s-%06d%s", stem, number, ext)
}

func numberOf(path, rotated string) uint64 {
	stem, ext := stemOf(filepath.Base(path))
	n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(rotated), stem+"-"), ext), 10, 64)
	return n
}
