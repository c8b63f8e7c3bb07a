package config

import (
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"": {}, "60/min": {60, time.Minute}, "5/s": {5, time.Second}, "1000/h": {1000, time.Hour}, "1000000/s": {1_000_000, time.Second}} {
		if got, err := ParseRate(text); err != nil || got != want || got.String() != text {
			t.Errorf("ParseRate(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"60", "60/", "/min", "60/m", "60/ min", "0/s", "-1/s", "+1/s", "01/s", "1.5/s", "1000001/s", "99999999999999999999/s", "60/min/s", "60 /min", "1e3/s", "60/MIN"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestRateLess(t *testing.T) {
	order := []string{"", "1/h", "1000/h", "1/s", "60/min", "2/s", "120/min", "1000000/s"} // equal rates are ordered by burst, smallest first
	for i, a := range order {
		for j, b := range order {
			x, _ := ParseRate(a)
			y, _ := ParseRate(b)
			if got := x.Less(y); got != (i < j) {
				t.Errorf("%q is less than %q: %v, want %v", a, b, got, i < j)
			}
		}
	}
}

// FuzzParseRate checks that a parsed rate is valid and formats to the same text.
func FuzzParseRate(f *testing.F) {
	f.Add("60/min")
	f.Add("18446744073709551616/h")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err == nil && (r.String() != text || r.Requests < 0 || r.Requests > maxRate) {
			t.Fatalf("%q is read as %+v", text, r)
		}
	})
}
