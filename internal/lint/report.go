package lint

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxDescription = 1024 // characters; longer descriptions cost too much in every model request
	maxHeaviest    = 10
	bytesPerToken  = 4 // JSON with English text, average of common tokenizers
)

// Rules about schemas, which the gateway also enforces.
const (
	InvalidSchema       = "invalid-schema"
	InvalidOutputSchema = "invalid-output-schema"
)

// Tool is a tool as its server listed it.
type Tool struct {
	Own    string // the server's name for it; "" if it has none
	Raw    []byte // definition, as valid JSON
	Name   string // the intended public name
	Public string // the actual public name; "" = the tool is not offered
	Denied bool   // denied by the configuration; not checked
	Again  bool   // an earlier tool of the server has the same name
	Fault  string // why the definition cannot be listed; "" = it can
}

// Server is a server and its tools in listed order.
type Server struct {
	Name   string
	Tools  []Tool
	Absent string // why its tools are unknown; "" = known
}

// Report is the result of Check. It is printed as JSON: fields may be added, but not changed.
type Report struct {
	Servers  []ServerReport `json:"servers"`
	Findings int            `json:"findings"`
	Bytes    int            `json:"bytes"`  // size of the definitions of all offered tools
	Tokens   int            `json:"tokens"` // estimated
	Heaviest []Weight       `json:"heaviest"`
}

// ServerReport is the result of Check for one server.
type ServerReport struct {
	Name     string    `json:"name"`
	Tools    int       `json:"tools"` // number of tools offered to clients
	Bytes    int       `json:"bytes"`
	Tokens   int       `json:"tokens"`
	Absent   string    `json:"absent,omitempty"` // why its tools could not be checked
	Findings []Finding `json:"findings"`
}

// Finding is a problem of one tool, or of a server if Tool is "".
type Finding struct {
	Rule    string `json:"rule"`
	Tool    string `json:"tool"`              // its own name; "" if it has none, or for a server
	Pointer string `json:"pointer,omitempty"` // JSON pointer into the tool's definition
	Message string `json:"message"`
}

// Weight is the size of one tool's definition.
type Weight struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // its public name
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// Check checks the tools of servers.
func Check(servers []Server) Report {
	report := Report{Servers: []ServerReport{}, Heaviest: []Weight{}}
	for _, server := range servers {
		r := ServerReport{Name: server.Name, Absent: server.Absent, Findings: []Finding{}}
		var names []Named
		for i := range server.Tools {
			t := &server.Tools[i]
			if t.Denied {
				continue
			}
			r.Findings = append(r.Findings, check(t)...)
			if t.Public == "" {
				continue
			}
			names = append(names, Named{t.Own, t.Name})
			r.Tools++
			r.Bytes += len(t.Raw)
			report.Heaviest = append(report.Heaviest, Weight{server.Name, t.Public, len(t.Raw), tokens(len(t.Raw))})
		}
		if example := DoubledPrefix(names); example != "" {
			r.Findings = append(r.Findings, Finding{"doubled-prefix", "", "", fmt.Sprintf(`the server's own tool names already start with the prefix, as in %s; set prefix: "" to omit it`, example)})
		}
		r.Tokens = tokens(r.Bytes)
		report.Findings += len(r.Findings)
		report.Bytes += r.Bytes
		report.Servers = append(report.Servers, r)
	}
	report.Tokens = tokens(report.Bytes)
	slices.SortStableFunc(report.Heaviest, func(a, b Weight) int { return cmp.Compare(b.Bytes, a.Bytes) })
	report.Heaviest = report.Heaviest[:min(len(report.Heaviest), maxHeaviest)]
	return report
}

// tokens estimates the number of tokens of a definition.
func tokens(size int) int { return (size + bytesPerToken - 1) / bytesPerToken }
