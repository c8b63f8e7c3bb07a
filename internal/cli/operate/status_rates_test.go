package operate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// The status prints the rates of the last minute, as a table or as JSON. An older gateway reports none.
func TestStatusPrintsRates(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	calls := []status.Interval{{Start: now.Unix() - 120, Calls: 1000}, {Start: now.Unix() - 30, Calls: 90, Errors: 9, Buckets: []status.Bucket{{Index: 30, Count: 85}, {Index: 50, Count: 5}}}}
	s := &status.Snapshot{Now: now, Started: now.Add(-time.Hour), Series: []status.Series{
		{Since: now.Unix() - 3600, Until: now.Unix(), Seconds: calls},
		{Server: "files", Since: now.Unix() - 3600, Until: now.Unix(), Seconds: calls},
		{Server: "quiet", Since: now.Unix() - 3600, Until: now.Unix()},
	}}
	printed := func() string {
		t.Helper()
		var b strings.Builder
		if err := printStatus(&b, s, lately{}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	if got, want := printed(), "LAST MINUTE CALLS/S ERRORS P50 P95 P99 all 1.5 10.0% 8.9ms 890ms 890ms files 1.5 10.0% 8.9ms 890ms 890ms no servers"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at its end", got, want)
	}
	text, err := json.Marshal(report(s, lately{}))
	if want := `"rates":[{"server":"","calls":90,"callsPerSecond":1.5,"errorShare":0.1,`; err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), `"series"`) {
		t.Errorf("%s, %v; want %s and no series", text, err, want)
	}
	s.Now = s.Now.Add(time.Hour)
	if got := printed(); !strings.Contains(got, "last minute: no calls") {
		t.Errorf("got %q, want no calls", got)
	}
	s.Series = nil
	if got := printed(); strings.Contains(got, "minute") {
		t.Errorf("got %q, want no rates", got)
	}
}
