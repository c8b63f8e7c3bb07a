package session

import (
	"strings"
	"testing"
)

// Every new id is valid and unique. A form that NewID cannot make is invalid, whatever its length.
func TestSessionIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		id := NewID()
		if !ValidID(id) || seen[id] || ActorName(id) != "session/"+id || FullName(id) != "gateway/"+ActorName(id) || shortID(id) != id[:8] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	whole := "1a" + strings.Repeat("a", idLength-2)
	for id, want := range map[string]bool{
		whole: true, whole[:idLength-1]: false, whole + "a": false, "": false, "1a": false, strings.Repeat("a", idLength): false, "1b" + whole[2:]: false, "2a" + whole[2:]: false,
	} {
		if ValidID(id) != want {
			t.Errorf("%q is valid: %v, want %v", id, !want, want)
		}
	}
	for c, want := range map[byte]bool{'a': true, 'z': true, '2': true, '7': true, 'a' - 1: false, 'z' + 1: false, '2' - 1: false, '7' + 1: false, 'A': false, '/': false, 0: false, 255: false} {
		for _, i := range []int{2, idLength / 2, idLength - 1} {
			if id := whole[:i] + string([]byte{c}) + whole[i+1:]; ValidID(id) != want {
				t.Errorf("character %q at %d is valid: %v, want %v", c, i, !want, want)
			}
		}
	}
}
