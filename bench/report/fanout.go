package report

import (
	"fmt"
	"strings"
)

// Fanout holds how long changes that a server publishes take to reach all subscribers.
type Fanout struct {
	Rows []FanoutRow `json:"rows"`
}

// FanoutRow is the measurement of one kind of change, with one number of streams of one era and one kind of server. Times
// are in milliseconds, from the command to publish until the last stream has received the change. The Direct fields
// belong to the same number of streams that are connected to a server without the gateway.
type FanoutRow struct {
	Change      string  `json:"change"`
	Clients     string  `json:"clients"`
	Behind      string  `json:"behind"`
	Subscribers int     `json:"subscribers"`
	Changes     int     `json:"changes"`
	P50         float64 `json:"lastP50Millis"`
	P99         float64 `json:"lastP99Millis"`
	DirectP50   float64 `json:"directLastP50Millis"`
	DirectP99   float64 `json:"directLastP99Millis"`
	ToDirect    float64 `json:"toDirect"`       // of the last stream: median of the ratios of each change to the same change on the direct streams
	AllToDirect float64 `json:"p99ToDirect"`    // ratio of the p99 over all streams and changes
	CPU         float64 `json:"cpuMicrosEach"`  // of the gateway, per stream and change
	RSS         float64 `json:"rssMiB"`         // of the gateway, after the changes
	Lost        int     `json:"lost"`           // not received within the timeout
	Doubled     int     `json:"doubled"`        // received again
	Crossed     int     `json:"crossed"`        // received with other content
	DirectLost  int     `json:"directFailures"` // all failures of the direct streams, which mean that the measurement itself is wrong
}

// Failures returns the number of messages that were lost, duplicated or wrong.
func (f *Fanout) Failures() (n int) {
	for _, r := range f.Rows {
		n += r.Lost + r.Doubled + r.Crossed
	}
	return n
}

func (f *Fanout) table() [][]string {
	rows := [][]string{{"streams ← server", "streams", "p50 ms", "p99 ms", "× p50", "× p99", "failed"}}
	for _, r := range f.Rows {
		rows = append(rows, []string{r.name(), fmt.Sprint(r.Subscribers), number("%.2f", r.P50), number("%.2f", r.P99),
			number("%.2f", r.ToDirect), number("%.2f", r.AllToDirect), r.failed()})
	}
	return rows
}

func (r *FanoutRow) name() string {
	name := r.Clients + " ← " + r.Behind
	if r.Change != "updated" {
		name += ", " + r.Change
	}
	return name
}

// failed returns "0" or what went wrong.
func (r *FanoutRow) failed() string {
	var words []string
	for _, f := range []struct {
		n    int
		what string
	}{{r.Lost, "lost"}, {r.Doubled, "duplicated"}, {r.Crossed, "wrong"}, {r.DirectLost, "failed directly"}} {
		if f.n > 0 {
			words = append(words, fmt.Sprint(f.n, " ", f.what))
		}
	}
	if words == nil {
		return "0"
	}
	return strings.Join(words, ", ")
}
