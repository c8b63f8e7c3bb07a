package load

import (
	"fmt"
	"testing"
)

// Lost, duplicate and wrong notifications are counted.
func TestAudienceCountsFailures(t *testing.T) {
	a := NewAudience("u")
	a.change.Store(2)
	message := func(uri string, n int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%s","n":%d}}`, uri, n)
	}
	for _, c := range []struct {
		message []byte
		fault   bool
	}{
		{message("u", 2), false}, {message("u", 1), false}, {message("u", 3), true}, {message("v", 2), true},
		{[]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), true},
	} {
		if _, fault := a.changeOf(c.message); fault != c.fault {
			t.Errorf("%s: fault %v", c.message, fault)
		}
	}
	told, err := (&Audience{subscribers: []*subscriber{{}}, all: make(chan struct{}, 1)}).Publish(t.Context(), 1, 0, func() error { return nil })
	if err != nil || told.Lost != 1 {
		t.Errorf("%+v, %v", told, err)
	}
}
