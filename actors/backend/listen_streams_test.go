package backend

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// Over HTTP, a stream for new URIs is opened and acknowledged before the old one is closed. Changes that both streams report
// are reported to the pool once.
func TestMakeBeforeBreak(t *testing.T) {
	one(t, true, &actortest.Modern{ListChanged: true, Subscribable: []string{"file:///a", "file:///b"}}, func(t *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///a")
		b.wantHeard("acknowledged", "query 1 yes")
		if n := server.Streams(); n != 2 {
			t.Fatalf("%d streams, want the old one and the new one", n)
		}
		server.Notify("notifications/resources/updated", `,"uri":"file:///a"`)
		server.Notify("notifications/tools/list_changed", "")
		synctest.Wait()
		b.wantHeard("while both are open")
		time.Sleep(overlapTime)
		synctest.Wait()
		b.wantHeard("when the old one is closed", "updated file:///a", "0 tools announced true")
		if n := server.Streams(); n != 1 {
			t.Fatalf("%d streams, want one", n)
		}
		server.Notify("notifications/resources/updated", `,"uri":"file:///a"`)
		synctest.Wait()
		b.wantHeard("after the overlap", "updated file:///a")

		b.subscribe(2, "file:///b")
		b.subscribe(3, "file:///a") // already acknowledged
		time.Sleep(time.Second)
		synctest.Wait()
		b.wantHeard("two URIs subscribed", "query 2 yes", "query 3 yes")
		b.ask(4, protocol.MethodResourcesUnsubscribe, "file:///a")
		time.Sleep(time.Second)
		synctest.Wait()
		b.wantHeard("one URI left", "query 4 yes")
		streams := server.Received("subscriptions/listen")
		if last := string(streams[len(streams)-1].Frame.Raw); !strings.Contains(last, `"resourceSubscriptions":["file:///b"]`) || server.Streams() != 1 {
			t.Errorf("%d streams, the last request is %s", server.Streams(), last)
		}
	})
}

// Over stdio, each new URI gets an additional stream and none is closed, since the server would drop the subscription to
// lists. A URI that is wanted again needs no new stream. Beyond maxAdditional, one stream replaces all.
func TestAdditionalStreams(t *testing.T) {
	var known []string
	for i := range maxAdditional + 1 {
		known = append(known, fmt.Sprintf("file:///%02d", i))
	}
	one(t, false, &actortest.Modern{ListChanged: true, LosesListChanges: true, Subscribable: known}, func(t *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, known[0])
		b.ask(2, protocol.MethodResourcesUnsubscribe, known[0])
		b.subscribe(3, known[1])
		b.subscribe(4, known[0])
		b.wantHeard("acknowledged", "query 1 yes", "query 2 yes", "query 3 yes", "query 4 yes")
		if n := server.Streams(); n != 3 {
			t.Fatalf("%d streams, want one for lists and one for each URI", n)
		}
		server.Notify("notifications/resources/updated", `,"uri":"file:///00"`)
		server.Notify("notifications/resources/updated", `,"uri":"file:///01"`)
		server.Notify("notifications/tools/list_changed", "")
		synctest.Wait()
		b.wantHeard("at once", "updated file:///00", "updated file:///01", "0 tools announced true")
		for i, uri := range known[2:] {
			b.subscribe(uint64(i), uri)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.heardOf()
		if n := server.Streams(); n != 1 {
			t.Fatalf("%d streams after the limit was exceeded, want one", n)
		}
		for _, uri := range known {
			server.Notify("notifications/resources/updated", fmt.Sprintf(`,"uri":%q`, uri))
			synctest.Wait()
			b.wantHeard("beyond the limit", "updated "+uri)
		}
	})
}

// One of several streams ends. It is opened again after a pause, and its resources are reported as changed.
func TestOneOfSeveralStreamsIsReopened(t *testing.T) {
	one(t, false, &actortest.Modern{ListChanged: true, Subscribable: []string{"file:///a", "file:///b"}}, func(t *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///a")
		b.subscribe(2, "file:///b")
		b.heardOf()
		server.Received("subscriptions/listen")[1].Result(`{"resultType":"complete"}`)
		time.Sleep(listenMin)
		synctest.Wait()
		b.wantHeard("after the pause", "updated file:///a")
		streams := server.Received("subscriptions/listen")
		if last := string(streams[len(streams)-1].Frame.Raw); len(streams) != 4 || !strings.Contains(last, `"notifications":{"resourceSubscriptions":["file:///a"]}`) {
			t.Errorf("%d streams, the last request is %s", len(streams), last)
		}
	})
}

// One of several streams ends, and the server refuses a new one for a while. The request is repeated.
func TestOneOfSeveralStreamsIsRefused(t *testing.T) {
	server := &actortest.Modern{ListChanged: true}
	var refuses atomic.Bool
	server.Listen = func(g actortest.Message) {
		acked := `"toolsListChanged":true`
		if strings.Contains(string(g.Frame.Raw), `"file:///a"`) {
			if refuses.Load() {
				g.Error(-32000, "not now", "{}")
				return
			}
			acked = `"resourceSubscriptions":["file:///a"]`
		}
		g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{%s}}`, g.ID(), acked))
	}
	one(t, false, server, func(_ *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///a")
		b.wantHeard("subscribed", "query 1 yes")
		refuses.Store(true)
		server.Received("subscriptions/listen")[1].Result(`{"resultType":"complete"}`)
		time.Sleep(2 * listenMin)
		synctest.Wait()
		refuses.Store(false)
		time.Sleep(listenMax)
		synctest.Wait()
		b.wantHeard("when the server accepts again", "updated file:///a")
	})
}

// The server acknowledges no changes on the first stream and ends it, as servers do whose lists never change. Additional
// streams that end are still opened again.
func TestStreamWithoutAcknowledgedChangesEnds(t *testing.T) {
	server := &actortest.Modern{ListChanged: true}
	server.Listen = func(g actortest.Message) {
		acked := ""
		if strings.Contains(string(g.Frame.Raw), `"file:///a"`) {
			acked = `"resourceSubscriptions":["file:///a"]`
		}
		g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{%s}}`, g.ID(), acked))
	}
	one(t, false, server, func(_ *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///a")
		b.wantHeard("acknowledged", "query 1 yes")
		for _, g := range server.Received("subscriptions/listen") {
			g.Result(`{"resultType":"complete"}`)
			synctest.Wait()
		}
		time.Sleep(listenMin)
		synctest.Wait()
		b.wantHeard("after the pause", "updated file:///a")
	})
}

// A server that reports no changes to lists ends the stream for them. It may still report changes to resources.
func TestStreamForListsEnds(t *testing.T) {
	server := &actortest.Modern{ListChanged: true}
	server.Listen = func(g actortest.Message) {
		if !strings.Contains(string(g.Frame.Raw), `"file:///a"`) {
			g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}`, g.ID()))
			g.Result(`{"resultType":"complete"}`)
			return
		}
		g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":["file:///a"]}}`, g.ID()))
	}
	one(t, false, server, func(t *testing.T, server *actortest.Modern, b *bench) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(server.Received("subscriptions/listen")); n != 1 {
			t.Errorf("a stream that reports nothing was opened %d times", n)
		}
		b.heardOf()
		b.subscribe(1, "file:///a")
		b.wantHeard("subscribed", "query 1 yes")
	})
}

// The first stream ends while an additional one waits for its acknowledgment. It is opened again after that.
func TestFirstStreamEndsBeforeTheSecondIsAcknowledged(t *testing.T) {
	server := &actortest.Modern{ListChanged: true}
	acknowledge := func(g actortest.Message) {
		g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}`, g.ID(), g.Params.Notifications.Of(g.Frame.Raw)))
	}
	server.Listen = func(g actortest.Message) {
		if strings.Contains(string(g.Frame.Raw), `"toolsListChanged"`) {
			acknowledge(g)
		}
	}
	one(t, false, server, func(t *testing.T, server *actortest.Modern, b *bench) {
		b.subscribe(1, "file:///a")
		streams := server.Received("subscriptions/listen")
		streams[0].Result(`{"resultType":"complete"}`)
		acknowledge(streams[1])
		time.Sleep(time.Second)
		synctest.Wait()
		b.heardOf()
		if streams = server.Received("subscriptions/listen"); len(streams) != 3 || !strings.Contains(string(streams[2].Frame.Raw), `"toolsListChanged":true`) || server.Opened() != 1 {
			t.Errorf("%d streams of %d connections, want the first one again, on the same connection", len(streams), server.Opened())
		}
	})
}
