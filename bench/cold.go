package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Cold is how long a client waits for its first list of tools from a gateway that it has just started.
type Cold struct {
	Rows     []ColdRow     `json:"rows"`
	Complete []CompleteRow `json:"complete"`
}

// ColdRow is one size of catalog. Times are from the start of the process on, in milliseconds.
type ColdRow struct {
	Servers  int     `json:"servers"`
	Tools    int     `json:"tools"` // of each
	FileMiB  float64 `json:"stateFileMiB"`
	Bytes    int     `json:"listBytes"` // of the first page
	Median   float64 `json:"medianMillis"`
	Best     float64 `json:"bestMillis"` // what the machine lets through when nobody else wants it
	Worst    float64 `json:"worstMillis"`
	Start    float64 `json:"initializeMillis"` // the answer to initialize, median
	Unknown  float64 `json:"unknownMillis"`    // the first list without a state file: the servers are asked
	Bare     float64 `json:"processMillis"`    // the same program that prints its version, median
	Restarts int     `json:"restarts"`

	Lists []float64 `json:"listMillis,omitempty"` // of each start
}

// shortMillis has a decimal below 100 only: on a busy machine the columns must fit too.
func shortMillis(v float64) string {
	if v >= 100 {
		return number("%.0f", v)
	}
	return number("%.1f", v)
}

func (r ColdRow) name() string { return fmt.Sprintf("%d servers of %d tools", r.Servers, r.Tools) }

// coldSizes are servers and tools of each, about coldToolBytes a tool.
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

// cold starts `stdio` over servers that are all up, again and again on one state file, and asks for the first list at once.
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
	args := []string{"stdio", "--config", file, "--state-dir", dir}
	first, err := s.coldStart(args, servers*tools)
	if err != nil {
		return row, err
	}
	row.Unknown = millis(first.list)
	var lists, starts, bare []float64
	for range row.Restarts {
		at, err := s.coldStart(args, 0)
		if err != nil {
			return row, err
		}
		lists, starts, row.Bytes = append(lists, millis(at.list)), append(starts, millis(at.initialize)), at.bytes
		began := time.Now()
		if err := exec.CommandContext(s.ctx, cmp.Or(s.o.Gateway, s.o.Program), "version").Run(); err != nil {
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

// coldTimes say when answers had come, from the start of the process on.
type coldTimes struct {
	initialize, list time.Duration
	bytes            int
}

// coldStart starts a gateway, asks for the list and ends it. With all not zero it asks until so many tools are listed and none
// only remembered, and lets the gateway write that down; else the first list must be a remembered one.
func (s *setup) coldStart(args []string, all int) (at coldTimes, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, 2*coldWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, cmp.Or(s.o.Gateway, s.o.Program), args...)
	cmd.WaitDelay = time.Second
	said := &lastWords{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return at, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return at, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return at, err
	}
	defer func() {
		_ = in.Close()
		if waitErr := cmd.Wait(); err == nil && waitErr != nil {
			err = fmt.Errorf("%s %v: %w\n%s", filepath.Base(s.o.Program), args, waitErr, said)
		}
	}()
	lines := bufio.NewReaderSize(out, 1<<20)
	if _, err = coldAsk(in, lines, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, "1"); err != nil {
		return at, err
	}
	at.initialize = time.Since(began)
	if _, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return at, err
	}
	for {
		found, cached := 0, false
		for cursor := ""; ; {
			answer, err := coldAsk(in, lines, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+cursor+`}}`, "2")
			if err != nil {
				return at, err
			}
			if at.list == 0 {
				at.list, at.bytes = time.Since(began), len(answer)
			}
			cached = cached || bytes.Contains(answer, []byte(`"goblin-actor/state":"cached"`))
			n, next, err := coldPage(answer)
			if err != nil {
				return at, err
			}
			if found += n; next == "" || all == 0 {
				break
			}
			cursor = `"cursor":` + next
		}
		switch {
		case all == 0 && (!cached || found == 0):
			return at, fmt.Errorf("the first list has %d tools, and is not a remembered one", found)
		case all == 0, found == all && !cached:
			return at, nil
		case time.Since(began) > coldWait:
			return at, fmt.Errorf("%d of %d tools are listed after %s\n%s", found, all, coldWait, said)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// coldAsk sends a request and returns the line of its answer; what else comes is not looked at.
func coldAsk(in io.Writer, lines *bufio.Reader, request, id string) ([]byte, error) {
	if _, err := io.WriteString(in, request+"\n"); err != nil {
		return nil, err
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("wait for the answer to %.60s: %w", request, err)
		}
		if bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":`+id+`,`)) {
			return line, nil
		}
	}
}

// coldPage counts the tools of a page and returns the next cursor as it stands there; "" = it is the last one.
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
