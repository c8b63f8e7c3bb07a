package report

import (
	"bytes"
	"strings"
	"testing"
)

// A row says whether its goal is reached, and assertions find rows by their names.
func TestClusterGoals(t *testing.T) {
	r := &Report{Kind: "cluster", Cluster: &Cluster{Rows: []ClusterRow{
		{What: "three ÷ one, legacy, paced", Clients: 48, Now: 50.5, Base: 48.1, Unit: "µs", Result: 2.857, Of: "×", Goal: 2.7, AtLeast: true, Each: []float64{2.8, 2.9}},
		{What: "guest ÷ home", Clients: 32, Now: 52, Base: 50, Unit: "µs", Result: 1.04, Of: "×", Goal: 1.03},
		{What: "relayed stream, resident", Clients: 1000, Now: 20, Base: 5, Unit: "KiB", Result: 20, Of: "KiB"},
		{What: "idle voter, memory more", Now: 38, Base: 31, Unit: "MiB", Result: 7, Of: "MiB", Goal: 8},
	}}}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"met", "yes", "no", "–", "yes"} {
		if line := strings.Split(table.String(), "\n")[i]; !strings.HasSuffix(strings.TrimSpace(line), want) {
			t.Errorf("%q, want %s", line, want)
		}
	}
	checkWidth(t, r)
	for text, holds := range map[string]bool{
		"ratio(cluster,paced) >= 2.7": true, "ratio(guest ÷ home,c=32) <= 1.03": false, "session(relayed stream, resident) <= 16KiB": false, "rss(idle voter) <= 8MiB": true,
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Check([]Assertion{a})[0]; v.Holds != holds {
			t.Errorf("%v", v)
		}
	}
}
