package admission

import (
	"maps"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

func preferring(t *testing.T, prefer string) *downstream.Exchange {
	t.Helper()
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"goblin-actor/prefer":`+prefer+`}}}`)
	return x
}

// S4.2.2: a valid preference is parsed, and an invalid one is refused with the path of the fault.
func TestPreferences(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var many []string
	for i := range 40 {
		many = append(many, `"k`+strings.Repeat("y", i)+`":"v"`)
	}
	const path = "params._meta.goblin-actor/prefer" // if it is not an object, the frame scanner refuses it
	for _, c := range []struct{ name, prefer, fault string }{
		{"labels", `{"labels":{"region":"eu"}}`, ""},
		{"required", `{"required":true,"labels":{"region":"\u0065u"}}`, ""},
		{"not required", `{"labels":{},"required":false}`, ""},
		{"no labels", `{}`, path + ".labels: missing"},
		{"labels of another type", `{"labels":["eu"]}`, path + ".labels: want an object of strings"},
		{"a label of another type", `{"labels":{"region":1}}`, path + ".labels.region: want a string"},
		{"a deeply nested label", `{"labels":{"region":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}}`, path + ".labels.region: want a string"},
		{"required of another type", `{"labels":{},"required":"yes"}`, path + ".required: want true or false"},
		{"a misspelled member", `{"labels":{},"requierd":true}`, path + ".requierd: unknown"},
		{"labels twice", `{"labels":{"a":"1"},"labels":{"a":"2"}}`, path + ".labels: duplicate member"},
		{"a label twice", `{"labels":{"a":"1","a":"2"}}`, path + ".labels.a: duplicate member"},
		{"long", `{"labels":{"a":"` + long + `"}}`, path + ": 1048"},
		{"many", `{"labels":{` + strings.Join(many, ",") + `}}`, "at most 32 labels are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, fault := preferOf(preferring(t, c.prefer))
			switch {
			case c.fault == "" && (fault != nil || p == nil):
				t.Errorf("refused: %v", fault)
			case c.fault != "" && (fault == nil || fault.Code(protocol.EraModern) != -32602 || !strings.Contains(fault.Message, c.fault)):
				t.Errorf("got %v, want %s", fault, c.fault)
			}
			if c.name == "required" && (!p.Required || !maps.Equal(p.Labels, map[string]string{"region": "eu"})) {
				t.Errorf("read as %+v", p)
			}
		})
	}
}

// A request without a preference allocates nothing.
func TestNoPreferenceDoesNotAllocate(t *testing.T) {
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}`)
	if n := testing.AllocsPerRun(100, func() {
		if p, fault := preferOf(x); p != nil || fault != nil {
			t.Fatal(p, fault)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
