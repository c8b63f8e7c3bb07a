package secret

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Shortest is how many bytes a value has at least that is cut out of texts: shorter ones stand in texts by chance.
	Shortest = 8

	maxAdded  = 256      // values of Add; the oldest go: each new one has all of them learned again
	maxLength = 64 << 10 // bytes of a value; longer ones are looked for line by line
)

// Redactor cuts values that are known to be secret out of what people are shown: as they are, and as base64, in URLs and in
// JSON they would be written. Safe from any goroutine; a nil Redactor cuts nothing. The zero value is ready.
//
//	var known secret.Redactor
//	known.Replace("configuration", cfg.Secrets...)
//	known.Cut("refused: bad token hunter2hunter2") // refused: bad token [redacted]
type Redactor struct {
	now atomic.Pointer[matcher]

	mu     sync.Mutex
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
	if len(values) == 0 {
		delete(r.groups, group)
	} else {
		r.groups[group] = append([]string(nil), values...)
	}
	r.build()
}

// Add makes values secret besides, such as a token that was just issued. Of very many the oldest are forgotten.
func (r *Redactor) Add(values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := false
	for _, value := range values {
		if len(value) >= Shortest && !slices.Contains(r.added, value) {
			r.added, fresh = append(r.added, value), true
		}
	}
	if over := len(r.added) - maxAdded; over > 0 {
		r.added = append([]string(nil), r.added[over:]...)
	}
	if fresh {
		r.build()
	}
}

func (r *Redactor) build() {
	all := append([]string(nil), r.added...)
	for _, group := range r.groups {
		all = append(all, group...)
	}
	r.now.Store(newMatcher(all))
}

// Cut is s without what is known to be secret. A text that holds nothing of it is returned as it is.
func (r *Redactor) Cut(s string) string {
	if r == nil {
		return s
	}
	m := r.now.Load()
	if m == nil {
		return s
	}
	from, to := m.span(s, 0)
	if from < 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for from >= 0 {
		b.WriteString(s[last:from])
		b.WriteString(Hidden)
		last = to
		from, to = m.span(s, to)
	}
	return b.String() + s[last:]
}

// Hush is err, which says less where it would tell a secret.
func (r *Redactor) Hush(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Cut(err.Error()); text != err.Error() {
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

type cutter struct {
	known *Redactor
	w     io.Writer
}

// Write reports all of p as written, whatever became of it.
func (c *cutter) Write(p []byte) (int, error) {
	m := c.known.now.Load()
	if m == nil {
		return c.w.Write(p)
	}
	if from, _ := findIn(m, p, 0); from < 0 {
		return c.w.Write(p)
	}
	if _, err := io.WriteString(c.w, c.known.Cut(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
