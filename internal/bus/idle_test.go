//go:build linux

package bus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Limits of what an idle node costs in addition to a process that does nothing.
const (
	idleNode   = 10 * time.Millisecond // CPU time per second
	idleVoter  = 20 * time.Millisecond
	idleMemory = 8 << 20 // bytes
)

// usage returns the CPU time of a process, and the memory that it does not share with others that run the same program.
func usage(t *testing.T, pid int) (cpu time.Duration, memory int64) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		t.Skipf("%d threads, %v", len(tasks), err)
	}
	for _, task := range tasks {
		var n int64
		text, _ := os.ReadFile(task) // fails for a thread that has just ended
		_, _ = fmt.Sscan(string(text), &n)
		cpu += time.Duration(n)
	}
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(rollup)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "Anonymous: %d kB", &kilobytes); n == 1 {
			memory = kilobytes << 10
		}
	}
	return cpu, memory
}

// TestIdle measures what a node and a voter cost in a cluster of four nodes that send nothing but beats.
func TestIdle(t *testing.T) {
	if *voterFaults == 0 {
		t.Skip("takes a minute; see make voters")
	}
	list := append(threeVoters(t), newNode(t, "d", 4))
	list[3].Seeds, list[3].Voters = list[0].Seeds, list[0].Voters
	pids := map[string]int{"none": startNodeProcess(t, nodeProcess{Cluster: "test", Node: "e", Alone: true}).Process.Pid}
	for _, o := range list {
		p := nodeProcess{Cluster: o.Cluster, Node: o.Node, Routes: o.Routes, Store: o.Store, Seeds: o.Seeds, Voters: o.Voters, Beats: true}
		pids[o.Node] = startNodeProcess(t, p).Process.Pid
	}
	time.Sleep(10 * time.Second)
	const duration = 30 * time.Second
	cpu := map[string]time.Duration{}
	for name, pid := range pids {
		cpu[name], _ = usage(t, pid)
	}
	time.Sleep(duration)
	_, base := usage(t, pids["none"])
	for name, pid := range pids {
		used, memory := usage(t, pid)
		a := (used - cpu[name]) / (duration / time.Second)
		t.Logf("%s: %v of CPU a second, %.1f MB more", name, a, float64(memory-base)/1e6)
		limit := idleVoter
		if name == "d" {
			limit = idleNode
		}
		if a > limit || memory-base > idleMemory {
			t.Errorf("%s costs too much", name)
		}
	}
}
