package operate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// lines is the output format of status with a sentence per fact, for screen readers and logs.
const lines output.Format = "lines"

// statusFormat is the format of status, a pflag.Value.
type statusFormat struct{ output.Format }

// Set accepts "lines" and the formats that other commands accept.
func (f *statusFormat) Set(s string) error {
	if output.Format(s) == lines {
		f.Format = lines
		return nil
	}
	if f.Format.Set(s) != nil {
		return fmt.Errorf("expected table, lines, json or yaml")
	}
	return nil
}

// watchLines prints a sentence for each fact of the status, then one for each change.
func watchLines(ctx context.Context, w io.Writer, source status.Source) error {
	said, lost := &status.Snapshot{}, false
	return followStatus(ctx, source, status.FollowOptions{Want: []status.Want{status.WantState, status.WantSessions}}, func(l latest) error {
		var all []string
		switch {
		case l.lost != nil && !lost:
			all = append(all, "The gateway does not answer: "+terminal.OneLine(l.lost.Error(), 200))
		case l.lost == nil:
			if lost && said.Started.Equal(l.snapshot.Started) {
				all = append(all, "The gateway answers again.")
			}
			all = append(all, sentences(said, l.snapshot)...)
			said = l.snapshot
		}
		lost = l.lost != nil
		return printLines(w, all)
	})
}

func printLines(w io.Writer, all []string) error {
	for _, line := range all {
		if _, err := fmt.Fprintf(w, "%s %s\n", time.Now().Format(time.TimeOnly), line); err != nil {
			return err
		}
	}
	return nil
}

// sentences returns a sentence for each difference between two snapshots that matters to a person. It ignores calls,
// which come and go too often.
func sentences(was, is *status.Snapshot) []string {
	var out []string
	if !was.Started.Equal(is.Started) || readiness(was) != readiness(is) {
		out = append(out, fmt.Sprintf("Gateway %s on %s is %s.", terminal.OneLine(is.Version, 40), terminal.OneLine(strings.Join(is.Listen, ", "), 0), readiness(is)))
	}
	switch {
	case is.ConfigFault != nil && (was.ConfigFault == nil || *was.ConfigFault != *is.ConfigFault):
		out = append(out, "The changed configuration was rejected; the previous one is in force: "+terminal.OneLine(is.ConfigFault.Reason, 400))
	case is.ConfigFault == nil && was.ConfigFault != nil:
		out = append(out, "The configuration file is in force again.")
	}
	before := map[string]string{}
	for _, s := range was.Servers {
		before[s.Name] = serverSentence(s)
	}
	for _, s := range is.Servers {
		if text := serverSentence(s); text != before[s.Name] {
			out = append(out, text)
		}
		delete(before, s.Name)
	}
	for _, s := range was.Servers {
		if before[s.Name] != "" {
			out = append(out, fmt.Sprintf("Server %s is gone.", terminal.OneLine(s.Name, 0)))
		}
	}
	return append(out, sessionSentences(was.Sessions, is.Sessions)...)
}

// serverSentence says what state a server is in and why.
func serverSentence(s status.Server) string {
	is := "is " + s.State
	if s.State == "needs-login" {
		is = "needs a login"
	}
	text := fmt.Sprintf("Server %s %s", terminal.OneLine(s.Name, 0), is)
	if s.State == "ready" && s.ReadyCount < s.Replicas {
		text += fmt.Sprintf(" with %d of %d connections", s.ReadyCount, s.Replicas)
	}
	if reason := terminal.OneLine(s.Reason, 400); reason != "" {
		return text + ": " + reason
	}
	return text + "."
}

// sessionSentences says which sessions began and ended.
func sessionSentences(was, is []status.Session) []string {
	var out []string
	say := func(all, others []status.Session, what string) {
		known := make(map[string]bool, len(others))
		for i := range others {
			known[others[i].ID] = true
		}
		for _, s := range all {
			if !known[s.ID] {
				out = append(out, fmt.Sprintf("A session of %s has %s.", caller(s.Client, s.ID, s.Who), what))
			}
		}
	}
	say(was, is, "ended")
	say(is, was, "begun")
	return out
}
