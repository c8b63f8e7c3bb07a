package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

const (
	latelyWindow = 10 * time.Minute
	maxLately    = 20 // maximum number of each kind in JSON and YAML
	shownLately  = 3  // maximum number of each kind in the formats table and lines
)

// lately holds the newest failed calls and refusals of the last ten minutes, at most maxLately of each kind, newest first. In a cluster,
// it also holds the reports of all nodes.
type lately struct {
	Failures []status.FinishedCall `json:"failures,omitempty"`
	Denials  []status.Denial       `json:"denials,omitempty"`
	Nodes    []status.NodeReport   `json:"cluster,omitempty"` // sorted by name
}

// fetchLately queries the gateway at the socket. It omits what it cannot fetch, because an older gateway lacks some of the pages.
func fetchLately(ctx context.Context, path string, now time.Time) (l lately) {
	source, err := admin.Dial(path)
	if err != nil {
		return l
	}
	calls, _ := source.Finished(ctx, "", 0)
	for _, c := range slices.Backward(calls) {
		if len(l.Failures) < maxLately && c.Failed() && c.Outcome != status.OutcomeCancelled.String() && now.Sub(ended(c)) <= latelyWindow {
			l.Failures = append(l.Failures, c)
		}
	}
	l.Nodes, _ = source.Nodes(ctx)
	denials, _ := source.Denials(ctx)
	for _, d := range denials {
		if len(l.Denials) < maxLately && now.Sub(d.Last) <= latelyWindow {
			l.Denials = append(l.Denials, d)
		}
	}
	return l
}

func ended(c status.FinishedCall) time.Time {
	return c.Began.Add(time.Duration(c.Seconds * float64(time.Second)))
}

// sentences returns a sentence for each of the newest failures and refusals, at most shownLately of each kind.
func (l *lately) sentences() (all []string) {
	for _, c := range l.Failures[:min(shownLately, len(l.Failures))] {
		why := cmp.Or(c.Code, c.Outcome)
		if c.Error != "" {
			why += ": " + terminal.OneLine(c.Error, 200)
		}
		all = append(all, fmt.Sprintf("%s failed at %s: %s", terminal.OneLine(cmp.Or(c.Public, c.Item, c.Method), 60), ended(c).Local().Format(time.TimeOnly), why))
	}
	for _, d := range l.Denials[:min(shownLately, len(l.Denials))] {
		who := "a client without a valid key"
		if d.Who != status.Unknown {
			who = terminal.OneLine(d.Who, 60)
		}
		times := ""
		if d.Times > 1 {
			times = fmt.Sprintf(" (%d times)", d.Times)
		}
		all = append(all, fmt.Sprintf("%s from %s was turned away at %s: %s: %s%s", who, terminal.OneLine(d.From, 60), d.Last.Local().Format(time.TimeOnly), terminal.OneLine(d.What, 80), d.Why, times))
	}
	return all
}

// print prints the sentences as paragraphs.
func (l *lately) print(b *strings.Builder) {
	all := l.sentences()
	if len(all) > 0 {
		b.WriteString("\nlast ten minutes:\n")
	}
	for _, sentence := range all {
		paragraph(b, "", sentence, terminal.Plain)
	}
}
