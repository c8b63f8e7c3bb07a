package secret

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

const (
	// Shortest is the minimum length of a value to hide. Shorter ones occur in texts by chance.
	Shortest = 8

	maxAdded  = 256      // maximum number of values of Add; the oldest are removed
	maxLength = 64 << 10 // maximum length of a value in bytes; lines of longer ones are searched separately

	more = "…" // marks truncated text
)

// Redactor hides known secret values in displayed text: as they are, and as encoded in base64, URLs and JSON. It is
// safe for concurrent use. The zero value is ready to use. A nil Redactor hides nothing.
//
//	var known secret.Redactor
//	known.Replace("configuration", cfg.Secrets...)
//	known.Cut("refused: bad token hunter2hunter2") // refused: bad token [redacted]
type Redactor struct {
	mu     sync.RWMutex
	find   *matcher            // nil if no value is known
	values map[string]int      // known values and how often they were added
	groups map[string][]string // values of Replace, by group
	added  []string            // values of Add, oldest first
}

// Replace replaces the secret values of a group. Without values, it removes the group.
func (r *Redactor) Replace(group string, values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.groups == nil {
		r.groups = map[string][]string{}
	}
	before := r.groups[group]
	if len(values) == 0 {
		delete(r.groups, group)
	} else {
		r.groups[group] = slices.Clone(values)
	}
	for _, value := range values {
		r.know(value)
	}
	for _, value := range before {
		r.forget(value)
	}
}

// Add adds secret values, such as a new token. Beyond maxAdded values, the oldest are removed.
func (r *Redactor) Add(values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range values {
		if len(value) >= Shortest && !slices.Contains(r.added, value) {
			r.added = append(r.added, value)
			r.know(value)
		}
	}
	if over := len(r.added) - maxAdded; over > 0 {
		for _, value := range r.added[:over] {
			r.forget(value)
		}
		r.added = slices.Clone(r.added[over:])
	}
}

// know adds a value. The caller must hold mu.
func (r *Redactor) know(value string) {
	if r.find == nil {
		r.find, r.values = newMatcher(), map[string]int{}
	}
	if r.values[value]++; r.values[value] == 1 {
		r.find.add(value)
	}
}

// forget reverses know.
func (r *Redactor) forget(value string) {
	if r.values[value]--; r.values[value] <= 0 {
		delete(r.values, value)
		r.find.remove(value)
	}
}

// Cut returns s with known secrets hidden, and with prefixes of secrets before each "…" hidden. So code that truncates
// text must mark it with "…".
func (r *Redactor) Cut(s string) string {
	if r == nil || len(s) < Shortest {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.find == nil {
		return s
	}
	return r.find.cutMarked(r.find.cut(s))
}

// CutShort is like Cut for text that may be truncated at its end: it also hides a prefix of a secret there.
func (r *Redactor) CutShort(s string) string {
	s = r.Cut(s)
	if r == nil {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.find == nil {
		return s
	}
	end := len(strings.TrimRight(s, "\"'"+more))
	if begin := r.find.beginning(s[:end]); begin >= 0 {
		return s[:begin] + Hidden + s[end:]
	}
	return s
}

// Hush returns err with known secrets hidden in its message, as by CutShort.
func (r *Redactor) Hush(err error) error {
	if err == nil {
		return nil
	}
	if text := r.CutShort(err.Error()); text != err.Error() {
		return hushed{err, text}
	}
	return err
}

// hushed is an error with a redacted message.
type hushed struct {
	error
	text string
}

func (h hushed) Error() string { return h.text }
func (h hushed) Unwrap() error { return h.error }

// Writer returns a writer that hides known secrets in each Write. Callers must write whole lines, because a secret
// that spans two writes is not found.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &cutter{r, w} }

// holds reports whether p may contain something to hide.
func (r *Redactor) holds(p []byte) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.find == nil {
		return false
	}
	from, _ := findIn(r.find, p, 0)
	return from >= 0 || bytes.Contains(p, []byte(more))
}

type cutter struct {
	known *Redactor
	w     io.Writer
}

// Write reports len(p) bytes as written, even if the redacted text has a different length.
func (c *cutter) Write(p []byte) (int, error) {
	if !c.known.holds(p) {
		return c.w.Write(p)
	}
	if _, err := io.WriteString(c.w, c.known.Cut(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
