package operate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// statusWidth is the width of the output in columns. Single long words and the names of servers may exceed it.
const statusWidth = 80

// printStatus prints a snapshot for users: a summary, the servers, the reasons for failures, hints, and what has happened lately.
func printStatus(w io.Writer, s *status.Snapshot, l lately) error {
	p := terminal.PaletteFor(w)
	var b strings.Builder
	paragraph(&b, fmt.Sprintf("goblin-actor %s on %s, up %s, ", terminal.OneLine(s.Version, 40), terminal.OneLine(strings.Join(s.Listen, ", "), 0),
		s.Now.Sub(s.Started).Round(time.Second)), readiness(s), readinessPaint(s, p))
	paragraph(&b, "", fmt.Sprintf("catalog version %d: %s, %s, %s, %s", s.Catalog.Version, terminal.Count(s.Catalog.Tools, "tool"),
		terminal.Count(s.Catalog.Prompts, "prompt"), terminal.Count(s.Catalog.Resources, "resource"), terminal.Count(s.Catalog.Templates, "template")), terminal.Plain)
	for _, p := range s.Projects {
		paragraph(&b, "project "+p.Name+": ", fmt.Sprintf("%s, %s, %s, %s of %s", terminal.Count(p.Tools, "tool"), terminal.Count(p.Prompts, "prompt"), terminal.Count(p.Resources, "resource"),
			terminal.Count(p.Templates, "template"), projectServers(p)), terminal.Plain)
	}
	paragraph(&b, "", terminal.Count(len(s.Sessions), "session")+", "+inFlight(s), terminal.Plain)
	printAudit(&b, s.Audit, p)
	if v := s.Service; v != nil {
		paragraph(&b, "service: ", terminal.OneLine(v.Name, 0)+"; log: "+terminal.OneLine(v.Log, 0), terminal.Plain)
	}
	if f := s.ConfigFault; f != nil {
		paragraph(&b, "", "configuration: reloading has failed since "+f.Since.Local().Format(time.TimeOnly)+"; the previous version is in force", p.Bad)
		for line := range strings.Lines(f.Reason) {
			paragraph(&b, "    ", terminal.OneLine(line, 0), terminal.Plain)
		}
	}
	printNodes(&b, l.Nodes, s.Now, p)
	printRates(&b, ratesOf(s), p)
	if len(s.Servers) == 0 {
		b.WriteString("no servers\n")
	} else {
		b.WriteByte('\n')
		printServerTable(&b, s.Servers, p)
		for _, v := range s.Servers {
			if reason := serverReason(v, s.Now); reason != "" {
				paragraph(&b, terminal.OneLine(v.Name, 0)+": ", reason, terminal.Plain)
			}
			printMembers(&b, s, v, p)
		}
		for _, hint := range hints(s.Servers) {
			paragraph(&b, p.Good("hint:")+" ", program.Hint(hint), terminal.Plain)
		}
	}
	l.print(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// inFlight describes the number of calls in flight and the oldest of them.
func inFlight(s *status.Snapshot) string {
	text := terminal.Count(len(s.Calls), "call") + " in flight"
	if len(s.Calls) == 0 {
		return text
	}
	oldest := slices.MinFunc(s.Calls, func(a, b status.Call) int { return a.Began.Compare(b.Began) })
	return fmt.Sprintf("%s; the oldest started at %s (%s): %s", text, oldest.Began.Local().Format(time.TimeOnly),
		max(0, s.Now.Sub(oldest.Began)).Round(time.Second), terminal.OneLine(cmp.Or(oldest.Public, oldest.Item, oldest.Method), 60))
}

// printAudit prints the state of the audit log and its errors.
func printAudit(b *strings.Builder, a *status.Audit, p terminal.Palette) {
	if a == nil {
		return
	}
	signed := fmt.Sprintf("signed up to n=%d with %s", a.Signed, a.Key)
	if a.Signed == 0 {
		signed = "not signed since the start; its key is " + a.Key
	}
	paragraph(b, "audit log: ", fmt.Sprintf("%s, line n=%d, %s", terminal.OneLine(a.File, 0), a.Sequence, signed), terminal.Plain)
	if a.Fault != "" {
		what := "records are dropped"
		if a.Refusing {
			what = "calls are refused"
		}
		paragraph(b, "audit log: ", "the log cannot be written, and "+what+": "+terminal.OneLine(a.Fault, 0), p.Bad)
	}
	if a.Dropped > 0 {
		paragraph(b, "audit log: ", terminal.Count(int(a.Dropped), "record")+" dropped since the start", p.Bad)
	}
}

// printMembers prints the state of a group's members, and warnings about the server even if it works.
func printMembers(b *strings.Builder, s *status.Snapshot, v status.Server, p terminal.Palette) {
	name := terminal.OneLine(v.Name, 0) + ": "
	var list []string
	for _, m := range s.Members(v.Name) {
		text := terminal.OneLine(m.Name, 0) + " " + m.Standing()
		if reason := serverReason(m, s.Now); reason != "" {
			text += " (" + reason + ")"
		}
		list = append(list, text)
	}
	if len(list) > 0 {
		paragraph(b, name, "members "+strings.Join(list, ", "), terminal.Plain)
	}
	for _, warning := range v.Warnings {
		paragraph(b, name, terminal.OneLine(warning, 400), p.Warn)
	}
}

// projectServers returns the names of a project's servers.
func projectServers(p status.Project) string {
	if len(p.Servers) == 0 {
		return "no server"
	}
	return terminal.OneLine(strings.Join(p.Servers, ", "), 200)
}

// printServerTable prints a line for each server. It omits the columns PARK and QUEUE if they are 0 for all servers,
// and truncates names to the remaining width, but to no less than 12 characters.
func printServerTable(b *strings.Builder, servers []status.Server, p terminal.Palette) {
	head := []string{"SERVER", "STATE", "READY", "TOOLS", "PROMPTS", "RES", "TEMPL", "RUN", "PARK", "QUEUE"}
	rows := make([][]string, len(servers))
	for i, v := range servers {
		rows[i] = []string{
			terminal.OneLine(v.Name, 0), v.State, fmt.Sprintf("%d/%d", v.ReadyCount, v.Replicas), strconv.Itoa(v.Tools), strconv.Itoa(v.Prompts),
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
		row[0] = terminal.OneLine(row[0], max(12, statusWidth-others))
	}
	output.RenderTable(b, p, head, rows)
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
		return "ready, but without " + terminal.OneLine(strings.Join(s.Failed, ", "), 200)
	}
	return "starting, waiting for " + terminal.OneLine(strings.Join(s.Waiting, ", "), 200)
}

func readinessPaint(s *status.Snapshot, p terminal.Palette) func(string) string {
	if s.Ready && len(s.Failed) == 0 && !s.Draining {
		return p.Good
	}
	return p.Warn
}

// serverReason returns why a server is in its state and when the next attempt is.
func serverReason(v status.Server, now time.Time) string {
	reason := terminal.OneLine(v.Reason, 400)
	if v.NextAttempt.After(now) {
		reason = fmt.Sprintf("retry in %s: %s", v.NextAttempt.Sub(now).Round(time.Second/10), reason)
	}
	return strings.TrimSuffix(strings.TrimSpace(reason), ":")
}

// hints returns the servers' hints. Hints that differ only in the name of the server are combined.
func hints(servers []status.Server) []string {
	type group struct {
		names []string
		text  string // the hint with NAME in place of the server's name
		first string // the hint of the first server
	}
	var groups []*group
	for _, v := range servers {
		if v.Hint == "" {
			continue
		}
		hint, name := terminal.OneLine(v.Hint, 0), terminal.OneLine(v.Name, 0)
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
		out[i] = terminal.Names(g.names) + ": " + text
	}
	return out
}

// paragraph prints start, which may contain colors, and then text, wrapped to statusWidth with a hanging indent.
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
