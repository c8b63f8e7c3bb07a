package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

// coldSizes holds pairs: a number of servers and a number of tools per server. A tool has about coldToolBytes bytes.
var coldSizes = [][2]int{{10, 20}, {100, 10}, {100, 100}}

const (
	coldToolBytes = 1000
	coldWait      = 30 * time.Second
)

// cold repeatedly starts `goblin-actor stdio` with the same state file while its servers keep running. After each
// start, it requests the first list immediately. Then it measures how long complete lists take.
func (s *setup) cold() (*report.Cold, error) {
	c := &report.Cold{}
	s.plan(len(coldSizes) * s.o.Starts)
	for _, size := range coldSizes {
		row, err := s.coldRow(size[0], size[1])
		if err != nil {
			return c, err
		}
		c.Rows = append(c.Rows, row)
	}
	var err error
	c.Complete, err = s.complete()
	return c, err
}

func (s *setup) coldRow(servers, tools int) (report.ColdRow, error) {
	row := report.ColdRow{Servers: servers, Tools: tools, Restarts: s.o.Starts}
	fmt.Fprintf(s.progress, "bench cold: %d servers of %d tools, %d starts\n", servers, tools, row.Restarts)
	web, err := s.Helper("server", "--tools", strconv.Itoa(tools), "--tool-bytes", strconv.Itoa(coldToolBytes))
	if err != nil {
		return row, err
	}
	entries := map[string]any{}
	for i := range servers {
		entries[fmt.Sprintf("server-%03d", i)] = map[string]any{"url": fmt.Sprintf("%s/%d", web.URL, i), "type": "http"}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries, "metaTools": "false", "log": map[string]string{"level": "error"}})
	if err != nil {
		return row, err
	}
	dir := filepath.Join(s.Dir, fmt.Sprintf("cold-%d-%d", servers, tools))
	file := filepath.Join(dir, "config.json")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row, err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return row, err
	}
	command := []string{s.o.gateway(), "stdio", "--config", file, "--state-dir", dir}
	first, err := s.coldStart(command, servers*tools)
	if err != nil {
		return row, err
	}
	row.Unknown = stats.Millis(first.list)
	var lists, starts, bare []float64
	for range row.Restarts {
		at, err := s.coldStart(command, 0)
		if err != nil {
			return row, err
		}
		lists, starts, row.Bytes = append(lists, stats.Millis(at.list)), append(starts, stats.Millis(at.initialize)), at.bytes
		began := time.Now()
		if err := exec.CommandContext(s.ctx, s.o.gateway(), "version").Run(); err != nil {
			return row, fmt.Errorf("run version: %w", err)
		}
		bare = append(bare, stats.Millis(time.Since(began)))
		s.step()
	}
	if info, err := os.Stat(filepath.Join(dir, "state.db")); err == nil {
		row.FileMiB = float64(info.Size()) / (1 << 20)
	}
	row.Lists = lists
	row.Median, row.Best, row.Worst, row.Start, row.Bare = stats.Median(lists), slices.Min(lists), slices.Max(lists), stats.Median(starts), stats.Median(bare)
	return row, nil
}

// coldTimes are the times of responses, measured from the start of the process.
type coldTimes struct {
	initialize, list time.Duration
	bytes            int
}

// coldStart starts a gateway, requests the list and stops the gateway. If all is not zero, it repeats the request until
// that many tools are listed and none of them is from the state file; the gateway then saves them. If all is zero, the
// first list must come from the state file.
func (s *setup) coldStart(command []string, all int) (at coldTimes, err error) {
	err = s.begin(command, func(p *process.StdioProgram) error {
		var err error
		if at.initialize, err = p.Initialize(); err != nil {
			return err
		}
		for id := 2; ; {
			found, cached, err := listTools(p, &id, all > 0, &at)
			switch {
			case err != nil:
				return err
			case all == 0 && (!cached || found == 0):
				return fmt.Errorf("the first list has %d tools, or does not come from the state file", found)
			case all == 0, found == all && !cached:
				return nil
			case time.Since(p.Started) > coldWait:
				return fmt.Errorf("only %d of %d tools are listed after %s", found, all, coldWait)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return at, err
}

// listTools fetches all pages, or only the first one. It sets at if this is the first page since the start.
func listTools(p *process.StdioProgram, id *int, all bool, at *coldTimes) (found int, cached bool, err error) {
	for cursor := ""; ; *id++ {
		answer, when, err := p.Request(*id, "tools/list", "{"+cursor+"}")
		if err != nil {
			return found, cached, err
		}
		if at.list == 0 {
			at.list, at.bytes = when, len(answer)
		}
		n, next, err := coldPage(answer)
		found, cached = found+n, cached || remembered(answer)
		if err != nil || next == "" || !all {
			*id++
			return found, cached, err
		}
		cursor = `"cursor":` + next
	}
}

// coldPage counts the tools of a page and returns the next cursor as raw JSON, or "" on the last page.
func coldPage(answer []byte) (n int, next string, err error) {
	var page struct {
		Result struct {
			Tools      []json.RawMessage
			NextCursor json.RawMessage
		}
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return 0, "", fmt.Errorf("tools/list: %w: %.200s", err, answer)
	}
	return len(page.Result.Tools), string(page.Result.NextCursor), nil
}

// begin starts a program on stdio, calls use, and stops the program. All of this may take at most twice coldWait.
func (s *setup) begin(command []string, use func(*process.StdioProgram) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, 2*coldWait)
	defer cancel()
	return process.RunStdio(ctx, command, use)
}

// remembered reports whether a list contains items that the gateway knows only from its state file.
func remembered(answer []byte) bool {
	return bytes.Contains(answer, []byte(`"goblin-actor/state":"cached"`))
}
