package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Assertion is a claim about a report, in the form of --assert: `ratio(calls,c=64) >= 1.6`, `p99(calls,http) < 5ms`.
//
//	metric "(" [part {"," part}] ")" ("<"|"<="|">"|">=") number [unit]
//
// A part is the kind of the report, words of a target's name, c=CLIENTS, or to=TARGET. The claim must hold for all rows
// that match. Without a target, these are all rows of the gateway; without c=, all numbers of clients. With to=, the
// metric is divided by the same metric of that target at the same number of clients, round by round if both have
// rounds, and the number has no unit.
type Assertion struct {
	text    string
	metric  string
	words   []string // kind and targets, in lower case
	clients int      // 0 = any
	to      string   // the target to divide by; "" = for a ratio, the reverse proxy if it was measured, otherwise the base
	op      string
	limit   float64 // in the unit of the metric's table column
}

// kinds are the kinds of reports.
var kinds = []string{"calls", "big", "list", "idle", "cells", "cold", "identity", "telemetry", "limits", "fanout", "faults", "growth", "cluster"}

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

// units holds, for each metric with a unit, the units that an assertion can use, with the factors that convert them to
// the unit of the metric's table column.
var units = map[string]map[string]float64{
	"p50":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"p99":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"cpu":      {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	"error":    {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"back":     {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"complete": {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
	"idle":     {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
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
