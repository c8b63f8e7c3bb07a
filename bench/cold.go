package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Cold measures how long a client waits for its first list of tools from a gateway that it has just started.
type Cold struct {
	Rows     []ColdRow     `json:"rows"`
	Complete []CompleteRow `json:"complete"`
}

// ColdRow is one catalog size. Times are in milliseconds since the process started.
type ColdRow struct {
	Servers  int     `json:"servers"`
	Tools    int     `json:"tools"` // of each server
	FileMiB  float64 `json:"stateFileMiB"`
	Bytes    int     `json:"listBytes"` // of the first page
	Median   float64 `json:"medianMillis"`
	Best     float64 `json:"bestMillis"` // fastest start
	Worst    float64 `json:"worstMillis"`
	Start    float64 `json:"initializeMillis"` // median time to the response to initialize
	Unknown  float64 `json:"unknownMillis"`    // time to the first list without a state file, which has to wait for the servers
	Bare     float64 `json:"processMillis"`    // median time of a run of the same program that only prints its version
	Restarts int     `json:"restarts"`

	Lists []float64 `json:"listMillis,omitempty"` // time to the first list, for each start
}

// shortMillis formats milliseconds, with a decimal below 100 only, to keep columns narrow.
func shortMillis(v float64) string {
	if v >= 100 {
		return number("%.0f", v)
	}
	return number("%.1f", v)
}

func (r ColdRow) name() string { return fmt.Sprintf("%d servers of %d tools", r.Servers, r.Tools) }

// coldSizes are the numbers of servers and of tools per server. A tool has about coldToolBytes bytes.
var coldSizes = [][2]int{{10, 20}, {100, 10}, {100, 100}}

const (
	coldToolBytes = 1000
	coldWait      = 30 * time.Second
)

func (c *Cold) tables() [][][]string {
	rows := [][]string{{"size", "file MiB", "page KiB", "list ms", "best", "worst", "init", "no file", "bare"}}
	for _, r := range c.Rows {
		rows = append(rows, []string{fmt.Sprintf("%d × %d", r.Servers, r.Tools), number("%.1f", r.FileMiB), fmt.Sprint(r.Bytes >> 10),
			shortMillis(r.Median), shortMillis(r.Best), shortMillis(r.Worst), shortMillis(r.Start), number("%.0f", r.Unknown), shortMillis(r.Bare)})
	}
	return [][][]string{rows, completeTable(c.Complete)}
}

// cold starts `stdio` repeatedly over running servers, with one state file, and requests the first list immediately.
func (s *setup) cold() (*Cold, error) {
	c := &Cold{}
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

func (s *setup) coldRow(servers, tools int) (ColdRow, error) {
	row := ColdRow{Servers: servers, Tools: tools, Restarts: s.o.Starts}
	fmt.Fprintf(s.progress, "bench cold: %d servers of %d tools, %d starts\n", servers, tools, row.Restarts)
	web, err := s.helper("server", "--tools", strconv.Itoa(tools), "--tool-bytes", strconv.Itoa(coldToolBytes))
	if err != nil {
		return row, err
	}
	entries := map[string]any{}
	for i := range servers {
		entries[fmt.Sprintf("server-%03d", i)] = map[string]any{"url": fmt.Sprintf("%s/%d", web.url, i), "type": "http"}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries, "metaTools": "false", "log": map[string]string{"level": "error"}})
	if err != nil {
		return row, err
	}
	dir := filepath.Join(s.dir, fmt.Sprintf("cold-%d-%d", servers, tools))
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
	row.Unknown = millis(first.list)
	var lists, starts, bare []float64
	for range row.Restarts {
		at, err := s.coldStart(command, 0)
		if err != nil {
			return row, err
		}
		lists, starts, row.Bytes = append(lists, millis(at.list)), append(starts, millis(at.initialize)), at.bytes
		began := time.Now()
		if err := exec.CommandContext(s.ctx, s.o.gateway(), "version").Run(); err != nil {
			return row, fmt.Errorf("run version: %w", err)
		}
		bare = append(bare, millis(time.Since(began)))
		s.step()
	}
	if info, err := os.Stat(filepath.Join(dir, "state.db")); err == nil {
		row.FileMiB = float64(info.Size()) / (1 << 20)
	}
	row.Lists = lists
	row.Median, row.Best, row.Worst, row.Start, row.Bare = median(lists), slices.Min(lists), slices.Max(lists), median(starts), median(bare)
	return row, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// coldTimes are the times of responses since the start of the process.
type coldTimes struct {
	initialize, list time.Duration
	bytes            int
}

// coldStart starts a gateway, requests the list and stops the gateway. If all is not zero, it repeats the request until that many tools are
// listed, none of them from the state file, and lets the gateway save them. Otherwise the first list must come from the state file.
func (s *setup) coldStart(command []string, all int) (at coldTimes, err error) {
	err = s.begin(command, func(p *starting) error {
		var err error
		if at.initialize, err = p.initialize(); err != nil {
			return err
		}
		for id := 2; ; {
			found, cached, err := p.list(&id, all > 0, &at)
			switch {
			case err != nil:
				return err
			case all == 0 && (!cached || found == 0):
				return fmt.Errorf("the first list has %d tools and does not come from the state file", found)
			case all == 0, found == all && !cached:
				return nil
			case time.Since(p.began) > coldWait:
				return fmt.Errorf("only %d of %d tools are listed after %s", found, all, coldWait)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return at, err
}

// list fetches all pages or only the first one. It records the time of the first page of this start.
func (p *starting) list(id *int, all bool, at *coldTimes) (found int, cached bool, err error) {
	for cursor := ""; ; *id++ {
		answer, when, err := p.ask(*id, "tools/list", "{"+cursor+"}")
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
