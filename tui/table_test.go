package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

var abKind = &Kind{Name: "ab", Columns: []Column{{Name: "A", Sort: 'A'}, {Name: "B", Sort: 'B', Right: true}}}

func rowsOf(ids ...string) []Row {
	rows := make([]Row, len(ids))
	for i, id := range ids {
		name, _, bad := strings.Cut(id, "!")
		rows[i] = Row{ID: name, Cells: []Cell{text(name), count(len(name))}}
		if bad {
			rows[i].Health = Bad
		}
	}
	return rows
}

func (t *table) ids() string {
	var ids []string
	for _, i := range t.shown {
		ids = append(ids, t.rows[i].ID)
	}
	return strings.Join(ids, " ")
}

func TestTable(t *testing.T) {
	first := rowsOf("pear", "fig!", "apple", "kiwi")
	cases := []struct {
		name     string
		do       func(*table)
		shown    string
		selected string
	}{
		{"original order", func(*table) {}, "pear fig apple kiwi", "pear"},
		{"move past the end", func(t *table) { t.move(99) }, "pear fig apple kiwi", "kiwi"},
		{"sort by text", func(t *table) { t.sort(0) }, "apple fig kiwi pear", "pear"},
		{"reversed", func(t *table) { t.sort(0); t.sort(0) }, "pear kiwi fig apple", "pear"},
		{"restored", func(t *table) { t.sort(0); t.sort(0); t.sort(0) }, "pear fig apple kiwi", "pear"},
		{"numbers in descending order", func(t *table) { t.sort(1) }, "apple pear kiwi fig", "pear"},
		{"filter", func(t *table) { t.query = "I"; t.apply() }, "fig kiwi", "fig"},
		{"inverse filter", func(t *table) { t.query, t.invert = "i", true; t.apply() }, "pear apple", "pear"},
		{"column filter", func(t *table) { t.query = "b:4"; t.apply() }, "pear kiwi", "pear"},
		{"column filter without a match", func(t *table) { t.query = "A:4"; t.apply() }, "", ""},
		{"column is not empty", func(t *table) { t.query = "a:"; t.apply() }, "pear fig apple kiwi", "pear"},
		{"inverse column filter", func(t *table) { t.query, t.invert = "b:4", true; t.apply() }, "fig apple", "fig"},
		{"unknown column", func(t *table) { t.query = "x:i"; t.apply() }, "", ""},
		{"faults", func(t *table) { t.onlyFaults = true; t.apply() }, "fig", "fig"},
		{"no match", func(t *table) { t.query = "zz"; t.apply() }, "", ""},
		{"selection follows its row", func(t *table) { t.move(2); t.update(rowsOf("apple", "pear", "fig"), noon) }, "apple pear fig", "apple"},
		{"selected row removed", func(t *table) { t.move(1); t.update(rowsOf("pear", "apple", "kiwi"), noon) }, "pear apple kiwi", "apple"},
		{"all rows removed", func(t *table) { t.move(3); t.update(nil, noon) }, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tab := newTable(abKind)
			tab.update(first, noon)
			c.do(tab)
			if tab.ids() != c.shown || tab.selected != c.selected {
				t.Errorf("shows %q, selected %q; want %q, %q", tab.ids(), tab.selected, c.shown, c.selected)
			}
		})
	}
}

// A changed number has an arrow for three seconds. A new row has none.
func TestArrows(t *testing.T) {
	tab := newTable(abKind)
	row := func(id string, n int) Row { return Row{ID: id, Cells: []Cell{text(id), count(n)}} }
	tab.update([]Row{row("x", 1), row("y", 5)}, noon)
	tab.update([]Row{row("x", 2), row("y", 4), row("z", 9)}, noon.Add(time.Second))
	at := func(id string, after time.Duration) string { return tab.arrow(id, 1, noon.Add(time.Second+after)) }
	if got := at("x", 0) + at("y", 0) + at("z", 0); got != "↑↓" {
		t.Errorf("arrows %q, want ↑↓ and none for the new row", got)
	}
	if got := at("x", trendTime-1) + at("x", trendTime); got != "↑" {
		t.Errorf("just before and at three seconds: %q, want one arrow", got)
	}
}

// The log view keeps the newest row selected until the user moves the selection.
func TestLogSelectsNewestRow(t *testing.T) {
	tab := newTable(&Kind{Name: "log", Columns: abKind.Columns, Tail: true})
	tab.update(rowsOf("a", "b"), noon)
	tab.update(rowsOf("a", "b", "c"), noon)
	if tab.selected != "c" {
		t.Errorf("selected %q, want the newest", tab.selected)
	}
	tab.move(-1)
	tab.update(rowsOf("a", "b", "c", "d"), noon)
	if tab.selected != "b" {
		t.Errorf("selected %q, want b", tab.selected)
	}
}

func TestWrapAndMiddle(t *testing.T) {
	for _, c := range []struct {
		text string
		w    int
		want []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢字", 1, []string{"漢", "字"}},
		{"", 5, []string{""}},
	} {
		if got := wrap(c.text, c.w); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.text, c.w, got, c.want)
		}
	}
	if got := middle("resource://files/file:///home/ada/milk.md", 20); got != "resour…e/ada/milk.md" || width(got) != 20 {
		t.Errorf("middle = %q", got)
	}
}

func TestWaitsFor(t *testing.T) {
	var got []string
	for _, r := range callsKind.Rows(samplePicture()) {
		for _, f := range r.Detail() {
			if f.Name == "why" {
				got = append(got, f.Text)
			}
		}
	}
	want := []string{"its user has not answered a form of 3 fields", "waits for the server", "waits for a free slot at github", "waits for the server"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseMetrics(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`goblin_in_flight{server="files"} 3`, `goblin_in_flight{server="files"} 3`},
		{`go_goroutines 88`, `go_goroutines{} 88`},
		{`x{kind="a",server="b c"} 1e+06`, `x{kind="a",server="b c"} 1e+06`},
		{"# TYPE x counter\n# HELP x y", ""},
		{`nonsense`, ""},
		{`x{ NaNa`, ""},
		{"# TYPE x histogram\nx_bucket{le=\"1\"} 3 # {trace_id=\"a\"} 0.5\nx_bucket{le=\"+Inf\"} 4\nx_sum 5\nx_count 4", `x{} 4 [{1 3} {+Inf 4}]`},
		{"x_count 4", `x_count{} 4`},
		{"# TYPE x histogram\nx_bucket{a=\"b\",le=\"1\",c=\"d\"} 0\nx_count{a=\"b\",c=\"d\"} 0", `x{a="b",c="d"} 0 [{1 0}]`},
	} {
		var got []string
		for _, m := range parseMetrics(c.page) {
			one := fmt.Sprintf("%s %g", m.id(), m.value)
			if m.buckets != nil {
				one += fmt.Sprint(" ", m.buckets)
			}
			got = append(got, one)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("parseMetrics(%q) = %q, want %q", c.page, got, c.want)
		}
	}
}

// A counter has its growth per second, a gauge has none, and a histogram has quantiles.
func TestMetricRates(t *testing.T) {
	page := func(calls int) string {
		return fmt.Sprintf("# TYPE c counter\nc %d\n# TYPE g gauge\ng %d\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"0.01\"} 50\nh_seconds_bucket{le=\"0.1\"} 100\nh_seconds_bucket{le=\"+Inf\"} 100\nh_seconds_count 100\n", calls, calls)
	}
	var all []sample
	for i := range 10 {
		all = sampled(all, page(i*50), noon.Add(time.Duration(i)*samplePause))
		all = sampled(all, page(i*50), noon.Add(time.Duration(i)*samplePause+time.Second))
	}
	if len(all) != 10 {
		t.Errorf("%d samples, want one every five seconds", len(all))
	}
	p := noPicture()
	p.Metrics, p.samples, p.Now = page(450), all, noon.Add(9*samplePause)
	var got []string
	for _, r := range metricsKind.Rows(p) {
		got = append(got, fmt.Sprint(r.Cells[0].Text, " ", r.Cells[2].Text, " ", r.Cells[3].Text, " ", r.Cells[4].Text))
	}
	want := []string{"c 10 ▇▇▇▇▇▇▇▇▇ ", "g – ▁▂▂▃▄▄▅▆▆▇ ", "h_seconds 0 ▁▁▁▁▁▁▁▁▁ p50 10ms p95 91ms p99 98ms"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if all = sampled(all, page(9), noon.Add(time.Hour)); len(all) != 1 {
		t.Errorf("%d samples after an hour without the view", len(all))
	}
}

// With ten thousand tools, a refresh and a keystroke in the filter are fast.
func TestManyRows(t *testing.T) {
	p := samplePicture()
	items := &status.Items{Version: 5}
	for range 10_000 {
		items.Tools = append(items.Tools, status.Item{Server: "s", Public: "s_tool_" + strings.Repeat("x", len(items.Tools)%20), Description: "does a thing, and another thing"})
	}
	p.Items = items
	s := newTestConsole(t, 120, 40, Options{View: "tools"})
	began := time.Now()
	s.app.take(p)
	s.press("/anoth")
	s.draw()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v, want at most 2s", took)
	} else {
		t.Logf("10 000 rows, 6 keys: %v", took)
	}
	gatetest.Within(t, 100*time.Millisecond, "refresh without a change", func() time.Duration {
		q := *p
		began := time.Now()
		s.app.take(&q) // the same catalog: no rows are computed
		return time.Since(began)
	})
}

// Conditions on columns compare whole words, numbers, durations and sizes.
func TestConditions(t *testing.T) {
	p := samplePicture()
	for _, c := range []struct {
		query string
		want  int
	}{
		{"outcome:ok", 7}, {"outcome:!ok", 8}, {"outcome:o", 0}, {"total>1s", 4}, {"total<1ms", 2}, {"total>100ms outcome:cancelled", 1},
		{"in>1k", 2}, {"out>1m", 0}, {"left>1", 3}, {"total>1m", 0}, {"server:github outcome:ok", 6}, {"server:", 14}, {"server:!", 1}, {"total>x", 0}, {"nothing:x", 0},
	} {
		tab := newTable(callsKind)
		tab.update(callsKind.Rows(p), noon)
		tab.query = c.query
		tab.apply()
		if len(tab.shown) != c.want {
			t.Errorf("%s: %d rows, want %d: %s", c.query, len(tab.shown), c.want, tab.ids())
		}
	}
}

// The column decides whether m is a minute or a mebibyte.
func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		text            string
		duration, bytes float64 // -1 = invalid
	}{
		{"3", 3, 3}, {"1.5", 1.5, 1.5}, {"100ms", .1, -1}, {"2m", 120, 2 << 20}, {"64k", -1, 64 << 10}, {"1M", -1, 1 << 20}, {"2 KiB", -1, 2 << 10}, {"1gb", -1, 1 << 30},
		{"5s", 5, -1}, {"x", -1, -1}, {"k", -1, -1}, {"", -1, -1},
	} {
		for bytes, want := range map[bool]float64{false: c.duration, true: c.bytes} {
			got, ok := amount(c.text, bytes)
			if !ok {
				got = -1
			}
			if got != want {
				t.Errorf("amount(%q, %v) = %v, want %v", c.text, bytes, got, want)
			}
		}
	}
}

// A sparkline has bars in proportion to its highest value. Merged intervals have no repetitions, and no more than the limit.
func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, 0, 0}, "▁▁▁"},
		{[]float64{1, 2, 4}, "▃▄▇"},
		{[]float64{0, .001, 1000}, "▁▂▇"},
	} {
		if got := sparkline(c.values); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
	of := func(starts ...int64) (all []status.Interval) {
		for _, s := range starts {
			all = append(all, status.Interval{Start: s})
		}
		return all
	}
	got := merged(of(1, 2, 3), of(2, 3, 5), 3)
	if len(got) != 3 || got[0].Start != 2 || got[2].Start != 5 {
		t.Errorf("merged: %v", got)
	}
	if got := merged(of(1, 2), of(1, 2), 9); len(got) != 2 {
		t.Errorf("merged without news: %v", got)
	}
}

// A view that is not visible keeps no rows. When the user returns, the selection is where it was, and a log follows its end only if it
// did before.
func TestHiddenViewsKeepNoRows(t *testing.T) {
	s := newTestConsole(t, 120, 20, Options{})
	s.press("2<down><down>")
	tools := s.app.view()
	was := s.selected()
	s.press("5<up>")
	logs := s.app.view()
	line := s.selected()
	s.press("0")
	for _, v := range []*view{tools, logs} {
		if n := len(v.table.rows) + len(v.table.shown); n > 0 || v.last != nil {
			t.Errorf("%s keeps %d rows", v.kind.Name, n)
		}
	}
	s.press("[")
	if got := s.selected(); got != line || s.app.view() != logs || s.app.view().table.following() {
		t.Errorf("in logs, %q is selected, want %q", got, line)
	}
	s.press("[")
	if got := s.selected(); got != was || got == "" {
		t.Errorf("in tools, %q is selected, want %q", got, was)
	}
	s.press("5<end>0[")
	if !s.app.view().table.following() {
		t.Error("the log does not follow its end any more")
	}
}
