package status

import (
	"fmt"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
)

// maxDeniedLines limits the log lines per second about policy denials. All denials are counted.
const maxDeniedLines = 10

// Kinds of denied items, which are label values.
const (
	deniedTools = iota
	deniedPrompts
	deniedResources
	deniedOther
	deniedKinds
)

var (
	deniedNames = [deniedKinds]string{"tools", "prompts", "resources", other}
	modeNames   = [2]string{"enforce", "report"}
)

// denials counts denials of one server, by kind and policy mode.
type denials [deniedKinds][2]atomic.Uint64

// deniedLines limits log lines per second.
type deniedLines struct{ second, lines atomic.Int64 }

// Denied counts a request that the policy denies, or would deny in report mode. It reports whether the denial may be
// logged.
func (s *ServerMetrics) Denied(method protocol.Method, report bool) bool {
	kind, mode := deniedOther, 0
	switch method.Names() {
	case protocol.SubjectTool:
		kind = deniedTools
	case protocol.SubjectPrompt:
		kind = deniedPrompts
	case protocol.SubjectResource:
		kind = deniedResources
	}
	if report {
		mode = 1
	}
	s.denied[kind][mode].Add(1)
	return s.all.deniedLines.take(time.Now().Unix())
}

// take reports whether one more line may be logged in the given second. Concurrent calls at the start of a second may admit a few more.
func (l *deniedLines) take(second int64) bool {
	if l.second.Swap(second) != second {
		l.lines.Store(0)
	}
	return l.lines.Add(1) <= maxDeniedLines
}

func writeDenied(p *page, servers []*ServerMetrics) {
	p.family("goblin_policy_denied_total")
	for _, s := range servers {
		for kind := range s.denied {
			for mode := range s.denied[kind] {
				if n := s.denied[kind][mode].Load(); n > 0 {
					fmt.Fprintf(p, "goblin_policy_denied_total{server=%q,kind=%q,mode=%q} %d\n", s.name, deniedNames[kind], modeNames[mode], n)
				}
			}
		}
	}
}
