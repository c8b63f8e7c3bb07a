package status

import (
	"strconv"
	"testing"

	"goblin-actor/protocol"
)

// A server that answers each call with another error code does not make the number of series grow without limit, and no observation is lost.
func TestSeriesOfHostileErrors(t *testing.T) {
	var d Durations
	const calls = 3 * maxSeries
	for i := range calls {
		d.observe(nil, DurationKey{Server: "one", Method: protocol.MethodToolsCall, Item: "echo", Version: "v", Error: strconv.Itoa(-i)}, .015, nil, [8]byte{})
	}
	d.observe(nil, DurationKey{Server: "one", Method: protocol.MethodToolsCall, Item: "echo", Version: "v"}, 1000, nil, [8]byte{})
	var total uint64
	series := d.Series()
	for _, s := range series {
		total += s.Total()
		if s.Key.Error == OtherError && (s.Key.Item != "" || s.Key.Version != "" || s.Counts[1] != calls-maxSeries) {
			t.Errorf("%+v", s)
		}
		if s.Key.Error == "" && s.Counts[len(s.Counts)-1] != 1 {
			t.Errorf("%+v", s)
		}
	}
	if len(series) != maxSeries+2 || total != calls+1 {
		t.Errorf("%d series with %d observations, want %d with %d", len(series), total, maxSeries+2, calls+1)
	}
}
