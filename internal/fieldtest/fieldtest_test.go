package fieldtest

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

type inner struct {
	A int
	B []string
}

type outer struct {
	Name  string
	In    inner
	To    *inner
	By    map[string]int
	At    time.Time
	Flags [2]bool
	Fn    func()
	own   int
}

// recorder records the failures that Noticed reports.
type recorder struct {
	testing.TB
	failures []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestNoticedChangesEveryField(t *testing.T) {
	base := outer{To: &inner{B: []string{"b"}}, By: map[string]int{"k": 1}, own: 1}
	want := outer{To: &inner{B: []string{"b"}}, By: map[string]int{"k": 1}, own: 1}
	seen := map[string]int{}
	Noticed(t, base, nil, func(path string, changed outer) bool {
		seen[path]++
		return !reflect.DeepEqual(changed, base)
	})
	if !reflect.DeepEqual(base, want) {
		t.Errorf("base was modified: %+v", base)
	}
	for _, path := range []string{"Name", "In.A", "In.B", "To.A", "To.B", "To.B[0]", "By", "By[k]", "At", "Flags[0]", "Flags[1]"} {
		if seen[path] != 1 {
			t.Errorf("%s was changed %d times, want once", path, seen[path])
		}
	}
	if len(seen) != 11 {
		t.Errorf("changed %v", seen)
	}
}

func TestNoticedFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		ignored map[string]string
		notices func(path string, changed inner) bool
		want    int
	}{
		{"a field is skipped", nil, func(_ string, changed inner) bool { return changed.A != 0 }, 1},
		{"on purpose", map[string]string{"B": "irrelevant"}, func(_ string, changed inner) bool { return changed.A != 0 }, 0},
		{"the reason is outdated", map[string]string{"B": "irrelevant"}, func(string, inner) bool { return true }, 1},
		{"no such field", map[string]string{"C": "gone"}, func(string, inner) bool { return true }, 1},
	} {
		r := &recorder{TB: t}
		if Noticed(r, inner{}, c.ignored, c.notices); len(r.failures) != c.want {
			t.Errorf("%s: failures %q, want %d", c.name, r.failures, c.want)
		}
	}
}
