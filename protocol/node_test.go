package protocol

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

func TestNodes(t *testing.T) {
	tests := map[string]struct {
		item  string
		nodes []string
		after string // with N put in front
	}{
		"no _meta":      {`{"name":"a"}`, nil, `{"_meta":{"goblin-actor/nodes":["N"]},"name":"a"}`},
		"null":          {`{"name":"a","_meta":null}`, nil, `{"_meta":{"goblin-actor/nodes":["N"]},"name":"a"}`},
		"another key":   {`{"_meta":{"k":1},"name":"a"}`, nil, `{"_meta":{"goblin-actor/nodes":["N"],"k":1},"name":"a"}`},
		"a way":         {`{"_meta":{"goblin-actor/nodes":["A","B"]},"name":"a"}`, []string{"A", "B"}, `{"_meta":{"goblin-actor/nodes":["N","A","B"]},"name":"a"}`},
		"no sense":      {`{"_meta":{"goblin-actor/nodes":{"A":1}},"name":"a"}`, nil, `{"_meta":{"goblin-actor/nodes":["N"]},"name":"a"}`},
		"no object":     {`{"_meta":7,"name":"a"}`, nil, `{"_meta":7,"name":"a"}`},
		"empty objects": {`{"_meta":{}}`, nil, `{"_meta":{"goblin-actor/nodes":["N"]}}`},
	}
	for name, test := range tests {
		item, err := ParseItem([]byte(test.item))
		if err != nil {
			t.Fatal(err)
		}
		nodes := Nodes(&item)
		if !slices.Equal(nodes, test.nodes) {
			t.Errorf("%s: nodes %q, want %q", name, nodes, test.nodes)
		}
		if got := string(Through(&item, "N", nodes)); got != test.after {
			t.Errorf("%s: got %s, want %s", name, got, test.after)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "", `{"goblin-actor/node":"N"}`: "N", `{"goblin-actor/node":7}`: "", `[]`: "",
		`{"goblin-actor/node":"` + strings.Repeat("n", 65) + `"}`: "",
		`{` + string(NodeMember(`a"b`)) + `}`:                     `a"b`,
	} {
		if got := NodeOf([]byte(raw), rawjson.Span{End: uint32(len(raw))}); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	if got := NodeOf([]byte(`{}`), rawjson.Span{}); got != "" {
		t.Errorf("no _meta: got %q", got)
	}
}
