package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

const (
	completeTools = 20                     // tools per server
	completePoll  = time.Millisecond       // pause between two requests for the list
	notifyWait    = 700 * time.Millisecond // how long to wait for a list_changed notification
)

// complete measures three kinds of starts in turn: of a gateway without a state file, of one with a state file, and of
// the stdio server alone.
func (s *setup) complete() ([]report.CompleteRow, error) {
	fmt.Fprintf(s.progress, "bench cold: time to the complete list of one HTTP and one stdio server, %d starts\n", s.o.Starts)
	server := []string{"server", "--tools", fmt.Sprint(completeTools), "--tool-bytes", fmt.Sprint(coldToolBytes)}
	web, err := s.Helper(server...)
	if err != nil {
		return nil, err
	}
	stdio := append([]string{"bench"}, append(server, "--stdio")...)
	text, err := json.Marshal(map[string]any{"metaTools": "false", "log": map[string]string{"level": "error"}, "mcpServers": map[string]any{
		"web": map[string]any{"url": web.URL.String(), "type": "http"}, "process": map[string]any{"command": s.o.Program, "args": stdio},
	}})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "complete.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	kept := filepath.Join(s.Dir, "kept")
	gateway := []string{s.o.gateway(), "stdio", "--config", file, "--state-dir"}
	rows := []report.CompleteRow{{What: "no state file", Tools: 2 * completeTools}, {What: "state file", Tools: 2 * completeTools}, {What: "stdio server alone", Tools: completeTools}}
	seen := make([][]startTimes, len(rows))
	for n := range s.o.Starts + 1 {
		fresh := filepath.Join(s.Dir, fmt.Sprint("fresh", n))
		for i, command := range [][]string{append(gateway[:len(gateway):len(gateway)], fresh), append(gateway[:len(gateway):len(gateway)], kept),
			append([]string{s.o.Program}, stdio...)} {
			at, err := s.completeStart(command, rows[i].Tools, i < 2)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rows[i].What, err)
			}
			if n > 0 { // the first start warms up the machine and writes the state file
				seen[i] = append(seen[i], at)
			}
		}
	}
	for i := range rows {
		fillRow(&rows[i], seen[i])
	}
	return rows, nil
}

// startTimes are the times of one start. notified is 0 if there was no notification. held is the number of tools in the
// first list.
type startTimes struct {
	first, all, notified time.Duration
	held                 int
}

func fillRow(r *report.CompleteRow, starts []startTimes) {
	var first, all, notified []float64
	r.Starts, r.Held = len(starts), r.Tools
	for _, at := range starts {
		first, all, r.Held = append(first, stats.Millis(at.first)), append(all, stats.Millis(at.all)), min(r.Held, at.held)
		if at.notified > 0 {
			notified = append(notified, stats.Millis(at.notified))
		} else {
			r.Unnotified++
		}
	}
	r.First, r.All, r.Notified = stats.Median(first), stats.Median(all), stats.Median(notified)
	if len(all) > 0 {
		r.Best, r.Worst = slices.Min(all), slices.Max(all)
	}
}

// completeStart starts a program and requests the list until it is complete and no item is from the state file. If
// notifies is set and that was not the first list, it then waits up to notifyWait for a notification. At the end it
// stops the program.
func (s *setup) completeStart(command []string, tools int, notifies bool) (at startTimes, err error) {
	err = s.begin(command, func(p *process.StdioProgram) error {
		if _, err := p.Initialize(); err != nil {
			return err
		}
		for id := 2; ; id++ {
			answer, when, err := p.Request(id, "tools/list", "{}")
			if err != nil {
				return err
			}
			found, _, err := coldPage(answer)
			if err != nil {
				return err
			}
			if at.first == 0 {
				at.first, at.held = when, found
			}
			if found == tools && !remembered(answer) {
				at.all = when
				break
			}
			if when > coldWait {
				return fmt.Errorf("only %d of %d tools are listed after %s", found, tools, coldWait)
			}
			time.Sleep(completePoll)
		}
		if notifies && at.all > at.first {
			p.WaitChanged(notifyWait)
		}
		at.notified = p.Changed
		return nil
	})
	return at, err
}
