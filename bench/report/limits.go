package report

// Limits is the highest load that a machine can sustain: one series per server and era of clients.
type Limits struct {
	P99    float64       `json:"p99LimitMicros,omitempty"`
	Series []LimitSeries `json:"series"`
	Notes  []string      `json:"notes,omitempty"` // which servers were not measured, and how to measure them
}

// LimitSeries is the measurement of one server with increasing load.
type LimitSeries struct {
	Server        string      `json:"server"`
	Raise         string      `json:"raise"` // what was raised: clients, rate, servers, items, sessions or subscribers
	Tool          string      `json:"tool"`
	Transport     string      `json:"transport"` // between gateway and server; "" = unknown
	Era           string      `json:"era"`       // of the clients, and of raw servers
	MaxConcurrent int         `json:"maxConcurrent"`
	Steps         []LimitStep `json:"steps"`
	Direct        []LimitStep `json:"direct,omitempty"` // the server without the gateway
	Knee          *LimitStep  `json:"knee,omitempty"`   // the step after which more clients only wait longer, or the last step that was sustained; nil = no step was
	Ended         string      `json:"ended"`            // plateau, p99, errors, falls, max, time
	Bottleneck    string      `json:"bottleneck"`       // short name, such as "server CPU"
	Why           string      `json:"why"`
	Change        string      `json:"change,omitempty"` // what to change, or that no setting would help
}

// LimitStep is the measurement of one step of a series. CPU is in cores: seconds of processor time per second.
type LimitStep struct {
	Clients   int            `json:"clients"`
	Tries     int            `json:"tries"`                      // number of measurements, of which this is the best
	Raised    int            `json:"raised,omitempty"`           // number of servers, items, sessions or subscribers, whichever is raised
	Offered   float64        `json:"offeredPerSecond,omitempty"` // offered rate in an open loop
	Calls     int            `json:"calls"`
	PerSecond float64        `json:"callsPerSecond"`
	P50       float64        `json:"p50Micros"`
	P99       float64        `json:"p99Micros"`
	CPU       CPU            `json:"cpuCores"`
	Queued    int            `json:"queued,omitempty"`       // maximum number of calls in the server's queue
	InFlight  int            `json:"inFlight,omitempty"`     // maximum number of calls at the server
	Waited    float64        `json:"queueMicros,omitempty"`  // mean time of a call in that queue
	Served    float64        `json:"serverMicros,omitempty"` // mean latency of a call without its time in the queue
	RSS       float64        `json:"rssMiB,omitempty"`       // of the gateway
	Crossed   int            `json:"crossed"`                // responses to another request
	Lost      int            `json:"lost"`                   // requests without a response
	Doubled   int            `json:"doubled,omitempty"`      // notifications that a stream got twice
	Refused   map[string]int `json:"refused,omitempty"`      // other calls without a result, by outcome
}

// CPU is the processor time of a step in cores.
type CPU struct {
	Load    float64 `json:"load"`    // the load generator
	Gateway float64 `json:"gateway"` // or the target, if it runs on this machine
	Servers float64 `json:"servers"` // all servers
	Busiest float64 `json:"busiestServer"`
	Other   float64 `json:"other"` // all other programs
	Cores   float64 `json:"cores"` // available
}

// Failures returns the number of calls without a result.
func (s LimitStep) Failures() int {
	n := s.Crossed + s.Lost
	for _, refused := range s.Refused {
		n += refused
	}
	return n
}
