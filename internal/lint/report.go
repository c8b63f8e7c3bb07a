package lint

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxDescription = 1024 // characters; longer ones cost every request of a model
	maxHeaviest    = 10
	bytesPerToken  = 4 // of JSON with English text, on average over common tokenizers
)

// Rules about schemas that the gateway judges itself, too.
const (
	InvalidSchema       = "invalid-schema"
	InvalidOutputSchema = "invalid-output-schema"
)

// Tool is a tool as its server listed it.
type Tool struct {
	Own    string // the server's name for it; "" if it has none
	Raw    []byte // its definition: checked JSON
	Name   string // the public name that was asked for
	Public string // the public name; "" = the tool is not offered
	Denied bool   // the configuration keeps it from clients, so nothing about it is a finding
	Again  bool   // an earlier tool of the server has the same name
	Fault  string // why the definition cannot be listed; "" = it can
}

// Server is a server with its tools in the order of its list.
type Server struct {
	Name   string
	Tools  []Tool
	Absent string // why its tools are not known; "" = they are
}

// Report is what Check found. It is printed as JSON: fields are added, never changed.
type Report struct {
	Servers  []ServerReport `json:"servers"`
	Findings int            `json:"findings"`
	Bytes    int            `json:"bytes"`  // of the definitions of all offered tools
	Tokens   int            `json:"tokens"` // estimated
	Heaviest []Weight       `json:"heaviest"`
}

// ServerReport is what Check found in one server.
type ServerReport struct {
	Name     string    `json:"name"`
	Tools    int       `json:"tools"` // that it offers to clients
	Bytes    int       `json:"bytes"`
	Tokens   int       `json:"tokens"`
	Absent   string    `json:"absent,omitempty"` // why its tools could not be checked
	Findings []Finding `json:"findings"`
}

// Finding is one fact about one tool.
type Finding struct {
	Rule    string `json:"rule"`
	Tool    string `json:"tool"`              // the server's name for it
	Pointer string `json:"pointer,omitempty"` // JSON pointer into its definition
	Message string `json:"message"`
}

// Weight is the size of one tool's definition.
type Weight struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // its public name
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// Check examines the tools of servers.
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
			r.Findings = append(r.Findings, Finding{"doubled-prefix", "", "", fmt.Sprintf(`its own tool names begin with the prefix already, as in %s; prefix: "" leaves the prefix out`, example)})
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

// tokens estimates how many tokens a definition of that size is for a model.
func tokens(size int) int { return (size + bytesPerToken - 1) / bytesPerToken }
