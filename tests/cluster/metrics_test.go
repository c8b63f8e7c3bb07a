//go:build linux

package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// sumOf returns the sum of a metric over its series and the nodes, and how many series there are.
func sumOf(t *testing.T, metric string, nodes ...*gatetest.Node) (sum float64, series int) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + metric + `(?:\{[^}]*\})? (\S+)$`)
	for _, n := range nodes {
		_, page := gatetest.Get(n.Base + "/metrics")
		for _, found := range line.FindAllStringSubmatch(page, -1) {
			value, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum, series = sum+value, series+1
		}
	}
	return sum, series
}

// runsInAudit returns how many calls each node's audit log says another node has executed, in total.
func runsInAudit(t *testing.T, nodes ...*gatetest.Node) (runs float64) {
	t.Helper()
	for _, n := range nodes {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(n.Dir), "audit-"+n.Name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var r struct{ Event, Run string }
			if json.Unmarshal([]byte(line), &r) != nil || r.Event != "call" || r.Run == "" {
				continue
			}
			if r.Run == n.Name {
				t.Errorf("node %s says that it has executed a call elsewhere: %s", n.Name, line)
			}
			runs++
		}
	}
	return runs
}
