package report

import "fmt"

// Faults holds what clients experience when something breaks.
type Faults struct {
	Rows []FaultRow `json:"rows"`
}

// FaultRow is the measurement of one kind of fault with one kind of server. Times are in milliseconds; -1 means that
// the event did not occur.
type FaultRow struct {
	Fault   string  `json:"fault"`
	Behind  string  `json:"behind"`
	Clients string  `json:"clients"`
	Error   float64 `json:"firstErrorMillis"`   // from the fault to the first error of a call
	Back    float64 `json:"firstSuccessMillis"` // from the end of the fault to the first success of a call sent after the end and after the first error; flood: until a client received the last list
	Calm    float64 `json:"othersCalmP99Millis"`
	During  float64 `json:"othersP99Millis"` // p99 of calls to another server, from the fault until everything has recovered
	Held    float64 `json:"heldMiB"`         // peak resident memory above the value before
	Left    float64 `json:"leftMiB"`         // resident memory above the value before, after recovery and a garbage collection
	Errors  int     `json:"errors"`          // calls that failed after the fault began, including those of Lost and Wrong
	Lost    int     `json:"lost"`            // requests without any response
	Wrong   int     `json:"wrong"`           // responses to another request, or with other bytes
	Note    string  `json:"note,omitempty"`
}

// Failures returns the number of requests with no response or a wrong one.
func (f *Faults) Failures() (n int) {
	for _, r := range f.Rows {
		n += r.Lost + r.Wrong
	}
	return n
}

func (f *Faults) table() [][]string {
	rows := [][]string{{"fault, server", "error ms", "back ms", "p99 ms", "× calm", "+MiB", "left", "lost", "wrong"}}
	for _, r := range f.Rows {
		rows = append(rows, []string{r.Fault + ", " + r.Behind, happened(r.Error), happened(r.Back), number("%.2f", r.During), number("%.1f", r.During/max(r.Calm, .001)),
			number("%.1f", r.Held), number("%.1f", r.Left), fmt.Sprint(r.Lost), fmt.Sprint(r.Wrong)})
	}
	return rows
}

func happened(millis float64) string {
	if millis < 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", millis)
}
