package wire

import (
	"fmt"
	"strings"
)

// Scrape returns the series of the host's /metrics. It omits series that it cannot parse, and returns none if the page
// is unreachable.
func Scrape(host string) map[string]float64 {
	values := map[string]float64{}
	w, err := Dial("tcp", host)
	if err != nil {
		return values
	}
	defer w.Close()
	body, err := w.Get(host, "/metrics")
	if err != nil {
		return values
	}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(line[at+1:], &v); err == nil {
			values[line[:at]] = v
		}
	}
	return values
}
