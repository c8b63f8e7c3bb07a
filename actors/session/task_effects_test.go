package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// call sends a request about task 7, or a tools/call, and returns the number of the call.
func (k *taskScript) call(id int, method, params string) uint64 {
	k.t.Helper()
	_, sent := k.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	if len(sent) != 1 {
		k.t.Fatalf("%s was not sent", method)
	}
	return sent[0].Call.Seq
}

// notified returns the frames that a notification about task 7 causes: on the stream of a request, and on the session's
// streams.
func (k *taskScript) notified(line string) (onRequest, pushed string) {
	k.t.Helper()
	f := actortest.Frame(k.t, line)
	for _, e := range k.step(message.TaskNotification{Server: "one", ID: "7", Frame: f}) {
		switch a := e.Act.(type) {
		case reply.Notify:
			onRequest = string(a.X.Frame.IDBytes()) + " " + string(a.Frame)
		case push:
			pushed = string(a.message.Frame)
		}
	}
	return onRequest, pushed
}

const (
	taskID      = `{"taskId":"one/7"}`
	relatedTask = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}}`
)

// Results name tasks by their public ids, whichever request they answer. Other results keep their ids, even if they look alike.
// The result of tasks/result has public URIs, like that of tools/call.
func TestTaskIDsInResults(t *testing.T) {
	related := func(id string) string { return fmt.Sprintf(relatedTask, id) }
	for name, c := range map[string]struct{ method, params, result, want string }{
		"tasks/get":             {"tasks/get", taskID, `"taskId":"7","status":"working"`, `"taskId":"one/7","status":"working"`},
		"tasks/cancel":          {"tasks/cancel", taskID, `"taskId":"7","status":"cancelled"`, `"taskId":"one/7","status":"cancelled"`},
		"tasks/get, related":    {"tasks/get", taskID, related("7"), related("one/7")},
		"tasks/result":          {"tasks/result", taskID, `"content":[],"taskId":"7",` + related("7"), `"content":[],"taskId":"7",` + related("one/7")},
		"tools/call as a task":  {"tools/call", `{"name":"one_a","task":{}}`, `"task":{"taskId":"7","status":"working"}`, `"task":{"taskId":"one/7","status":"working"}`},
		"tools/call, no task":   {"tools/call", `{"name":"one_a"}`, `"content":[],"task":{"taskId":"7"},"taskId":"7"`, `"content":[],"task":{"taskId":"7"},"taskId":"7"`},
		"links of tasks/result": {"tasks/result", taskID, `"content":[{"type":"resource_link","uri":"file:///r","name":"r"}]`, `"content":[{"type":"resource_link","uri":"resource://one/file:///r","name":"r"}]`},
	} {
		k := newTaskScript(t)
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true, Capabilities: []byte(legacyHasTasks), Protocol: protocol.Version20251125}}
		source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`)}
		k.step(message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "original", PageSize: 10})})
		k.make("7")
		seq := k.call(1, c.method, c.params)
		want := `{"jsonrpc":"2.0","id":1,"result":{` + c.want + `}}`
		if got := k.result(seq, `"result":{`+c.result+`}`); got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
	}
}

// A server's error passes unchanged, apart from its id.
func TestErrorsPassUnchanged(t *testing.T) {
	k := newTaskScript(t)
	k.make("7")
	seq := k.call(1, "tasks/cancel", taskID)
	const body = `"error":{"code":-7,"message":"no","data":{"taskId":"7","result":{"taskId":"7"}}}`
	if got, want := k.result(seq, body), `{"jsonrpc":"2.0","id":1,`+body+`}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A task's notifications are sent on the stream of the oldest request that waits for that task, or else on the session's streams.
// They name the task by its public id. Progress has the token of the task's call, and is dropped if that call had none.
func TestTaskNotifications(t *testing.T) {
	const status = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":%q,"status":"working"}}`
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{%s"progress":1}}`
	k := newTaskScript(t)
	k.make("7")
	k.make("8")
	if request, pushed := k.notified(fmt.Sprintf(status, "7")); request != "" || pushed != fmt.Sprintf(status, "one/7") {
		t.Errorf("nothing waits: %q, %q", request, pushed)
	}
	if request, pushed := k.notified(fmt.Sprintf(progress, `"progressToken":9,`)); request != "" || pushed != "" {
		t.Errorf("progress without a token: %q, %q; want none", request, pushed)
	}
	k.s.tasks.known["one/7"].token = []byte(`"mine"`)
	k.call(1, "tasks/result", `{"taskId":"one/8"}`)
	k.call(2, "tasks/get", taskID)
	if request, pushed := k.notified(fmt.Sprintf(status, "7")); request != "" || pushed == "" {
		t.Errorf("other requests wait: %q, %q", request, pushed)
	}
	k.call(3, "tasks/result", taskID)
	k.call(4, "tasks/result", taskID)
	if request, pushed := k.notified(fmt.Sprintf(status, "7")); request != "3 "+fmt.Sprintf(status, "one/7") || pushed != "" {
		t.Errorf("two requests wait: %q, %q; want the oldest", request, pushed)
	}
	if request, pushed := k.notified(fmt.Sprintf(progress, `"progressToken":9,`)); request != "3 "+fmt.Sprintf(progress, `"progressToken":"mine",`) || pushed != "" {
		t.Errorf("progress: %q, %q", request, pushed)
	}
	if request, pushed := k.notified(fmt.Sprintf(progress, "")); request+pushed != "" {
		t.Errorf("progress without a server's token: %q, %q", request, pushed)
	}
	k.s.client.level = protocol.LevelError
	if request, pushed := k.notified(logLines[0]); request+pushed != "" {
		t.Errorf("a log line below the client's level: %q, %q", request, pushed)
	}
	if request, _ := k.notified(logLines[1]); request == "" {
		t.Error("a log line of the client's level was dropped")
	}
	if out := k.step(message.TaskNotification{Server: "one", ID: "unknown", Frame: actortest.Frame(t, fmt.Sprintf(status, "unknown"))}); len(out) != 0 {
		t.Errorf("a notification of another session's task: %v", out)
	}
}

// The client's answer to a question names its task by the server's own id. Another task's id and other answers stay unchanged.
func TestTaskIDsInAnswers(t *testing.T) {
	related := func(id string) string { return fmt.Sprintf(relatedTask, id) }
	for name, c := range map[string]struct{ method, sent, want string }{
		"its task":                {"tasks/result", `{"action":"accept",` + related("one/7") + `}`, `{"action":"accept",` + related("7") + `}`},
		"with more members":       {"tasks/result", `{ ` + related("one/7") + ` ,"action":"decline"}`, `{ ` + related("7") + ` ,"action":"decline"}`},
		"another task":            {"tasks/result", `{` + related("one/8") + `}`, `{` + related("one/8") + `}`},
		"no task":                 {"tasks/result", `{"action":"accept"}`, `{"action":"accept"}`},
		"of another kind of call": {"tasks/get", `{` + related("one/7") + `}`, `{` + related("one/7") + `}`},
	} {
		k := newTaskScript(t)
		k.make("7")
		k.s.client.can = message.CanAll
		seq := k.call(1, c.method, taskID)
		k.step(message.ServerRequest{Seq: seq, Key: 5, Frame: actortest.Frame(t, fmt.Sprintf(asking, "elicitation/create"))})
		x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
		x.Frame = actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":`+c.sent+`}`)
		got := ""
		for _, e := range k.step(message.Inbound{Exchange: x}) {
			if m, is := e.Msg.(message.ServerRequestResult); is {
				got = string(m.Result)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// The queries of tasks/list may exceed limits.maxInFlightPerClient by one page. A query times out after listingTime if no server
// takes it, and half of listingTime after it was written.
func TestLimitsOfListTasks(t *testing.T) {
	for limit, refused := range map[int]bool{0: false, 1: true, 2: false, 3: false} {
		k := newTaskScript(t)
		for i := range taskPage {
			k.make(fmt.Sprint(i))
		}
		k.make("7")
		for id := range 2 {
			k.call(10+id, "tasks/result", taskID)
		}
		k.s.limits.MaxInFlightPerClient = limit
		answered, sent := k.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`)
		if strings.Contains(answered, "OVERLOADED") != refused || (len(sent) == 0) != refused {
			t.Errorf("limit %d: %d queries, answered %s", limit, len(sent), answered)
		}
		if refused {
			continue
		}
		for i, seq := range []uint64{sent[0].Call.Seq, sent[1].Call.Seq} {
			h := k.s.calls.Held(seq)
			if at := h.Deadline().Sub(time.Unix(1000, 0)); at != listingTime {
				t.Errorf("query %d ends after %v if no server takes it, want %v", i, at, listingTime)
			}
			k.step(message.RequestWritten{Seq: seq})
			if at := k.s.calls.Held(seq).Deadline().Sub(time.Unix(1000, 0)); at != listingTime/2 {
				t.Errorf("query %d ends %v after it was written, want %v", i, at, listingTime/2)
			}
		}
	}
}

// If a server refuses a subscription because it does not know the resource, the error names the URI that the client used.
func TestUnknownResourceIsNamedAsTheClientDoes(t *testing.T) {
	for name, want := range map[protocol.FaultName]string{protocol.ResourceNotFound: "file:///r", protocol.ServerUnavailable: "server's own words"} {
		k := opened(t, 0)
		k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///r"}}`))
		got := k.answerOf(message.SubscribeURIResult{Seq: 1, Fault: &protocol.Fault{Name: name, Message: "server's own words"}})
		if !strings.Contains(got, want) || strings.Contains(got, "own words") != (name != protocol.ResourceNotFound) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Active, pending and reserved subscriptions count for the limit of a session.
func TestSubscriptionsAreLimited(t *testing.T) {
	for name, fill := range map[string]func(u *subscriptions, n int){
		"active": func(u *subscriptions, n int) {
			for i := range n {
				put(&u.active, clientsubs.Resource{Server: "one", URI: fmt.Sprint(i)}, &clientsubs.Subscription{})
			}
		},
		"pending": func(u *subscriptions, n int) {
			for i := range n {
				put(&u.pending, uint64(i+100), subscribing{})
			}
		},
		"reserving": func(u *subscriptions, n int) {
			for i := range n {
				put(&u.reserving, uint64(i+100), &reservation{})
			}
		},
	} {
		for n, want := range map[int]string{clientsubs.MaxSubscriptions - 1: "subscribing", clientsubs.MaxSubscriptions: "OVERLOADED"} {
			k := opened(t, 0)
			fill(&k.s.subs, n)
			if got := k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///r"}}`)); got != want {
				t.Errorf("%d %s: %q, want %q", n, name, got, want)
			}
		}
	}
}

// A resource whose subscribe is pending counts once, and a client may subscribe again to a resource at the limit.
func TestPendingSubscriptionsCountOnce(t *testing.T) {
	const subscribe = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///r"}}`
	for _, c := range []struct {
		name      string
		resources int
		first     string // the first resource
	}{
		{"one subscription below the limit", clientsubs.MaxSubscriptions - 1, "0"},
		{"at the limit, already subscribed to the resource", clientsubs.MaxSubscriptions, "file:///r"},
	} {
		k := opened(t, 0)
		for i := range c.resources {
			uri := fmt.Sprint(i)
			if i == 0 {
				uri = c.first
			}
			put(&k.s.subs.active, clientsubs.Resource{Server: "one", URI: uri}, &clientsubs.Subscription{})
			if i > 0 {
				put(&k.s.subs.pending, uint64(i+100), subscribing{})
			}
		}
		if got := k.step(k.from(subscribe)); got != "subscribing" {
			t.Errorf("%s: %q, want subscribing", c.name, got)
		}
	}
}

// Without authentication, subscriptions are not counted, so nothing is returned to the gateway.
func TestNothingToRelease(t *testing.T) {
	k := opened(t, 0)
	k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///r"}}`))
	k.step(message.SubscribeURIResult{Seq: 1})
	for _, e := range step(k.s, time.Unix(1000, 0), k.from(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"file:///r"}}`), nil) {
		if m, is := e.Msg.(message.ReleaseSubscriptions); is {
			t.Errorf("returned %+v", m)
		}
	}
}

// A server's own update is stored if it is short enough. A longer one, or one about a part that has to stand for the
// whole resource, is replaced by an update from the gateway.
func TestUpdatesThatAreKept(t *testing.T) {
	update := func(uri string, size int) message.ResourceUpdated {
		u, _ := message.UpdatedURI(uri)
		m := message.ResourceUpdated{Server: "one", URI: u.URI, Frame: u.Frame, Span: u.Span}
		for len(m.Frame.Raw) < size {
			m.Frame.Raw = append(m.Frame.Raw, ' ')
		}
		return m
	}
	own, _ := message.UpdatedURI("file:///d")
	for size, kept := range map[int]bool{maxDueFrame - 1: true, maxDueFrame: true, maxDueFrame + 1: false} {
		if got := boundedUpdate(update("file:///d", size), "file:///d"); (len(got.Frame.Raw) == size) != kept || !kept && string(got.Frame.Raw) != string(own.Frame.Raw) {
			t.Errorf("an update of %d bytes: %d bytes are stored", size, len(got.Frame.Raw))
		}
	}
	if got := boundedUpdate(update("file:///d/part", 0), "file:///d"); got.URI != "file:///d" || string(got.Frame.Raw) != string(own.Frame.Raw) {
		t.Errorf("an update of a part became %s", got.Frame.Raw)
	}
}

// Updates of all resources share a limit. Exactly at the limit, a second update of a resource and the first are
// replaced with one update of the whole resource.
func TestUpdatesOfAllResourcesAreLimited(t *testing.T) {
	r := clientsubs.Resource{Server: "one", URI: "file:///d"}
	for waiting, want := range map[int]int{maxDueTogether - 1: 2, maxDueTogether: 1} {
		u := subscriptions{active: map[clientsubs.Resource]*clientsubs.Subscription{r: {Due: []message.ResourceUpdated{{URI: "file:///d/1"}}}}, waiting: waiting}
		u.keep(r, message.ResourceUpdated{Server: "one", URI: "file:///d/2"})
		if n := len(u.active[r].Due); n != want || u.waiting != waiting+want-1 {
			t.Errorf("%d updates wait: %d of the resource are kept, counted as %d; want %d", waiting, n, u.waiting, want)
		}
	}
}

// When a client leaves, the session notifies only servers with connections for this client alone. Only these connections get its log
// level.
func TestServersOfOneClient(t *testing.T) {
	for name, c := range map[string]struct {
		tenant *message.Tenant
		want   int
	}{"shared": {nil, 0}, "several clients": {&message.Tenant{Key: "principal"}, 0}, "this client": {&message.Tenant{Key: "session", Client: "session"}, 1}} {
		k := opened(t, 0)
		k.s.client.level = protocol.LevelError
		k.s.noteTenant(c.tenant, "one", kernel.Reference{})
		if c.tenant != nil && (c.tenant.Level == protocol.LevelError) != (c.want == 1) {
			t.Errorf("%s: level %v", name, c.tenant.Level)
		}
		told := 0
		for _, e := range step(k.s, time.Unix(1000, 0), kernel.Stopping{}, nil) {
			if m, is := e.Msg.(message.ClientGone); is && m.Client == "session" {
				told++
			}
		}
		if told != c.want {
			t.Errorf("%s: %d servers are told, want %d", name, told, c.want)
		}
	}
}
