package report

// Limits is what a machine carries: one series for each server and era of clients.
type Limits struct {
	P99    float64       `json:"p99LimitMicros,omitempty"`
	Series []LimitSeries `json:"series"`
	Notes  []string      `json:"notes,omitempty"` // what was left out, and what to do about it
}

// LimitSeries is one climb.
type LimitSeries struct {
	Server        string      `json:"server"`
	Raise         string      `json:"raise"` // one of Raises
	Tool          string      `json:"tool"`
	Transport     string      `json:"transport"` // between gateway and server; "" = not known
	Era           string      `json:"era"`       // of the clients; of raw servers also theirs
	MaxConcurrent int         `json:"maxConcurrent"`
	Steps         []LimitStep `json:"steps"`
	Direct        []LimitStep `json:"direct,omitempty"` // the server without the gateway
	Knee          *LimitStep  `json:"knee,omitempty"`   // the step from which on more clients only wait longer; none = not even the first was good
	Ended         string      `json:"ended"`            // plateau, p99, errors, max, time
	Bottleneck    string      `json:"bottleneck"`       // one word
	Why           string      `json:"why"`
	Change        string      `json:"change,omitempty"` // the key to change, and how
}

// LimitStep is one number of clients. CPU is in cores: seconds of processor time in a second.
type LimitStep struct {
	Clients   int            `json:"clients"`
	Tries     int            `json:"tries"`                      // the best of so many
	Raised    int            `json:"raised,omitempty"`           // how many there were of what the series raises besides clients
	Offered   float64        `json:"offeredPerSecond,omitempty"` // in an open loop
	Calls     int            `json:"calls"`
	PerSecond float64        `json:"callsPerSecond"`
	P50       float64        `json:"p50Micros"`
	P99       float64        `json:"p99Micros"`
	CPU       CPU            `json:"cpuCores"`
	Queued    int            `json:"queued,omitempty"`       // calls that waited in the server's queue, the most seen
	InFlight  int            `json:"inFlight,omitempty"`     // calls that were with the server, the most seen
	Waited    float64        `json:"queueMicros,omitempty"`  // of a call in that queue, mean
	Served    float64        `json:"serverMicros,omitempty"` // of a call in the gateway and at the server, mean, without the queue
	RSS       float64        `json:"rssMiB,omitempty"`       // of the gateway
	Crossed   int            `json:"crossed"`                // answers to somebody else's request
	Lost      int            `json:"lost"`                   // requests without an answer
	Doubled   int            `json:"doubled,omitempty"`      // changes that a stream was told again
	Refused   map[string]int `json:"refused,omitempty"`      // answers that are errors, by name
}

// CPU is how many cores were busy with whom.
type CPU struct {
	Load    float64 `json:"load"`    // the load generator
	Gateway float64 `json:"gateway"` // or the target, where it runs on this machine
	Servers float64 `json:"servers"` // all of them
	Busiest float64 `json:"busiestServer"`
	Other   float64 `json:"other"` // everything else on the machine
	Cores   float64 `json:"cores"` // there are
}

// Failures returns the calls that brought no result.
func (s LimitStep) Failures() int {
	n := s.Crossed + s.Lost
	for _, refused := range s.Refused {
		n += refused
	}
	return n
}
