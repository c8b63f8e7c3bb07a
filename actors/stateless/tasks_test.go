package stateless

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

const tasksOffered = `{"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"vendor/x":{}}}`

func TestTaskTarget(t *testing.T) {
	modern := catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728}
	legacy := catalog.Server{Name: "old", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20251125}
	plain := catalog.Server{Name: "two", Capabilities: []byte(`{}`), Protocol: protocol.Version20260728}
	const declared = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for _, c := range []struct {
		name, can, id string
		servers       []catalog.Server
		own           string
		fault         protocol.FaultName
	}{
		{"known", declared, "one/7", []catalog.Server{modern, plain}, "7", ""},
		{"with a slash of its own", declared, "one/a/b", []catalog.Server{plain, modern}, "a/b", ""},
		{"of another server", declared, "two/7", []catalog.Server{modern, plain}, "", protocol.InvalidParams},
		{"of a legacy server", declared, "old/7", []catalog.Server{legacy, modern}, "", protocol.InvalidParams},
		{"without server", declared, "7", []catalog.Server{modern}, "", protocol.InvalidParams},
		{"long, without server", declared, strings.Repeat("x", 1000), []catalog.Server{modern}, "", protocol.InvalidParams},
		{"without id", declared, "one/", []catalog.Server{modern}, "", protocol.InvalidParams},
		{"not declared", `{}`, "one/7", []catalog.Server{modern}, "", protocol.ClientCannotAnswer},
		{"declared as null", `{"extensions":{"io.modelcontextprotocol/tasks":null}}`, "one/7", []catalog.Server{modern}, "", protocol.ClientCannotAnswer},
		{"no server has tasks", declared, "one/7", []catalog.Server{legacy, plain}, "", protocol.MethodNotFound},
	} {
		x := &downstream.Exchange{}
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":%s},"taskId":%q}}`, c.can, c.id)
		x.Frame, x.Params = actortest.Request(t, raw)
		got, fault := taskTarget(actortest.View(t, c.servers...), x, admission.TaskIDs{Sealer: seal.New([32]byte{1})})
		switch {
		case fault == nil && (c.fault != "" || got.Original != c.own || got.Server.Name != "one"):
			t.Errorf("%s: %q", c.name, got.Original)
		case fault != nil && fault.Name != c.fault:
			t.Errorf("%s: %v, want %q", c.name, fault, c.fault)
		case fault != nil && len(fault.Message) > 350:
			t.Errorf("%s: the error has %d bytes", c.name, len(fault.Message))
		}
	}
}

// The id of a task that a result creates or describes gets its server's name as a prefix. Apart from that, only URIs in the
// result of a finished task change.
func TestPublicTask(t *testing.T) {
	view := actortest.View(t, catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728})
	for _, c := range []struct {
		method       protocol.Method
		result, want string
	}{
		{protocol.MethodToolsCall, `{"resultType":"task","taskId":"7","status":"working"}`, `{"resultType":"task","taskId":"one/7","status":"working"}`},
		{protocol.MethodToolsCall, `{"resultType":"complete","taskId":"7","content":[]}`, `{"resultType":"complete","taskId":"7","content":[]}`},
		{protocol.MethodTasksGet, `{"taskId":"a\"b","result":{"content":[{"type":"resource_link","uri":"x://y","name":"n"}]}}`,
			`{"taskId":"one/a\"b","result":{"content":[{"type":"resource_link","uri":"resource://one/x://y","name":"n"}]}}`},
		{protocol.MethodTasksGet, `{"taskId":7,"result":[]}`, `{"taskId":7,"result":[]}`},
		{protocol.MethodTasksUpdate, `{"taskId":"7"}`, `{"taskId":"7"}`},
	} {
		f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`)
		var info protocol.ResultInfo
		if err := info.Scan(&f); err != nil {
			t.Fatal(err)
		}
		v := &heldCall{caller: &message.Caller{}, Held: clientcalls.Held{View: view, Upstream: view.Servers()[0], Call: call.Call{Method: c.method, Server: "one"}}}
		got := rawjson.AppendEdited(nil, f.Raw, publicTask(nil, v, &info, &f, seal.New([32]byte{1}))...)
		if want := `{"jsonrpc":"2.0","id":1,"result":` + c.want + `}`; string(got) != want {
			t.Errorf("%s: %s, want %s", c.method, got, want)
		}
	}
}
