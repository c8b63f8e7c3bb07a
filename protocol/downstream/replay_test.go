package downstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// resumeHandler handles a session whose exchanges and streams use one Replay.
type resumeHandler struct {
	replay   *Replay
	calls    chan *Exchange
	streams  chan *EventStream // GET streams that the handler may push to
	outcomes chan Resumed
}

func newResumeHandler(o ReplayOptions) *resumeHandler {
	return &resumeHandler{NewReplay(o), make(chan *Exchange, 100), make(chan *EventStream, 100), make(chan Resumed, 100)}
}

func (f *resumeHandler) Post(x *Exchange) {
	x.Resumable(f.replay)
	f.calls <- x
}

func (*resumeHandler) Delete(x *Exchange) { x.Accept() }

func (f *resumeHandler) Open(s *EventStream) {
	if id := s.Origin.LastEvent; id != "" {
		outcome := s.Resume(f.replay, id)
		f.outcomes <- outcome
		switch outcome {
		case ResumedCall:
			return
		case ResumedStream:
			f.streams <- s
			return
		case ResumeGone:
			s.Refuse(400, nil, 0)
			return
		}
	}
	s.Resumable(f.replay)
	s.Accept()
	f.streams <- s
}

// sse is an event as the client reads it.
type sse struct{ id, retry, data string }

// events reads n events, or fewer if the stream ends.
func (*rawClient) events(r io.Reader, n int) (list []sse) {
	lines := bufio.NewReader(r)
	var e sse
	for len(list) < n {
		line, err := lines.ReadString('\n')
		if err != nil {
			return list
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "retry":
			e.retry = value
		case "data", "data:":
			e.data = value
		case "":
			if e != (sse{}) {
				list, e = append(list, e), sse{}
			}
		}
	}
	return list
}

func getAfter(id string) string {
	return strings.Replace(getText, "\r\n\r\n", "\r\nLast-Event-ID: "+id+"\r\n\r\n", 1)
}

// datas returns the data of each event that has any.
func datas(list []sse) []string {
	var frames []string
	for _, e := range list {
		if e.data != "" {
			frames = append(frames, e.data)
		}
	}
	return frames
}

func wantDatas(t *testing.T, list []sse, want ...string) {
	t.Helper()
	if got := datas(list); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// startCall posts a call, sends one notification for it, and reads the notification in the client.
func (f *resumeHandler) startCall(t *testing.T, address string, id int) (*rawClient, *Exchange, []sse) {
	t.Helper()
	c := dial(t, address)
	c.send(postText(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`, id)))
	x := <-f.calls
	x.Notify(protocol.Message{Frame: note("begun")}, WeightState, "progress")
	n := 1
	if f.replay.o.Prime {
		n = 2
	}
	list := c.events(c.response().Body, n)
	wantDatas(t, list, string(note("begun")))
	return c, x, list
}

// departed waits until the server has detected that the connection is lost.
func (*resumeHandler) departed(t *testing.T, x *Exchange) {
	t.Helper()
	h := x.port.(*Response)
	eventually(t, "the loss to be detected", func() bool {
		x.Notify(protocol.Message{Frame: note("p")}, WeightState, "p") // a write detects the loss
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.state == responseDetached
	})
}

// MCP 2025-11-25, resumability and redelivery; protocol.md L6, L7: a lost POST is not canceled. A GET with
// Last-Event-ID gets the rest of that stream, which ends with the answer.
func TestResumeCall(t *testing.T) {
	for _, prime := range []bool{true, false} {
		budget := stream.NewBudget(1 << 20)
		f := newResumeHandler(ReplayOptions{Prime: prime, Retry: 1500 * time.Millisecond, Budget: budget})
		_, address := serve(t, f, Options{Budget: budget}, testLimits)
		c, x, first := f.startCall(t, address, 1)
		if prime && (first[0].id == "" || first[0].data != "" || first[0].retry != "1500") {
			t.Errorf("the first event is %+v, want an id, retry, and no data", first[0])
		}
		last := first[len(first)-1].id
		_, other, _ := f.startCall(t, address, 2)
		other.Notify(protocol.Message{Frame: note("other")}, WeightLog, "")
		c.Close()
		h := x.port.(*Response)
		h.end(true) // as the connection's goroutine does when it detects the loss
		x.Notify(protocol.Message{Frame: note("log")}, WeightLog, "")
		x.Notify(protocol.Message{Frame: note("question")}, WeightAnswer, "")

		again := dial(t, address)
		again.send(getAfter(last))
		r := again.response()
		if outcome := <-f.outcomes; outcome != ResumedCall || r.StatusCode != 200 {
			t.Fatalf("%v, %d", outcome, r.StatusCode)
		}
		n := 2
		if prime {
			n = 3
		}
		list := again.events(r.Body, n)
		wantDatas(t, list, string(note("log")), string(note("question")))
		if prime && (list[0].id != last || list[0].data != "") {
			t.Errorf("begins with %+v, want the id that the client sent", list[0])
		}
		x.Notify(protocol.Message{Frame: note("live")}, WeightState, "progress")
		x.Answer(protocol.Message{Frame: []byte(pong)})
		list = append(list, again.events(r.Body, 9)...) // until the stream ends
		wantDatas(t, list, string(note("log")), string(note("question")), string(note("live")), pong)

		// The answer was sent, but possibly not received. It is still available.
		third := dial(t, address)
		third.send(getAfter(list[len(list)-2].id))
		wantDatas(t, third.events(third.response().Body, 9), pong)
		if outcome := <-f.outcomes; outcome != ResumedCall {
			t.Fatal(outcome)
		}
		// A client that has received the whole stream gets nothing more.
		if r, _ := dial(t, address).send(getAfter(list[len(list)-1].id)).body(); r.StatusCode != 400 || <-f.outcomes != ResumeGone {
			t.Errorf("after the last event: %d", r.StatusCode)
		}
		other.Answer(protocol.Message{Frame: []byte(pong)})
		f.replay.Close()
		eventually(t, "the budget to be free", func() bool { return budget.Used() == 0 })
	}
}

// Event ids that cannot be resumed: malformed ones, those of another session, forged ones, and those of forgotten streams.
func TestResumeUnknown(t *testing.T) {
	f := newResumeHandler(ReplayOptions{Prime: true})
	_, address := serve(t, f, Options{}, testLimits)
	_, x, first := f.startCall(t, address, 1)
	last := first[1].id
	foreign := "aaaaaaaa" + last[8:]
	tests := []struct {
		id   string
		want Resumed
	}{
		{"x", ResumedNothing}, {"0", ResumedNothing}, {f.replay.tag, ResumedNothing}, {f.replay.tag + "-", ResumedNothing},
		{f.replay.tag + "-p", ResumedNothing}, {f.replay.tag + "-x1-0", ResumedNothing}, {f.replay.tag + "-p1-!", ResumedNothing},
		{strings.Repeat("9", 5000), ResumedNothing},
		{foreign, ResumedNothing},
		{f.replay.tag + "-p99-0", ResumeGone}, // no such call is known
		{f.replay.tag + "-g99-0", ResumedNothing},
		{f.replay.tag + "-g1-0", ResumedNothing}, // the stream of a POST
		{f.replay.tag + "-p1-zz", ResumeGone},    // an event that was never sent
	}
	for _, test := range tests {
		r := dial(t, address).send(getAfter(test.id)).response()
		outcome := <-f.outcomes
		status := 200
		if test.want == ResumeGone {
			status = 400
		}
		if outcome != test.want || r.StatusCode != status {
			t.Errorf("%.40q: %v, %d; want %v, %d", test.id, outcome, r.StatusCode, test.want, status)
		}
	}
	x.Answer(protocol.Message{Frame: []byte(pong)})
}

// A client that reconnects before the loss was detected takes over its stream.
func TestResumeTakesOver(t *testing.T) {
	f := newResumeHandler(ReplayOptions{Prime: true})
	_, address := serve(t, f, Options{}, testLimits)
	c, x, first := f.startCall(t, address, 1)
	var body io.Reader
	for range 3 { // first from the POST, then from a GET
		again := dial(t, address)
		again.send(getAfter(first[1].id))
		r := again.response()
		<-f.outcomes
		if list := again.events(r.Body, 1); list[0].id != first[1].id {
			t.Fatalf("%+v", list)
		}
		c.closed()
		c, body = again, r.Body
	}
	x.Answer(protocol.Message{Frame: []byte(pong)})
	wantDatas(t, c.events(body, 9), pong)
}

// A stream opened by GET can be resumed. If it is closed early, its client is told how long to wait before it reconnects.
func TestResumeStream(t *testing.T) {
	f := newResumeHandler(ReplayOptions{Prime: true})
	s, address := serve(t, f, Options{}, testLimits)
	c := dial(t, address)
	c.send(getText)
	r := c.response()
	stream := <-f.streams
	stream.Push(protocol.Message{Frame: note("a")}, WeightState, "a")
	first := c.events(r.Body, 2)
	stream.Push(protocol.Message{Frame: note("b")}, WeightState, "b")
	c.Close()
	eventually(t, "the stream to end", func() bool { _, n := s.Connections(); return n == 0 })
	if !stream.Push(protocol.Message{Frame: note("lost")}, WeightState, "c").Over {
		t.Error("Push succeeded on a stream that has ended")
	}
	again := dial(t, address)
	again.send(getAfter(first[1].id))
	r = again.response()
	if outcome := <-f.outcomes; outcome != ResumedStream {
		t.Fatal(outcome)
	}
	next := <-f.streams
	next.Push(protocol.Message{Frame: note("c")}, WeightState, "c")
	list := again.events(r.Body, 3)
	wantDatas(t, list, string(note("b")), string(note("c")))
	next.Close()
	if rest := again.events(r.Body, 9); len(rest) != 1 || rest[0].retry != "1000" {
		t.Errorf("at its end: %+v, want retry", rest)
	}
	// A stream without messages is not retained.
	quiet := dial(t, address)
	quiet.send(getText)
	quiet.response()
	<-f.streams
	streams := f.replay.Stats().Streams
	quiet.Close()
	eventually(t, "the stream to be forgotten", func() bool { return f.replay.Stats().Streams == streams-1 })
}

// Close ends the resumed streams. Later messages are not retained.
func TestReplayClose(t *testing.T) {
	f := newResumeHandler(ReplayOptions{})
	_, address := serve(t, f, Options{}, testLimits)
	_, x, first := f.startCall(t, address, 1)
	again := dial(t, address)
	again.send(getAfter(first[0].id))
	r := again.response()
	<-f.outcomes
	f.replay.Close()
	again.events(r.Body, 9)
	again.closed()
	x.Notify(protocol.Message{Frame: note("late")}, WeightLog, "")
	x.Answer(protocol.Message{Frame: []byte(pong)})
	if stats := f.replay.Stats(); stats.Streams+stats.Events+stats.Bytes != 0 {
		t.Errorf("%+v", stats)
	}
}

// The messages of a stream arrive exactly once and in order, however often the connection is cut.
func TestResumeManyTimes(t *testing.T) {
	const messages = 400
	f := newResumeHandler(ReplayOptions{Prime: true})
	_, address := serve(t, f, Options{}, testLimits)
	c, x, list := f.startCall(t, address, 1)
	go func() {
		for i := range messages {
			x.Notify(protocol.Message{Frame: []byte(strconv.Itoa(i))}, WeightAnswer, "")
		}
		x.Answer(protocol.Message{Frame: []byte(strconv.Itoa(messages))})
	}()
	last, got := list[1].id, 0
	var body io.Reader
	c.Close()
	for cut := 1; got <= messages; cut++ {
		c = dial(t, address)
		c.send(getAfter(last))
		r, err := http.ReadResponse(c.r, nil)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("after %d: %v", got, err)
		}
		body = r.Body
		for _, e := range c.events(body, 1+cut%7*5) {
			last = e.id
			if e.data == "" || strings.HasPrefix(e.data, "{") {
				continue
			}
			if e.data != strconv.Itoa(got) {
				t.Fatalf("got message %s, want %d", e.data, got)
			}
			got++
		}
		if cut%2 == 0 {
			c.Conn.(*net.TCPConn).SetLinger(0) // reset
		}
		if cut%3 != 0 {
			c.Close()
		} // otherwise it stays open until the server closes it
	}
}
