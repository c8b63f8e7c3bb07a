package message

import (
	"fmt"
	"testing"
)

// Those who differ in one character have lanes of their own, wherever it stands: else they would wait for each other.
func TestLanesOfNamesThatAreAlike(t *testing.T) {
	lanes := map[uint32]string{}
	for i := range 100 {
		for _, key := range []string{fmt.Sprintf("key:p%d", i), fmt.Sprintf("key:%d-ci", i)} {
			lane := LaneOf(key)
			if other, taken := lanes[lane]; taken {
				t.Errorf("%s and %s have the lane %d", key, other, lane)
			}
			lanes[lane] = key
		}
	}
}
