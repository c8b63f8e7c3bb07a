package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// ask sends a query of the pool.
func (b *bench) ask(key uint64, m protocol.Method, uri string) {
	b.backend.Tell(message.Query{Key: key, Method: m, Params: fmt.Appendf(nil, `{"uri":%q}`, uri)})
	synctest.Wait()
}

func (b *bench) subscribe(key uint64, uri string) {
	b.ask(key, protocol.MethodResourcesSubscribe, uri)
}

// heardOf returns a summary of the messages to the pool.
func (b *bench) heardOf() (list []string) {
	for _, msg := range b.pool.Got() {
		switch m := msg.(type) {
		case message.QueryResult:
			switch {
			case m.Fault != nil && m.Fault.Name == protocol.ResourceNotFound:
				list = append(list, fmt.Sprintf("query %d no", m.Key))
			case m.Fault != nil:
				list = append(list, fmt.Sprintf("query %d %s", m.Key, m.Fault.Name))
			default:
				list = append(list, fmt.Sprintf("query %d yes", m.Key))
			}
		case message.ResourceChanged:
			list = append(list, "updated "+m.URI)
		case message.Listed:
			if m.Kind == protocol.Tools {
				list = append(list, fmt.Sprintf("%d tools announced %v", len(m.Items), m.Announced))
			}
		}
	}
	return list
}

func (b *bench) wantHeard(when string, want ...string) {
	b.t.Helper()
	if got := b.heardOf(); !slices.Equal(got, want) {
		b.t.Errorf("%s: pool got %q, want %q", when, got, want)
	}
}

// both runs f with a server on stdio and one over HTTP.
func both(t *testing.T, like *actortest.Modern, f func(t *testing.T, server *actortest.Modern, b *bench)) {
	t.Helper()
	for _, http := range []bool{false, true} {
		t.Run(map[bool]string{false: "stdio", true: "http"}[http], func(t *testing.T) {
			one(t, http, like, f)
		})
	}
}

// one runs f with a server on stdio or over HTTP.
func one(t *testing.T, http bool, like *actortest.Modern, f func(t *testing.T, server *actortest.Modern, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{HTTP: http, Tools: like.Tools, ListChanged: like.ListChanged, Subscribable: like.Subscribable, LosesListChanges: like.LosesListChanges, Listen: like.Listen}
		b := modern(t, server)
		defer b.stop()
		b.pool.Got()
		f(t, server, b)
	})
}

// The stream is opened before the lists are fetched, so that no change is missed in between.
func TestStreamIsOpenedBeforeListsAreFetched(t *testing.T) {
	both(t, &actortest.Modern{Tools: []string{"a"}, ListChanged: true}, func(t *testing.T, server *actortest.Modern, b *bench) {
		asked := func(m string) bool { return m == "initialize" } // a process gets it first
		if m := slices.DeleteFunc(server.Methods(), asked); !slices.Equal(m[:3], []string{"server/discover", "subscriptions/listen", "tools/list"}) {
			t.Errorf("server got %v", m)
		}
		if sent := string(server.Received("subscriptions/listen")[0].Frame.Raw); !strings.Contains(sent, `"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}`) {
			t.Errorf("request %s", sent)
		}
		server.SetTools("a", "b")
		synctest.Wait()
		b.wantHeard("after a change", "2 tools announced true")
	})
}

// A subscription to a URI that the server does not acknowledge fails, and the URI is not requested again.
func TestUnknownURI(t *testing.T) {
	both(t, &actortest.Modern{ListChanged: true, Subscribable: []string{"file:///a"}}, func(t *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///nowhere")
		b.subscribe(2, "file:///a")
		time.Sleep(time.Second)
		synctest.Wait()
		b.wantHeard("two subscriptions", "query 1 no", "query 2 yes")
		streams := server.Received("subscriptions/listen")
		if last := string(streams[len(streams)-1].Frame.Raw); !strings.Contains(last, `"resourceSubscriptions":["file:///a"]`) {
			t.Errorf("the last request is %s", last)
		}
	})
}

// A URI that was not acknowledged may be requested again. Each request is answered.
func TestUnknownURIRequestedAgain(t *testing.T) {
	both(t, &actortest.Modern{ListChanged: true, Subscribable: []string{"file:///a"}}, func(t *testing.T, server *actortest.Modern, b *bench) {
		for key := range uint64(2 * maxAdditional) {
			b.subscribe(key, "file:///no")
			time.Sleep(time.Second)
			b.wantHeard("refused", fmt.Sprintf("query %d no", key))
		}
		b.subscribe(100, "file:///a")
		time.Sleep(time.Second)
		b.wantHeard("known", "query 100 yes")
		if n := server.Streams(); n > maxAdditional+1 {
			t.Errorf("%d streams open, want at most %d", n, maxAdditional+1)
		}
	})
}

// A stream that ended is opened again after a pause, and changes that may have been missed are reported.
func TestBrokenStreamIsReopened(t *testing.T) {
	for _, gracefully := range []bool{false, true} {
		both(t, &actortest.Modern{ListChanged: true, Tools: []string{"x"}, Subscribable: []string{"file:///a"}}, func(t *testing.T, server *actortest.Modern, b *bench) {
			b.subscribe(1, "file:///a")
			time.Sleep(time.Second)
			b.heardOf()
			server.EndStreams(gracefully)
			synctest.Wait()
			b.wantHeard("when it broke")
			if server.Streams() != 0 {
				t.Fatal("opened again without a pause")
			}
			time.Sleep(listenMin)
			synctest.Wait()
			b.wantHeard("after the pause", "updated file:///a", "1 tools announced false")
			if server.Streams() != 1 {
				t.Error("not opened again")
			}
		})
	}
}

// The pause before a broken stream is opened again grows.
func TestPausesGrowWhileStreamsBreak(t *testing.T) {
	both(t, &actortest.Modern{ListChanged: true}, func(t *testing.T, server *actortest.Modern, _ *bench) {
		for range 3600 {
			server.EndStreams(false)
			time.Sleep(time.Second)
		}
		if n := len(server.Received("subscriptions/listen")); n < 100 || n > 300 {
			t.Errorf("%d streams in an hour, want one every 15 to 30 s", n)
		}
	})
}

// A server that never acknowledges a stream still becomes ready. Subscriptions fail after ackTime.
func TestServerThatNeverAcknowledges(t *testing.T) {
	for _, http := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{HTTP: http, ListChanged: true, IgnoreListen: true}
			o := Options{Server: auto(), Open: server.Open, Transport: map[bool]string{true: "http", false: "stdio"}[http], Catalog: true}
			b := startOn(t, o)
			defer b.stop()
			time.Sleep(openingTime)
			synctest.Wait()
			if p := b.phases(); p[len(p)-1] != message.Ready {
				t.Fatalf("phases %v, want ready last", p)
			}
			b.subscribe(1, "file:///a")
			time.Sleep(3 * ackTime)
			synctest.Wait()
			b.wantHeard("after a minute and a half", "query 1 no")
		})
	}
}

// A server that does not support streams gets no further requests for them.
func TestServerWithoutStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{ListChanged: true, Listen: func(g actortest.Message) { g.Error(-32601, "Method not found", "") }}
		b := modern(t, server)
		defer b.stop()
		b.pool.Got()
		b.subscribe(1, "file:///a")
		time.Sleep(time.Hour)
		synctest.Wait()
		b.wantHeard("after an hour", "query 1 no")
		if n := len(server.Received("subscriptions/listen")); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// A connection that only carries calls opens no stream.
func TestConnectionsForCallsDoNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{ListChanged: true, Tools: []string{"a"}}
		b := startOn(t, Options{Server: auto(), Open: server.Open, Transport: "stdio"})
		defer b.stop()
		synctest.Wait()
		if m := server.Methods(); !slices.Equal(m, []string{"initialize", "server/discover"}) {
			t.Errorf("server got %v", m)
		}
	})
}

// When the connection is lost, subscriptions that wait for an acknowledgment fail.
func TestLossFailsQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{ListChanged: true, IgnoreListen: true}
		b := startOn(t, Options{Server: auto(), Open: server.Open, Transport: "stdio", Catalog: true})
		defer b.stop()
		time.Sleep(openingTime)
		synctest.Wait()
		b.subscribe(1, "file:///a")
		b.heardOf()
		server.Last().Close(nil)
		synctest.Wait()
		b.wantHeard("after the loss", "query 1 SERVER_UNAVAILABLE")
	})
}
