package limits

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// watched observes processes, and the metrics of a goblin-actor gateway, during a step. The zero value observes nothing.
type watched struct {
	gateway int    // process ID of the gateway or target; 0 = not on this machine, or unknown
	servers []int  // process IDs of servers that are not children of the gateway
	metrics string // host:port of /metrics; "" = none
	server  string // the server whose queue is observed

	before moment
	stop   chan struct{}
	done   sync.WaitGroup
	queued int
	flight int
}

// moment is a snapshot of resource usage.
type moment struct {
	at      time.Time
	spent   map[int]time.Duration // by process
	parents map[int]int
	busy    time.Duration // of all processes
	cores   int
	metrics map[string]float64
}

// tick is the unit of /proc/stat on all supported Linux systems.
const tick = 10 * time.Millisecond

func (w *watched) snapshot() moment {
	m := moment{at: time.Now(), spent: map[int]time.Duration{}, parents: map[int]int{}}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err != nil {
			continue // the process has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 12 {
			m.parents[pid], _ = strconv.Atoi(string(fields[1]))
			user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
			system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
			m.spent[pid] = time.Duration(user+system) * tick
		}
	}
	text, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 8 && fields[0] == "cpu":
			for i, field := range fields[1:9] {
				if i != 3 && i != 4 { // idle, iowait
					n, _ := strconv.ParseInt(field, 10, 64)
					m.busy += time.Duration(n) * tick
				}
			}
		case len(fields) > 0 && strings.HasPrefix(fields[0], "cpu"):
			m.cores++
		}
	}
	if w.metrics != "" {
		m.metrics = wire.Scrape(w.metrics)
	}
	return m
}

// begin starts the observation.
func (w *watched) begin() {
	if w.gateway == 0 && len(w.servers) == 0 && w.metrics == "" {
		return
	}
	w.queued, w.flight, w.stop = 0, 0, make(chan struct{})
	w.before = w.snapshot()
	if w.metrics == "" {
		return
	}
	w.done.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ticker.C:
				m := wire.Scrape(w.metrics)
				w.queued = max(w.queued, int(m[w.of("goblin_queue_depth")]))
				w.flight = max(w.flight, int(m[w.of("goblin_in_flight")]))
			}
		}
	})
}

func (w *watched) of(family string) string { return fmt.Sprintf("%s{server=%q}", family, w.server) }

// end stops the observation and adds its results to the step.
func (w *watched) end(step *report.LimitStep) {
	if w.stop == nil {
		return
	}
	close(w.stop)
	w.done.Wait()
	w.stop = nil
	after := w.snapshot()
	step.CPU = w.cpu(w.before, after)
	step.Queued, step.InFlight = w.queued, w.flight
	if w.gateway != 0 {
		step.RSS = residentMiB(w.gateway)
	}
	more := func(series string) float64 { return after.metrics[series] - w.before.metrics[series] }
	wait := more(w.of("goblin_queue_wait_seconds_sum"))
	calls := fmt.Sprintf("{server=%q,method=\"tools/call\"}", w.server)
	if n := more("goblin_call_seconds_count" + calls); n > 0 {
		step.Waited = wait / n * 1e6
		step.Served = max(0, more("goblin_call_seconds_sum"+calls)-wait) / n * 1e6
	}
}

// cpu returns the use of the cores between two moments, by purpose.
func (w *watched) cpu(before, after moment) report.CPU {
	elapsed := after.at.Sub(before.at).Seconds()
	if elapsed <= 0 || after.cores == 0 {
		return report.CPU{}
	}
	cores := func(d time.Duration) float64 { return max(0, d.Seconds()/elapsed) }
	spent := func(pid int) time.Duration { return after.spent[pid] - before.spent[pid] }
	// A container may have fewer processors than the machine.
	c := report.CPU{Cores: float64(min(after.cores, runtime.GOMAXPROCS(0))), Load: cores(spent(os.Getpid()))}
	ours := spent(os.Getpid())
	for pid := range after.spent {
		if pid == os.Getpid() {
			continue
		}
		switch {
		case pid == w.gateway:
			c.Gateway, ours = cores(spent(pid)), ours+spent(pid)
		case after.below(pid, w.gateway), after.belowAny(pid, w.servers):
			c.Servers, ours = c.Servers+cores(spent(pid)), ours+spent(pid)
			c.Busiest = max(c.Busiest, cores(spent(pid)))
		}
	}
	c.Other = cores(after.busy - before.busy - ours)
	if room := c.Cores - c.Load - c.Gateway - c.Servers; after.cores > int(c.Cores) || c.Other > room {
		c.Other = max(0, min(c.Other, room)) // programs on processors that this container may not use do not slow the load down
	}
	return c
}

// below reports whether pid is a descendant of ancestor.
func (m moment) below(pid, ancestor int) bool {
	for range 32 {
		pid = m.parents[pid]
		if pid <= 1 {
			return false
		}
		if pid == ancestor {
			return true
		}
	}
	return false
}

func (m moment) belowAny(pid int, those []int) bool {
	for _, one := range those {
		if pid == one || m.below(pid, one) {
			return true
		}
	}
	return false
}

func residentMiB(pid int) float64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if fields := bytes.Fields(text); len(fields) > 1 {
		pages, _ := strconv.ParseFloat(string(fields[1]), 64)
		return pages * float64(os.Getpagesize()) / (1 << 20)
	}
	return 0
}

// listener returns the ID of the process that listens on a port of this machine, or 0 if it cannot be determined.
func listener(port string) int {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", n)) {
				inodes["socket:["+fields[9]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return 0
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && inodes[to] {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			return pid
		}
	}
	return 0
}
