package tui

import (
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// A server that hangs while starting or is being retried is listed as a problem. A server that has just started is not.
func TestFaultsWhileStarting(t *testing.T) {
	p := noPicture()
	p.Now = time.Unix(100, 0)
	p.Servers = []status.Server{{Name: "new", State: "handshaking"},
		{Name: "hung", State: "handshaking", Fault: true, Reason: "waiting for the response to the handshake for 12s"}}
	var faults []string
	for _, r := range healthKind.Rows(p) {
		if r.Mark <= sevFailed {
			faults = append(faults, r.Server+" "+r.Cells[1].Text+" "+r.Cells[7].Text)
		}
	}
	if len(faults) != 1 || faults[0] != "hung handshaking waiting for the response to the handshake for 12s" {
		t.Errorf("faults: %q", faults)
	}
}
