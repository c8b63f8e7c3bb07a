package backend

import "testing"

// The traits of each kind of link.
func TestTraits(t *testing.T) {
	for kind, want := range map[string]traits{
		"stdio": {ordered: true, ownsServer: true, reportsEnd: true},
		"http":  {exchanges: true, headers: true},
		"sse":   {legacyOnly: true},
		"other": {},
	} {
		if got := traitsOf(kind); got != want {
			t.Errorf("traitsOf(%s) = %+v, want %+v", kind, got, want)
		}
	}
}
