package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"goblin-actor/internal/status"
)

// statusWidth is what status fits in, long words and names of servers aside: 80 columns, whoever reads it.
const statusWidth = 80

// printStatus prints a snapshot for people: what matters first, then the servers, why some are as they are, and what is to
// be done.
func printStatus(w io.Writer, s *status.Snapshot) error {
	p := paletteFor(w)
	var b strings.Builder
	paragraph(&b, fmt.Sprintf("goblin-actor %s on %s, up %s, ", oneLine(s.Version, 40), oneLine(strings.Join(s.Listen, ", "), 0),
		s.Now.Sub(s.Started).Round(time.Second)), readiness(s), readinessPaint(s, p))
	paragraph(&b, "", fmt.Sprintf("catalog version %d: %s, %s, %s, %s", s.Catalog.Version, count(s.Catalog.Tools, "tool"),
		count(s.Catalog.Prompts, "prompt"), count(s.Catalog.Resources, "resource"), count(s.Catalog.Templates, "template")), plainly)
	for _, p := range s.Projects {
		paragraph(&b, "project "+p.Name+": ", fmt.Sprintf("%s, %s, %s, %s of %s", count(p.Tools, "tool"), count(p.Prompts, "prompt"), count(p.Resources, "resource"),
			count(p.Templates, "template"), projectServers(p)), plainly)
	}
	paragraph(&b, "", count(len(s.Sessions), "session")+", "+inFlight(s), plainly)
	printAudit(&b, s.Audit, p)
	if f := s.ConfigFault; f != nil {
		paragraph(&b, "", "configuration: not in force since "+f.Since.Local().Format(time.TimeOnly)+", the one before it is", p.bad)
		for line := range strings.Lines(f.Reason) {
			paragraph(&b, "    ", oneLine(line, 0), plainly)
		}
	}
	if len(s.Servers) == 0 {
		b.WriteString("no servers\n")
	} else {
		b.WriteByte('\n')
		printServerTable(&b, s.Servers, p)
		for _, v := range s.Servers {
			if reason := serverReason(v, s.Now); reason != "" {
				paragraph(&b, oneLine(v.Name, 0)+": ", reason, plainly)
			}
			printMembers(&b, s, v, p)
		}
		for _, hint := range hints(s.Servers) {
			paragraph(&b, p.good("hint:")+" ", asStarted(hint), plainly)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// inFlight counts the calls in flight and says since when the oldest one runs.
func inFlight(s *status.Snapshot) string {
	text := count(len(s.Calls), "call") + " in flight"
	if len(s.Calls) == 0 {
		return text
	}
	oldest := slices.MinFunc(s.Calls, func(a, b status.Call) int { return a.Began.Compare(b.Began) })
	return fmt.Sprintf("%s; the oldest runs since %s (%s): %s", text, oldest.Began.Local().Format(time.TimeOnly),
		max(0, s.Now.Sub(oldest.Began)).Round(time.Second), oneLine(cmp.Or(oldest.Public, oldest.Item, oldest.Method), 60))
}

// printAudit says how far the audit log is, and what is wrong with it.
func printAudit(b *strings.Builder, a *status.Audit, p palette) {
	if a == nil {
		return
	}
	signed := fmt.Sprintf("signed up to n=%d", a.Signed)
	if a.Signed == 0 {
		signed = "nothing signed since the start yet, later"
	}
	paragraph(b, "audit log: ", fmt.Sprintf("%s, line n=%d, %s with %s", oneLine(a.File, 0), a.Sequence, signed, a.Key), plainly)
	if a.Fault != "" {
		what := "records are dropped"
		if a.Refusing {
			what = "calls are refused"
		}
		paragraph(b, "audit log: ", "it cannot be written, and "+what+": "+oneLine(a.Fault, 0), p.bad)
	}
	if a.Dropped > 0 {
		paragraph(b, "audit log: ", count(int(a.Dropped), "record")+" dropped since the start", p.bad)
	}
}

// printMembers says how the members of a group are, and what is not as it should be although the server works.
func printMembers(b *strings.Builder, s *status.Snapshot, v status.Server, p palette) {
	name := oneLine(v.Name, 0) + ": "
	var list []string
	for _, m := range s.Members(v.Name) {
		text := oneLine(m.Name, 0) + " " + m.Standing()
		if reason := serverReason(m, s.Now); reason != "" {
			text += " (" + reason + ")"
		}
		list = append(list, text)
	}
	if len(list) > 0 {
		paragraph(b, name, "members "+strings.Join(list, ", "), plainly)
	}
	for _, warning := range v.Warnings {
		paragraph(b, name, oneLine(warning, 400), p.warn)
	}
}

// projectServers names the servers of a project.
func projectServers(p status.Project) string {
	if len(p.Servers) == 0 {
		return "no server"
	}
	return oneLine(strings.Join(p.Servers, ", "), 200)
}

// printServerTable prints a line a server. Columns that are 0 everywhere and seldom anything else are left out, names are cut
// to what is left of the width.
func printServerTable(b *strings.Builder, servers []status.Server, p palette) {
	head := []string{"SERVER", "STATE", "READY", "TOOLS", "PROMPTS", "RES", "TEMPL", "RUN", "PARK", "QUEUE"}
	rows := make([][]string, len(servers))
	for i, v := range servers {
		rows[i] = []string{
			oneLine(v.Name, 0), v.State, fmt.Sprintf("%d/%d", v.ReadyCount, v.Replicas), strconv.Itoa(v.Tools), strconv.Itoa(v.Prompts),
			strconv.Itoa(v.Resources), strconv.Itoa(v.Templates), strconv.Itoa(v.InFlight - v.Parked), zeroAsNothing(v.Parked), zeroAsNothing(v.Queued),
		}
	}
	others := 0
	for column := 1; column < len(head); column++ {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[column]))
		}
		if widest > 0 {
			others += 2 + max(widest, len(head[column]))
		}
	}
	for _, row := range rows {
		row[0] = oneLine(row[0], max(12, statusWidth-others))
	}
	writeTable(b, p, head, rows)
}

func zeroAsNothing(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func readiness(s *status.Snapshot) string {
	switch {
	case s.Draining:
		return "draining"
	case s.Ready && len(s.Failed) == 0:
		return "ready"
	case s.Ready:
		return "ready, but without " + oneLine(strings.Join(s.Failed, ", "), 200)
	}
	return "starting, waits for " + oneLine(strings.Join(s.Waiting, ", "), 200)
}

func readinessPaint(s *status.Snapshot, p palette) func(string) string {
	if s.Ready && len(s.Failed) == 0 && !s.Draining {
		return p.good
	}
	return p.warn
}

// serverReason says why a server is as it is, and when it is tried again.
func serverReason(v status.Server, now time.Time) string {
	reason := oneLine(v.Reason, 400)
	if v.NextAttempt.After(now) {
		reason = fmt.Sprintf("again in %s: %s", v.NextAttempt.Sub(now).Round(time.Second/10), reason)
	}
	return strings.TrimSuffix(strings.TrimSpace(reason), ":")
}

// hints are the servers' hints, each once: those that differ in the name of the server only are told for all of them.
func hints(servers []status.Server) []string {
	type group struct {
		names []string
		text  string // with NAME in place of the server's name
		first string // as the first server has it
	}
	var groups []*group
	for _, v := range servers {
		if v.Hint == "" {
			continue
		}
		hint, name := oneLine(v.Hint, 0), oneLine(v.Name, 0)
		text := strings.ReplaceAll(hint, " "+name+" ", " NAME ")
		i := slices.IndexFunc(groups, func(g *group) bool { return g.text == text })
		if i < 0 {
			groups = append(groups, &group{text: text, first: hint})
			i = len(groups) - 1
		}
		groups[i].names = append(groups[i].names, name)
	}
	out := make([]string, len(groups))
	for i, g := range groups {
		text := g.text
		if len(g.names) == 1 {
			text = g.first
		}
		out[i] = listed(g.names) + ": " + text
	}
	return out
}

// plainly paints nothing.
func plainly(s string) string { return s }

// paragraph writes start, which may hold colours, and behind it text in lines of statusWidth; further lines are indented.
func paragraph(b *strings.Builder, start, text string, paint func(string) string) {
	b.WriteString(start)
	column := utf8.RuneCountInString(uncolored(start))
	indent := "    "
	var line []string
	used := 0
	flush := func() {
		b.WriteString(paint(strings.Join(line, " ")))
		b.WriteByte('\n')
		line, used = line[:0], 0
	}
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && column+used+1+n > statusWidth {
			flush()
			b.WriteString(indent)
			column = len(indent)
		}
		if used > 0 {
			used++
		}
		used += n
		line = append(line, word)
	}
	flush()
}

// uncolored returns s without the colors of a palette.
func uncolored(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		end := strings.IndexByte(s[i:], 'm')
		if end < 0 {
			return s
		}
		s = s[:i] + s[i+end+1:]
	}
}

// count says how many there are of a thing.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
