package report

import (
	"fmt"
	"strings"
)

// Cluster holds the cost of gateways that form a cluster.
type Cluster struct {
	Rows []ClusterRow `json:"rows"`
}

// ClusterRow is one measured quantity of a cluster and what it is compared with.
type ClusterRow struct {
	What    string    `json:"what"`
	Clients int       `json:"clients,omitempty"`
	Now     float64   `json:"measured"`
	Base    float64   `json:"base"` // what it is compared with, in the same unit
	Unit    string    `json:"unit"`
	Result  float64   `json:"result"`         // ratio or difference of Now and Base, or Now itself; with rounds, the median of their results
	Of      string    `json:"resultUnit"`     // × for a ratio
	Goal    float64   `json:"goal,omitempty"` // 0 = there is none
	AtLeast bool      `json:"atLeast,omitempty"`
	Each    []float64 `json:"rounds,omitempty"` // the results of the rounds
}

// holds reports whether the goal is reached.
func (r ClusterRow) holds() bool {
	if r.AtLeast {
		return r.Result >= r.Goal
	}
	return r.Result <= r.Goal
}

func (r ClusterRow) cells() []string {
	goal, met := "–", ""
	if r.Goal != 0 {
		goal, met = "≤"+fmt.Sprint(r.Goal), "yes"
		if r.AtLeast {
			goal = strings.Replace(goal, "≤", "≥", 1)
		}
		if !r.holds() {
			met = "no"
		}
	}
	format := "%.1f"
	if r.Of == "×" {
		format = "%.3f"
	}
	return []string{r.What, number("%.0f", float64(r.Clients)), fmt.Sprintf("%.1f", r.Now), fmt.Sprintf("%.1f", r.Base), r.Unit,
		fmt.Sprintf(format, r.Result) + " " + r.Of, goal, met}
}

func (c *Cluster) table() [][]string {
	rows := [][]string{{"measure", "c", "now", "base", "unit", "result", "goal", "met"}}
	for _, r := range c.Rows {
		rows = append(rows, r.cells())
	}
	return rows
}

// clusterTitles maps the units of results to the titles of their metrics.
var clusterTitles = map[string]string{"×": "× base", "µs": "p50 µs", "KiB": "KiB/session", "MiB": "RSS MiB", "ms/s": "CPU ms/s", "ms": "complete ms"}

func (c *Cluster) series(add func(string, series)) {
	for _, r := range c.Rows {
		add(clusterTitles[r.Of], series{target: r.What, clients: r.Clients, own: true, value: r.Result, values: r.Each})
	}
}
