package downstream

import (
	"strings"
	"testing"
)

// In a cluster, the ids of a call's events name the node and the request. The ids of other events do not.
func TestEventIDsInACluster(t *testing.T) {
	r := NewReplay(ReplayOptions{Node: "node~"})
	for _, request := range []string{`7`, `"s~-p1"`, `-1`, `"` + strings.Repeat("x", maxEventRequest-2) + `"`} {
		call := r.open(true, []byte(request), &httpExchange{}, nil)
		if id := call.id(0); string(RequestOfEvent(id, "node~")) != request || RequestOfEvent(id, "other~") != nil {
			t.Errorf("%s: the id is %s", request, id)
		} else if found, _, _ := r.find(id); found != call {
			t.Errorf("%s: %s is not found", request, id)
		} else if found, _, why := r.find(id[len("node~"):]); found != nil || why != ResumeGone {
			t.Errorf("%s without its beginning: %v, %v", id, found, why)
		}
	}
	for _, request := range []string{"", `"` + strings.Repeat("x", maxEventRequest) + `"`} {
		if id := r.open(true, []byte(request), &httpExchange{}, nil).id(0); RequestOfEvent(id, "node~") != nil || !strings.HasPrefix(id, "node~~") {
			t.Errorf("%q: the id is %s", request, id)
		}
	}
	if id := r.open(false, nil, nil, &httpStream{}).id(0); !strings.HasPrefix(id, r.tag+"-g") {
		t.Errorf("a stream's event: %s", id)
	}
	for _, bad := range []string{"", "node~", "node~7~", "node~zz~", "node~7b7d~", "node~6e756c6c2c~", "node~" + strings.Repeat("31", 65) + "~"} {
		if id := RequestOfEvent(bad, "node~"); id != nil {
			t.Errorf("%q: %s", bad, id)
		}
	}
}
