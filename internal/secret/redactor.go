package secret

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

const (
	// Shortest is how many bytes a value has at least that is cut out of texts: shorter ones stand in texts by chance.
	Shortest = 8

	maxAdded  = 256      // values of Add; the oldest go: each new one has all of them learned again
	maxLength = 64 << 10 // bytes of a value; longer ones are looked for line by line

	more = "…" // stands where a text was cut off
)

// Redactor cuts values that are known to be secret out of what people are shown: as they are, and as base64, in URLs and in
// JSON they would be written. Safe from any goroutine; a nil Redactor cuts nothing. The zero value is ready.
//
//	var known secret.Redactor
//	known.Replace("configuration", cfg.Secrets...)
//	known.Cut("refused: bad token hunter2hunter2") // refused: bad token [redacted]
type Redactor struct {
	mu     sync.RWMutex
	find   *matcher            // nil = nothing is known
	values map[string]int      // all that is known, and how often it was told
	groups map[string][]string // what is secret by whom it was told
	added  []string            // by Add, oldest first
}

// Replace makes values all that is secret of what that group has said; what it said before is forgotten,
// with no values the group too.
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

// Add makes values secret besides, such as a token that was just issued. Of very many the oldest are forgotten.
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

// know has a value found. The caller has the lock.
func (r *Redactor) know(value string) {
	if r.find == nil {
		r.find, r.values = newMatcher(), map[string]int{}
	}
	if r.values[value]++; r.values[value] == 1 {
		r.find.add(value)
	}
}

// forget undoes know.
func (r *Redactor) forget(value string) {
	if r.values[value]--; r.values[value] <= 0 {
		delete(r.values, value)
		r.find.remove(value)
	}
}

// Cut is s without what is known to be secret, and without the beginning of a secret before each "…": so who shortens what others
// say marks that he did. A text that holds nothing of it is returned as it is.
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

// CutShort is Cut of a text that may have been cut off at its end, as what others say is: what stands there goes, too, if a secret begins so.
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

// Hush is err, which says less where it would tell a secret, or the beginning of one at its end.
func (r *Redactor) Hush(err error) error {
	if err == nil {
		return nil
	}
	if text := r.CutShort(err.Error()); text != err.Error() {
		return hushed{err, text}
	}
	return err
}

// hushed is an error that says less.
type hushed struct {
	error
	text string
}

func (h hushed) Error() string { return h.text }
func (h hushed) Unwrap() error { return h.error }

// Writer cuts what is known to be secret out of each piece that is written; a value that lies across two pieces stays, so
// it is for those who write lines.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &cutter{r, w} }

// holds reports whether there may be something to cut out of p.
func (r *Redactor) holds(p []byte) bool {
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

// Write reports all of p as written, whatever became of it.
func (c *cutter) Write(p []byte) (int, error) {
	if !c.known.holds(p) {
		return c.w.Write(p)
	}
	if _, err := io.WriteString(c.w, c.known.Cut(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
