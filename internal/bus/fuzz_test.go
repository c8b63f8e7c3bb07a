package bus

import (
	"strings"
	"testing"
)

// Subjects of any form are accepted or refused without a panic. Accepted ones contain no special characters, and Matches agrees with a
// comparison word by word.
func FuzzSubjects(f *testing.F) {
	for _, s := range []string{"a", "a.b", "a.*", ">", "a.>", "", "..", "a..b", "*.*"} {
		f.Add(s, "a.b")
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		if CheckSubject(pattern, true) != nil || CheckSubject(subject, false) != nil {
			return
		}
		if strings.ContainsAny(subject, " \r\n\x00*>") {
			t.Errorf("%q is accepted", subject)
		}
		words, others := strings.Split(pattern, "."), strings.Split(subject, ".")
		want := len(words) == len(others)
		for i, word := range words {
			if word == ">" {
				want = len(others) > i
				break
			}
			if i >= len(others) || word != "*" && word != others[i] {
				want = false
				break
			}
		}
		if got := Matches(pattern, subject); got != want {
			t.Errorf("Matches(%q, %q) = %v", pattern, subject, got)
		}
	})
}

// Records of leases may contain anything.
func FuzzLeaseRecords(f *testing.F) {
	f.Add([]byte(`{"holder":"a","taking":"x","count":1}`))
	f.Add([]byte(`{"holder":7}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		if holder := HolderOf(Record{Key: "run.x", Value: value, Revision: 1}); len(holder) > MaxHolder {
			t.Errorf("holder of %d bytes", len(holder))
		}
	})
}
