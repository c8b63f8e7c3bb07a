package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Assertion is a claim about a report, written as in `--assert`: `ratio(calls,c=64) >= 1.6`, `p99(calls,http) < 5ms`.
//
//	metric "(" [part {"," part}] ")" ("<"|"<="|">"|">=") number [unit]
//
// A part is the kind of the report, words of a target's name, c=CLIENTS, or to=TARGET. The claim must hold for all rows that match.
// Without a target, these are all rows of the gateway; without c=, all numbers of clients. With to=, the metric is divided by that
// target's at the same number of clients, round by round if both have rounds, and the number has no unit.
type Assertion struct {
	text    string
	metric  string
	words   []string // kind and targets, in lower case
	clients int      // 0 = any
	to      string   // the target to divide by; "" = none; for ratio: the reverse proxy if it was measured, else the base
	op      string
	limit   float64 // in the unit of the metric's table column
}

// Verdict is the result of checking an assertion.
type Verdict struct {
	Assertion string `json:"assertion"`
	Holds     bool   `json:"holds"`
	Measured  string `json:"measured"` // the decisive value and its series, or why there is none
}

func (v Verdict) String() string {
	word := "FAIL"
	if v.Holds {
		word = "PASS"
	}
	return fmt.Sprintf("%s  %s: %s", word, v.Assertion, v.Measured)
}

// metricNames returns the metrics that an assertion can use.
func metricNames() []string {
	var names []string
	for _, m := range metrics {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// units holds, for each metric with a unit, the factors to the unit it is measured in.
var units = map[string]map[string]float64{
	"p50":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"p99":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"cpu":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"error":    {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"back":     {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"complete": {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"rss":      {"KiB": 1. / 1024, "MiB": 1, "GiB": 1024},
	"session":  {"B": 1. / 1024, "KiB": 1, "MiB": 1024},
}

// ParseAssertion parses an assertion. Its errors say what was expected where.
func ParseAssertion(text string) (Assertion, error) {
	a := Assertion{text: strings.TrimSpace(text)}
	fail := func(format string, args ...any) (Assertion, error) {
		return Assertion{}, fmt.Errorf("assertion %q: %s", cut(a.text, 100), fmt.Sprintf(format, args...))
	}
	if len(text) > 1000 {
		return fail("longer than 1000 bytes; shorten it")
	}
	name, rest, found := strings.Cut(a.text, "(")
	if !found {
		return fail("expected a metric with parentheses, such as ratio(calls,c=64) >= 1.6")
	}
	if a.metric = strings.TrimSpace(name); !slices.Contains(metricNames(), a.metric) {
		return fail("unknown metric %q; expected one of %s", a.metric, strings.Join(metricNames(), ", "))
	}
	parts, rest, found := strings.Cut(rest, ")")
	if !found {
		return fail("missing closing parenthesis")
	}
	if err := a.parts(parts); err != nil {
		return fail("%v", err)
	}
	if err := a.bound(strings.TrimSpace(rest)); err != nil {
		return fail("%v", err)
	}
	return a, nil
}

func (a *Assertion) parts(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		key, value, found := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case part == "":
			return errors.New("empty part between commas")
		case !found:
			a.words = append(a.words, strings.ToLower(part))
		case key == "c":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || a.clients != 0 {
				return fmt.Errorf("c=%s: expected one number of clients, 1 or more", value)
			}
			a.clients = n
		case key == "to" && a.to == "" && value != "":
			a.to = strings.ToLower(value)
		case key == "to":
			return errors.New("to=: expected one target")
		default:
			return fmt.Errorf("%s=: expected c=CLIENTS or to=TARGET", key)
		}
	}
	return nil
}

func (a *Assertion) bound(text string) error {
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if rest, found := strings.CutPrefix(text, op); found {
			a.op = op
			return a.number(strings.TrimSpace(rest))
		}
	}
	return fmt.Errorf("after the parentheses: got %q, expected <, <=, > or >= and a number", text)
}

func (a *Assertion) number(text string) error {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789.", r) })
	if end < 0 {
		end = len(text)
	}
	v, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || math.IsInf(v, 0) {
		return fmt.Errorf("after %s: got %q, expected a number", a.op, text)
	}
	if unit := strings.TrimSpace(text[end:]); unit != "" {
		if a.to != "" {
			return fmt.Errorf("unit: got %q, expected none: with to= the value is a ratio", unit)
		}
		factor, known := units[a.metric][unit]
		if !known {
			return fmt.Errorf("unit: got %q, expected %s", unit, unitNames(a.metric))
		}
		v *= factor
	}
	a.limit = v
	return nil
}

func unitNames(metric string) string {
	var names []string
	for name := range units[metric] {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "none: " + metric + " is a plain number"
	}
	slices.Sort(names)
	return "none or one of " + strings.Join(names, ", ")
}

// String returns the assertion as it was written.
func (a Assertion) String() string { return a.text }

// Fits returns an error if no report of a run with o can decide a, so that the error comes before the run.
func (a Assertion) Fits(o Options) error {
	for _, word := range a.words {
		if word != o.Kind && (slices.Contains(Kinds, word) || slices.Contains([]string{"limits", "fanout", "faults", "growth"}, word)) {
			return fmt.Errorf("assertion %q is about bench %s, but this is bench %s", a.text, word, o.Kind)
		}
	}
	if a.clients != 0 && len(o.Concurrency) > 0 && !slices.Contains(o.Concurrency, a.clients) {
		return fmt.Errorf("assertion %q is about %d clients, which --concurrency does not include", a.text, a.clients)
	}
	return nil
}

// Check checks each assertion and records the verdicts in the report.
func (r *Report) Check(assertions []Assertion) []Verdict {
	r.Claims = nil
	for _, a := range assertions {
		r.Claims = append(r.Claims, r.check(a))
	}
	return r.Claims
}

func (r *Report) check(a Assertion) Verdict {
	v := Verdict{Assertion: a.text}
	found := r.matching(a)
	if len(found) == 0 {
		v.Measured = "not measured; the report has " + r.offers()
		return v
	}
	v.Holds = true
	var worst *series
	for i := range found {
		s := &found[i]
		if !a.holds(s.value) {
			v.Holds = false
		}
		if worst == nil || (s.value < worst.value) == strings.HasPrefix(a.op, ">") {
			worst = s
		}
	}
	v.Measured = fmt.Sprintf("%s %s (%s)", figure(worst.value), worst.metric.title, worst.name())
	return v
}

func (a Assertion) holds(v float64) bool {
	switch a.op {
	case "<":
		return v < a.limit
	case "<=":
		return v <= a.limit
	case ">":
		return v > a.limit
	}
	return v >= a.limit
}

// matching returns the series that an assertion is about.
func (r *Report) matching(a Assertion) []series {
	var targets []string
	for _, word := range a.words {
		if word != strings.ToLower(r.Kind) {
			targets = append(targets, word)
		}
	}
	name := a.metric
	if name == "ratio" && r.divisor(a.to) == "" {
		name = "rate"
	}
	all := slices.DeleteFunc(r.series(), func(s series) bool {
		return s.metric.name != name || a.clients != 0 && s.clients != a.clients || len(targets) == 0 && !s.own
	})
	for _, word := range targets {
		exact := slices.ContainsFunc(all, func(s series) bool { return strings.ToLower(s.target) == word })
		all = slices.DeleteFunc(all, func(s series) bool {
			name := strings.ToLower(s.target)
			return exact && name != word || !exact && !hasWords(name, word)
		})
	}
	switch {
	case name == "ratio":
		title := r.divisor(a.to)
		all = slices.DeleteFunc(all, func(s series) bool { return s.metric.title != title })
	case a.to != "":
		all = r.dividedBy(a.to, all)
	case a.metric == "ratio":
		return nil
	}
	return all
}

// dividedBy returns the series divided by the target's series of the same metric at the same number of clients. It omits series without one.
func (r *Report) dividedBy(to string, all []series) []series {
	var divided []series
	for _, s := range all {
		for _, base := range r.series() {
			if base.metric != s.metric || base.clients != s.clients || strings.ToLower(base.target) != to || base.value == 0 {
				continue
			}
			s.value /= base.value
			if len(s.values) == len(base.values) {
				var ratios []float64
				for i, v := range s.values {
					ratios = append(ratios, v/base.values[i])
				}
				s.value = median(ratios)
			}
			s.metric.title = "× " + to + ", " + s.metric.title
			divided = append(divided, s)
		}
	}
	return divided
}

// divisor returns the title of the report's own ratios to the named target, or "" if it has none.
func (r *Report) divisor(to string) string {
	var titles []string
	switch to {
	case "":
		titles = []string{"× proxy", "× base", "× time"}
	case "proxy", ReverseProxy:
		titles = []string{"× proxy"}
	case "base", cmp.Or(r.Base, Direct):
		titles = []string{"× base", "× time"}
	}
	for _, title := range titles {
		if slices.ContainsFunc(r.series(), func(s series) bool { return s.metric.title == title && s.own }) {
			return title
		}
	}
	return ""
}

// hasWords reports whether words occurs in name at word boundaries.
func hasWords(name, words string) bool {
	letter := func(b byte) bool {
		return b >= 0x80 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z'
	}
	for at := 0; ; at++ {
		i := strings.Index(name[at:], words)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(words)
		if (at == 0 || !letter(name[at-1])) && (end == len(name) || !letter(name[end])) {
			return true
		}
	}
}

// offers lists the measured metrics, targets and numbers of clients.
func (r *Report) offers() string {
	var targets, clients, names []string
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, s := range r.series() {
		add(&targets, strconv.Quote(s.target))
		add(&names, s.metric.name)
		if s.clients > 0 {
			add(&clients, strconv.Itoa(s.clients))
		}
	}
	if len(targets) == 0 {
		return "nothing"
	}
	if len(targets) > 8 {
		targets = append(targets[:8], fmt.Sprintf("%d more", len(targets)-8))
	}
	text := strings.Join(names, ", ") + " of " + strings.Join(targets, ", ")
	if len(clients) > 0 {
		text += ", c = " + strings.Join(clients, ", ")
	}
	return text
}
