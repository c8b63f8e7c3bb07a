package auth

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	maxFileBytes = 8 << 20 // size of a key file: about 40 000 keys
	maxNameBytes = 64      // length of the name of a key, role or project
	maxListed    = 64      // roles or projects per key
	maxErrors    = 20      // errors reported per file
)

// fileHead is the header of a new key file.
const fileHead = `# API keys of a goblin-actor gateway, one per line. Only a hash of each key is stored.
# "goblin-actor key new" and "key revoke" change this file; you may also delete a line by hand. The format is a strict subset of YAML.
`

// ErrShared is wrapped by the error of Load if other users may read or write the file. A file of root that its group may read is
// accepted from programs that do not run as root: Kubernetes mounts a Secret so.
var ErrShared = errors.New("other users may read the file")

var errNotRegular = errors.New("not a regular file")

// Key is one line of a key file.
type Key struct {
	Name     string    // unique
	Sum      Sum       // unique
	Roles    []string  // names of policy roles
	Projects []string  // nil = all projects
	Created  time.Time // zero = unknown
	Expires  time.Time // zero = never
}

// Expired reports whether the key has expired at the time now.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// FileError describes why a key file cannot be used.
type FileError struct {
	Path string
	Err  error  // the cause; for faulty content, one line per error
	Hint string // what to do; "" = no suggestion
}

// Error returns the path and the cause.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause, such as fs.ErrNotExist or ErrShared.
func (e *FileError) Unwrap() error { return e.Err }

// Load reads a key file. It refuses a file that other users may read or write (ErrShared). Errors are *FileError.
func Load(path string) ([]Key, error) {
	data, err := readFile(path)
	if err == nil {
		var keys []Key
		if keys, err = Parse(data); err == nil {
			return keys, nil
		}
		return nil, &FileError{path, err, "write each key as: name: {sha256: 64 hexadecimal digits, roles: [reader], expires: 2030-01-31T00:00:00Z}"}
	}
	e := &FileError{Path: path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Hint = fs.ErrNotExist, "run goblin-actor key new NAME to create it"
	case errors.Is(err, ErrShared):
		e.Hint = "run chmod 600 " + path
	}
	return nil, e
}

func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would block until it has a writer
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
	case shared(info):
		return nil, fmt.Errorf("%w (mode %04o)", ErrShared, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFileBytes>>20)
	}
	return data, reason(err)
}

// reason strips the path from an error of the file system.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Parse parses the content of a key file. Its error has one line per problem, which starts with the line number.
func Parse(data []byte) ([]Key, error) {
	var faults []string
	complain := func(line int, what string) {
		if len(faults) < maxErrors {
			faults = append(faults, fmt.Sprintf("line %d: %s", line, what))
		} else if len(faults) == maxErrors {
			faults = append(faults, "more errors follow")
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
			complain(number, fmt.Sprintf("key %s is already defined in line %d", k.Name, before))
		} else if before := sums[k.Sum]; before != 0 {
			complain(number, fmt.Sprintf("same key as in line %d", before))
		}
		names[k.Name], sums[k.Sum] = number, number
		keys = append(keys, k)
	}
	if faults != nil {
		return nil, errors.New(strings.Join(faults, "\n"))
	}
	return keys, nil
}

// parse parses one line. The fault never quotes values, which might contain a key by mistake.
func (k *Key) parse(line string) (fault string) {
	name, rest, ok := strings.Cut(line, ":")
	body, closed := strings.CutSuffix(strings.TrimLeft(rest, " "), "}")
	body, opened := strings.CutPrefix(body, "{")
	switch {
	case !ok || !closed || !opened || rest == "" || rest[0] != ' ':
		return "expected name: {sha256: …}"
	case !IsName(name):
		return nameRule("a key name")
	}
	k.Name = name
	seen := make([]string, 0, 5)
	for body = strings.TrimSpace(body); body != ""; {
		var member, value string
		var list []string
		if member, value, list, body, fault = nextField(body); fault != "" {
			return fault
		}
		if slices.Contains(seen, member) {
			return member + " appears twice"
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

// nextField splits off the first field, such as `sha256: abc` or `roles: [a, b]`. list is nil for a single value.
func nextField(body string) (member, value string, list []string, rest, fault string) {
	member, rest, ok := strings.Cut(body, ": ")
	if !ok || !IsName(member) {
		return "", "", nil, "", "expected fields such as `sha256: …`, separated by a comma and a space"
	}
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "[") {
		inside, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return "", "", nil, "", member + ": the list is not closed with ]"
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
			return "", "", nil, "", member + ": expected a comma after the value"
		}
		if rest = strings.TrimSpace(rest[1:]); rest == "" {
			return "", "", nil, "", member + ": nothing follows the comma; remove it"
		}
	}
	return member, value, list, rest, ""
}

// set stores one field in the key.
func (k *Key) set(member, value string, list []string) (fault string) {
	switch member {
	case "sha256":
		if n, err := hex.Decode(k.Sum[:], []byte(value[:min(len(value), 2*len(k.Sum))])); err != nil || n != len(k.Sum) || len(value) != 2*len(k.Sum) {
			return fmt.Sprintf("sha256: expected %d hexadecimal digits", 2*len(k.Sum))
		}
		return ""
	case "roles":
		k.Roles = list
		return checkList(member, list)
	case "projects":
		k.Projects = list
		return checkList(member, list)
	case "created":
		k.Created, fault = parseTime(member, value)
	case "expires":
		k.Expires, fault = parseTime(member, value)
	default:
		return "unknown field; the fields are sha256, roles, projects, created and expires"
	}
	return fault
}

func checkList(member string, list []string) string {
	switch {
	case len(list) == 0:
		return member + ": expected a list that is not empty, such as [reader]; to omit the list, remove " + member
	case len(list) > maxListed:
		return fmt.Sprintf("%s: %d entries exceed the limit of %d", member, len(list), maxListed)
	case slices.ContainsFunc(list, func(name string) bool { return !IsName(name) }):
		return member + ": " + nameRule("each entry")
	}
	return ""
}

func parseTime(member, value string) (t time.Time, fault string) {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil || t.IsZero() {
		return t, member + ": expected a time such as 2030-01-31T00:00:00Z"
	}
	return t, ""
}

// IsName reports whether name is a valid name of a key, role or project: at most 64 ASCII letters and digits, and after
// the first character also ".", "_" and "-".
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

// nameRule returns the rule of IsName as an error text.
func nameRule(what string) string {
	return fmt.Sprintf(`%s must consist of at most %d ASCII letters and digits and, after the first character, also ".", "_" and "-"`, what, maxNameBytes)
}

// line returns the key's line in a key file.
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
