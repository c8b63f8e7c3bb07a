package auth

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	maxFileBytes = 8 << 20 // of a key file: some 40 000 keys
	maxNameBytes = 64      // of a key, a role, a project
	maxListed    = 64      // roles or projects of a key
	maxFaults    = 20      // said of one file
)

// fileHead is what a new key file begins with.
const fileHead = `# Who may use this goblin-actor: one API key a line, of which only a hash stands here.
# "goblin-actor key new", "list" and "revoke" keep this file; a line may also be removed by hand. It is YAML, but only in this form.
`

// ErrShared is behind the error of Load when others than its owner may read the file.
var ErrShared = errors.New("others may read it")

var errNotRegular = errors.New("it is no regular file")

// Key is one line of a key file.
type Key struct {
	Name     string // unique
	Sum      Sum    // unique
	Roles    []string
	Projects []string  // nil = all
	Created  time.Time // zero = not known
	Expires  time.Time // zero = never
}

// Expired reports whether the key's time is over.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// FileError is why a key file cannot be used.
type FileError struct {
	Path string
	Err  error  // what is wrong; of the content one line a fault
	Hint string // what to do; "" = nothing to suggest
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap is the reason: fs.ErrNotExist, ErrShared.
func (e *FileError) Unwrap() error { return e.Err }

// Load reads a key file, which nobody but its owner may be able to read. Errors are *FileError.
func Load(path string) ([]Key, error) {
	data, err := readFile(path)
	if err == nil {
		var keys []Key
		if keys, err = Parse(data); err == nil {
			return keys, nil
		}
		return nil, &FileError{path, err, "a key is a line like: name: {sha256: 64 hexadecimal digits, roles: [reader], expires: 2030-01-31T00:00:00Z}"}
	}
	e := &FileError{Path: path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Hint = fs.ErrNotExist, "goblin-actor key new NAME makes it"
	case errors.Is(err, ErrShared):
		e.Hint = "chmod 600 " + path
	}
	return nil, e
}

func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // there the directory says who may read
		return nil, fmt.Errorf("%w (mode %04o)", ErrShared, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("it has more than %d MiB", maxFileBytes>>20)
	}
	return data, reason(err)
}

// reason drops the path from an error of the file system.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Parse reads the content of a key file. The error has one line for each fault, with the number of its line.
func Parse(data []byte) ([]Key, error) {
	var faults []string
	complain := func(line int, what string) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Sprintf("line %d: %s", line, what))
		} else if len(faults) == maxFaults {
			faults = append(faults, "there is more of that kind")
		}
	}
	keys := make([]Key, 0, min(bytes.Count(data, []byte("\n"))+1, len(data)/64+1))
	names, sums := map[string]int{}, map[Sum]int{}
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		text := strings.TrimRight(string(line), " \t\r")
		if text == "" || text[0] == '#' || text == "---" {
			continue
		}
		var k Key
		if what := k.parse(text); what != "" {
			complain(number, what)
			continue
		}
		if before := names[k.Name]; before != 0 {
			complain(number, fmt.Sprintf("there is a key %s in line %d already", k.Name, before))
		} else if before := sums[k.Sum]; before != 0 {
			complain(number, fmt.Sprintf("it is the key of line %d once more", before))
		}
		names[k.Name], sums[k.Sum] = number, number
		keys = append(keys, k)
	}
	if faults != nil {
		return nil, errors.New(strings.Join(faults, "\n"))
	}
	return keys, nil
}

// parse reads one line; what is wrong with it never repeats values, which somebody may have put a key into.
func (k *Key) parse(line string) (fault string) {
	name, rest, ok := strings.Cut(line, ":")
	body, closed := strings.CutSuffix(strings.TrimLeft(rest, " "), "}")
	body, opened := strings.CutPrefix(body, "{")
	switch {
	case !ok || !closed || !opened || rest == "" || rest[0] != ' ':
		return "want name: {sha256: …}"
	case !IsName(name):
		return nameFault("a key")
	}
	k.Name = name
	seen := make([]string, 0, 5)
	for body = strings.TrimSpace(body); body != ""; {
		var member, value string
		var list []string
		if member, value, list, body, fault = nextMember(body); fault != "" {
			return fault
		}
		if slices.Contains(seen, member) {
			return member + " stands there twice"
		}
		seen = append(seen, member)
		if fault := k.set(member, value, list); fault != "" {
			return fault
		}
	}
	if !slices.Contains(seen, "sha256") {
		return "sha256 is missing"
	}
	return ""
}

// nextMember cuts the first member off: `sha256: abc` or `roles: [a, b]`. list is nil for a single value.
func nextMember(body string) (member, value string, list []string, rest, fault string) {
	member, rest, ok := strings.Cut(body, ": ")
	if !ok || !IsName(member) {
		return "", "", nil, "", "want members like sha256: …, separated by a comma and a blank"
	}
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "[") {
		inside, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return "", "", nil, "", member + ": the list has no end"
		}
		list = []string{}
		for word := range strings.SplitSeq(inside, ",") {
			if word = strings.TrimSpace(word); word != "" || inside != "" {
				list = append(list, word)
			}
		}
		rest = after
	} else if comma := strings.IndexByte(rest, ','); comma >= 0 {
		value, rest = rest[:comma], rest[comma:]
	} else {
		value, rest = rest, ""
	}
	value, rest = strings.TrimSpace(value), strings.TrimSpace(rest)
	if rest != "" {
		if rest[0] != ',' {
			return "", "", nil, "", member + ": want a comma behind it"
		}
		if rest = strings.TrimSpace(rest[1:]); rest == "" {
			return "", "", nil, "", member + ": nothing follows the comma"
		}
	}
	return member, value, list, rest, ""
}

// set takes one member over.
func (k *Key) set(member, value string, list []string) (fault string) {
	switch member {
	case "sha256":
		if n, err := hex.Decode(k.Sum[:], []byte(value[:min(len(value), 2*len(k.Sum))])); err != nil || n != len(k.Sum) || len(value) != 2*len(k.Sum) {
			return fmt.Sprintf("sha256: want %d hexadecimal digits", 2*len(k.Sum))
		}
		return ""
	case "roles":
		k.Roles = list
		return listFault(member, list)
	case "projects":
		k.Projects = list
		return listFault(member, list)
	case "created":
		k.Created, fault = parseTime(member, value)
	case "expires":
		k.Expires, fault = parseTime(member, value)
	default:
		return "want sha256, roles, projects, created or expires, and nothing else"
	}
	return fault
}

func listFault(member string, list []string) string {
	switch {
	case len(list) == 0:
		return member + ": want a list with something in it, like [reader]; or leave it out"
	case len(list) > maxListed:
		return fmt.Sprintf("%s: %d are too many, at most %d", member, len(list), maxListed)
	case slices.ContainsFunc(list, func(name string) bool { return !IsName(name) }):
		return member + ": " + nameFault("each")
	}
	return ""
}

func parseTime(member, value string) (t time.Time, fault string) {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil || t.IsZero() {
		return t, member + ": want a time like 2030-01-31T00:00:00Z"
	}
	return t, ""
}

// IsName reports whether a key may be called so: letters, digits, and after the first character also . _ -
func IsName(name string) bool {
	if name == "" || len(name) > maxNameBytes {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func nameFault(what string) string {
	return fmt.Sprintf("%s is called by up to %d letters, digits, and . _ - in between", what, maxNameBytes)
}

// line is the key as the file has it.
func (k *Key) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: {sha256: %x", k.Name, k.Sum)
	for _, list := range []struct {
		member string
		names  []string
	}{{"roles", k.Roles}, {"projects", k.Projects}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, ", %s: [%s]", list.member, strings.Join(list.names, ", "))
		}
	}
	for _, t := range []struct {
		member string
		at     time.Time
	}{{"created", k.Created}, {"expires", k.Expires}} {
		if !t.at.IsZero() {
			fmt.Fprintf(&b, ", %s: %s", t.member, t.at.UTC().Format(time.RFC3339))
		}
	}
	b.WriteString("}\n")
	return b.String()
}
