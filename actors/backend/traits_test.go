package backend

import "testing"

// Each kind of link has its own traits.
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
