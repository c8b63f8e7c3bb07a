package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/secret"
)

// spellings maps spellings of other programs to the allowed words.
var spellings = map[string]string{
	"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http", "warning": "warn",
}

// scalar returns the text of n with its references expanded. If ok is false, the problem has been reported.
func (d *decoder) scalar(n *node, want string, at place) (s string, ok bool) {
	switch {
	case n.kind == invalidKind:
		return "", false
	case n.text == "~" && n.empty(): // YAML's null, but meant as the home directory
	case n.empty():
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want %s", n.kind, want), "quote it if it is meant as text")
		return "", false
	case !n.scalar():
		hint := ""
		if n.kind == mapping {
			hint = "put text with a colon in double quotes"
		}
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want %s", n.kind, want), hint)
		return "", false
	}
	if d.foreign {
		n.text = ownVariables(n.text)
	}
	e := expand(n.text, d.sources())
	d.record(at.path, n, e.refs)
	d.noteSecrets(e.values, at)
	switch {
	case e.fault != "" && d.foreign:
		d.complain(at.path, e.fault, "only the program that wrote the file supports this reference; to see what can be imported, run goblin-actor config import")
		return "", false
	case e.fault != "":
		d.fault(n.line, n.column, at.path, e.fault, "write ${NAME}, ${NAME:-default}, ${file:PATH}, ${keyring:NAME} or ${command:PROGRAM ARGUMENTS}; $$ is a dollar sign")
		return "", false
	case len(e.failed) > 0 && d.may.outline && !d.server:
		return "", false
	case len(e.failed) > 0:
		d.complain(at.path, clip(strings.Join(e.failed, "; ")), "")
		return "", false
	case len(e.missing) > 0:
		name := e.missing[0]
		are := "variable " + name + " is not set"
		if len(e.missing) > 1 {
			are = "variables " + clip(strings.Join(e.missing, ", ")) + " are not set"
		}
		d.complain(at.path, are,
			fmt.Sprintf("set %s, or write ${%s:-default}", name, name))
		return "", false
	case strings.Contains(e.text, "\x00"):
		d.complain(at.path, "contains a NUL character", "")
		return "", false
	}
	return e.text, true
}

// invalid reports that the key does not accept the text of n.
func (d *decoder) invalid(n *node, want, hint string, at place) {
	if len(d.report.origins[at.path].refs) > 0 {
		d.complain(at.path, fmt.Sprintf("the value of %s is not %s", shown(n.text), want), hint)
		return
	}
	got := string(n.kind)
	if n.plain || n.kind != text || len(n.text) < 40 {
		got = strconv.Quote(shown(n.text))
		if n.plain && n.kind != text {
			got = shown(n.text)
		}
	}
	d.complain(at.path, fmt.Sprintf("got %s, want %s", got, want), hint)
}

// literal reports whether n may be a number or a boolean. A quoted value may be one only if it contains a reference.
func (d *decoder) literal(n *node, want string, at place) bool {
	if n.plain || len(d.report.origins[at.path].refs) > 0 {
		return true
	}
	d.complain(at.path, "got a string, want "+want, "remove the quotes")
	return false
}

// word reads a string, and checks it against the allowed words, if any.
func (d *decoder) word(to *string, f field, n *node, at place) {
	s, ok := d.scalar(n, "a string", at)
	if !ok {
		return
	}
	if f.oneof == nil {
		*to = s
		return
	}
	if n.kind == boolean {
		s = strings.ToLower(s)
	}
	if ours, other := spellings[s]; other {
		s = ours
	}
	if !slices.Contains(f.oneof, s) {
		want := strings.Join(f.oneof[:len(f.oneof)-1], ", ") + " or " + f.oneof[len(f.oneof)-1]
		hint := ""
		if near := Nearest(n.text, f.oneof); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		d.invalid(n, want, hint, at)
		return
	}
	*to = s
}

func (d *decoder) boolean(to *bool, n *node, at place) {
	s, ok := d.scalar(n, "true or false", at)
	if !ok || !d.literal(n, "true or false", at) {
		return
	}
	switch strings.ToLower(s) {
	case "true":
		*to = true
	case "false":
		*to = false
	case "yes", "on", "1":
		d.invalid(n, "true or false", "write true", at)
	case "no", "off", "0":
		d.invalid(n, "true or false", "write false", at)
	default:
		d.invalid(n, "true or false", "", at)
	}
}

func (d *decoder) integer(to *int, f field, n *node, at place) {
	s, ok := d.scalar(n, "a whole number", at)
	if !ok || !d.literal(n, "a whole number", at) {
		return
	}
	value, err := strconv.Atoi(s)
	if err != nil {
		d.invalid(n, "a whole number", "", at)
		return
	}
	least, _ := strconv.Atoi(f.min)
	most, _ := strconv.Atoi(f.max)
	if d.within(value >= least, value <= most, f, n, at) {
		*to = value
	}
}

func (d *decoder) size(to *int64, f field, n *node, at place) {
	const want = "a size such as 64MiB"
	s, ok := d.scalar(n, want, at)
	if !ok {
		return
	}
	value, err := parseBytes(s)
	if err != nil {
		d.invalid(n, want, "units are B, KiB, MiB, GiB, TiB and kB, MB, GB, TB", at)
		return
	}
	least, _ := parseBytes(f.min)
	most, _ := parseBytes(f.max)
	if d.within(value >= least, value <= most, f, n, at) {
		*to = value
	}
}

func (d *decoder) duration(to *time.Duration, f field, n *node, at place) {
	const want = "a duration such as 30s"
	s, ok := d.scalar(n, want, at)
	if !ok {
		return
	}
	value, err := time.ParseDuration(s)
	if err != nil {
		hint := "units are ms, s, m and h"
		if _, err := strconv.ParseFloat(s, 64); err == nil && len(d.report.origins[at.path].refs) == 0 {
			hint = fmt.Sprintf("a number needs its unit: %ss or %sms", s, s)
		}
		d.invalid(n, want, hint, at)
		return
	}
	least, _ := time.ParseDuration(f.min)
	most, _ := time.ParseDuration(f.max)
	if d.within(value >= least, value <= most, f, n, at) {
		*to = value
	}
}

// within reports whether a value is within its bounds, and records a problem if it is not.
func (d *decoder) within(least, most bool, f field, n *node, at place) bool {
	switch {
	case !least:
		d.invalid(n, "at least "+f.min, "", at)
	case !most:
		d.invalid(n, "at most "+f.max, "", at)
	}
	return least && most
}

// list reads a list of strings. A string that cannot be read is kept as written, because Show needs its position; the
// config is then invalid or the server misconfigured. If single is set, one string without brackets is allowed. If only
// is set, a list is not allowed.
func (d *decoder) list(to *[]string, single, only bool, n *node, at place) {
	switch {
	case n.scalar() && single:
		s, ok := d.scalar(n, "a string", at)
		if !ok {
			s = n.text
		}
		*to = []string{s}
		return
	case only:
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want a string", n.kind), "use urls for several addresses")
		return
	case n.kind != list:
		hint := ""
		if n.scalar() {
			hint = "put it in brackets: [a, b]"
			if words, err := splitWords(n.text); err == nil && strings.HasSuffix(at.schema, ".args") {
				hint = "write " + renderFlow(textList(secret.Arguments(words)), d.json)
			}
		}
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want a list", n.kind), hint)
		return
	}
	*to = make([]string, 0, len(n.items))
	for i, item := range n.items {
		s, ok := d.scalar(item, "a string", at.item(i))
		if !ok {
			s = item.text
		}
		*to = append(*to, s)
	}
}

// texts reads a mapping of strings. A key without a value has the empty string. In another program's file, null removes the key.
func (d *decoder) texts(to *map[string]string, n *node, at place) {
	if !d.wantMapping(n, at) {
		return
	}
	*to = make(map[string]string, len(n.members))
	for _, m := range n.members {
		here := at.entry(m.key)
		if m.value.kind == missing {
			(*to)[m.key] = ""
			d.record(here.path, m.value, nil)
			continue
		}
		if d.foreign && m.value.kind == null {
			continue // in desktop clients, null means that the variable or header is not set
		}
		s, ok := d.scalar(m.value, "a string", here)
		if !ok {
			s = m.value.text
		}
		(*to)[m.key] = s
	}
}

var byteUnits = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

var errSize = errors.New("not a size")

// parseBytes parses an integer with an optional unit. Without a unit it is in bytes.
func parseBytes(s string) (int64, error) {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.size {
			return 0, errSize
		}
		return n * unit.size, nil
	}
	return 0, errSize
}

// formatBytes formats n with the largest binary unit that keeps it an integer.
func formatBytes(n int64) string {
	for _, unit := range slices.Backward(byteUnits[:4]) {
		if n > 0 && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}
