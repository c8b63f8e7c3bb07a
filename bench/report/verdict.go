package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/bench/stats"
)

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

// Fits returns an error if the assertion is about another kind of run, or about a number of clients that the run does
// not measure. Calling it first avoids a useless run.
func (a Assertion) Fits(kind string, concurrency []int) error {
	for _, word := range a.words {
		if word != kind && slices.Contains(kinds, word) {
			return fmt.Errorf("assertion %q is about bench %s, but this is bench %s", a.text, word, kind)
		}
	}
	if a.clients != 0 && len(concurrency) > 0 && !slices.Contains(concurrency, a.clients) {
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

// dividedBy returns the series divided by the target's series of the same metric at the same number of clients. It
// omits series for which the target has none.
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
				s.value = stats.Median(ratios)
			}
			s.metric.title = "× " + to + ", " + s.metric.title
			divided = append(divided, s)
		}
	}
	return divided
}

// divisor returns the title of the ratios to the named target that the report itself contains, or "" if it contains none.
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
