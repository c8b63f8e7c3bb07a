package report

import "fmt"

// Idle holds the cost of sessions that only keep a stream open.
type Idle struct {
	Sessions   int         `json:"sessions"`
	Phases     []IdlePhase `json:"phases"`
	PerSession float64     `json:"rssKiBPerSession"` // after the first wave, compared with the start
}

// IdlePhase is the gateway's memory at one moment, after a garbage collection.
type IdlePhase struct {
	Name  string  `json:"name"`
	RSS   float64 `json:"rssMiB"`
	Heap  float64 `json:"heapMiB"`
	Stack float64 `json:"stackMiB"`
	Gos   float64 `json:"goroutines"`
	Known float64 `json:"sessions"` // sessions that the gateway has
}

func (i *Idle) table() [][]string {
	rows := [][]string{{"phase", "sessions", "RSS MiB", "heap MiB", "stack MiB", "goroutines", "RSS KiB/session"}}
	for _, p := range i.Phases {
		per := "–"
		if p.Known > 0 {
			per = fmt.Sprintf("%.1f", (p.RSS-i.Phases[0].RSS)*1024/p.Known)
		}
		rows = append(rows, []string{p.Name, fmt.Sprint(p.Known), fmt.Sprintf("%.1f", p.RSS), fmt.Sprintf("%.1f", p.Heap),
			fmt.Sprintf("%.1f", p.Stack), fmt.Sprint(p.Gos), per})
	}
	return rows
}
