package report

import "fmt"

// Cold holds how long a client of a newly started gateway waits for its first list of tools (Rows) and for a complete one
// (Complete).
type Cold struct {
	Rows     []ColdRow     `json:"rows"`
	Complete []CompleteRow `json:"complete"`
}

// ColdRow is the measurement of one catalog size. Times are in milliseconds since the process started.
type ColdRow struct {
	Servers  int     `json:"servers"`
	Tools    int     `json:"tools"` // of each server
	FileMiB  float64 `json:"stateFileMiB"`
	Bytes    int     `json:"listBytes"`        // of the first page
	Median   float64 `json:"medianMillis"`     // of Lists
	Best     float64 `json:"bestMillis"`       // minimum of Lists
	Worst    float64 `json:"worstMillis"`      // maximum of Lists
	Start    float64 `json:"initializeMillis"` // median time to the response to initialize
	Unknown  float64 `json:"unknownMillis"`    // time to the first list without a state file: the list waits for the servers
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

func (c *Cold) tables() [][][]string {
	rows := [][]string{{"size", "file MiB", "page KiB", "list ms", "best", "worst", "init", "no file", "bare"}}
	for _, r := range c.Rows {
		rows = append(rows, []string{fmt.Sprintf("%d × %d", r.Servers, r.Tools), number("%.1f", r.FileMiB), fmt.Sprint(r.Bytes >> 10),
			shortMillis(r.Median), shortMillis(r.Best), shortMillis(r.Worst), shortMillis(r.Start), number("%.0f", r.Unknown), shortMillis(r.Bare)})
	}
	return [][][]string{rows, completeTable(c.Complete)}
}

// CompleteRow holds how long a client waits for a complete list, with one running HTTP server and one stdio server
// that the gateway starts. Times are medians in milliseconds since the process started.
type CompleteRow struct {
	What       string  `json:"what"`
	Starts     int     `json:"starts"`
	First      float64 `json:"firstListMillis"`  // response to the first tools/list
	Held       int     `json:"firstListTools"`   // fewest tools in it over all starts
	Tools      int     `json:"tools"`            // tools in a complete list
	All        float64 `json:"completeMillis"`   // tools/list is repeated until a response has every tool, none from the state file
	Best       float64 `json:"bestMillis"`       // minimum of All
	Worst      float64 `json:"worstMillis"`      // maximum of All
	Notified   float64 `json:"toldMillis"`       // time of the list_changed notification, in the starts that had one
	Unnotified int     `json:"startsWithoutOne"` // starts without a notification, up to notifyWait after the complete list
}

func completeTable(rows []CompleteRow) [][]string {
	table := [][]string{{"one HTTP, one stdio", "first list ms", "tools", "all ms", "best", "worst", "notified ms"}}
	for _, r := range rows {
		table = append(table, []string{r.What, shortMillis(r.First), fmt.Sprintf("%d of %d", r.Held, r.Tools), shortMillis(r.All),
			shortMillis(r.Best), shortMillis(r.Worst), shortMillis(r.Notified)})
	}
	return table
}
