package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
)

// peer is an MCP endpoint of anybody's.
type peer struct {
	url     *url.URL
	headers string // lines of a request's head, each with its end
}

func newPeer(u *url.URL, headers []string) *peer {
	p := &peer{url: u}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		p.headers += strings.TrimSpace(name) + ": " + strings.TrimSpace(value) + "\r\n"
	}
	return p
}

func (p *peer) dial() (*wire, error) {
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	at := net.JoinHostPort(p.url.Hostname(), port)
	if p.url.Scheme != "https" {
		return dial("tcp", at)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", at, nil)
	if err != nil {
		return nil, err
	}
	return newWire(conn), nil
}

// text puts the headers of p into a request's text, behind its first line.
func (p *peer) text(request string) string {
	line, rest, _ := strings.Cut(request, "\r\n")
	return line + "\r\n" + p.headers + rest
}

func (p *peer) request(r *request) *request {
	head, body, _ := strings.Cut(string(r.text), "\r\n\r\n")
	return requestOf(p.text(head)+"\r\n\r\n", body)
}

func (p *peer) path() string { return p.url.RequestURI() }

// caller is one client of a peer, used by one goroutine at a time. Unlike those of the other measurements it does not know what
// the answer must be: it looks at ids and at the shape of the answer.
type caller struct {
	*wire
	at      *peer
	version string // agreed on; "" = there is no session
	last    time.Time

	swap sync.Mutex // held while wire is replaced or, by another goroutine, closed
}

// interrupt makes who waits for an answer wait no longer. From any goroutine.
func (c *caller) interrupt() {
	c.swap.Lock()
	defer c.swap.Unlock()
	c.close()
}

// idleAtMost is how long a connection may rest before it is made anew: servers close those that nobody uses, some after 5 s.
const idleAtMost = 2 * time.Second

// connect opens a connection and, unless the client is modern, a session on it.
func (p *peer) connect(modern bool) (*caller, error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	c := &caller{wire: w, at: p, last: time.Now()}
	if modern {
		return c, nil
	}
	if err := c.initialize(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *caller) initialize() error {
	var result struct{ ProtocolVersion string }
	answer, err := c.ask(newRequest(c.at.url.Host, c.at.path(), "", "", "initialize", initializeParams))
	if err == nil {
		err = json.Unmarshal(answer, &result)
	}
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if result.ProtocolVersion == "" || strings.ContainsAny(result.ProtocolVersion, "\r\n") {
		return errors.New("initialize: the answer names no protocol version")
	}
	c.version = result.ProtocolVersion
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	body, err := c.send([]byte(c.at.text(postHead(c.at.url.Host, c.at.path(), c.session, c.version, len(note)) + note)))
	if err == nil && c.status/100 != 2 {
		err = fmt.Errorf("status %d: %.200q", c.status, body)
	}
	if err != nil {
		return fmt.Errorf("notifications/initialized: %w", err)
	}
	return nil
}

// call returns a request that calls a method of c's peer again and again.
func (c *caller) call(method, name, params string) *request {
	if c.version == "" {
		return newModernRequest(c.at.url.Host, c.at.path(), method, name, strings.TrimSuffix(params, "}"))
	}
	return newRequest(c.at.url.Host, c.at.path(), c.session, c.version, method, params)
}

// ask sends r once and returns the result; an error as an answer is an error.
func (c *caller) ask(r *request) ([]byte, error) {
	r = c.at.request(r)
	body, err := c.send(r.next())
	if err != nil {
		return nil, err
	}
	what, f := c.judge(body, r.id)
	switch {
	case f != nil && f.Kind == protocol.KindError:
		var said struct{ Message string }
		_ = json.Unmarshal(f.ErrorBytes(), &said) // then the name has to do
		return nil, fmt.Errorf("%s: %.200s", what, said.Message)
	case what != "":
		return nil, fmt.Errorf("%s: %.300q", what, body)
	}
	return slices.Clone(f.ResultBytes()), nil
}

// send exchanges on a connection that lives.
func (c *caller) send(request []byte) ([]byte, error) {
	if c.ended || time.Since(c.last) > idleAtMost {
		w, err := c.at.dial()
		if err != nil {
			return nil, err
		}
		w.session = c.session
		c.swap.Lock()
		c.close()
		c.wire = w
		c.swap.Unlock()
	}
	body, err := c.exchange(request)
	c.last = time.Now()
	if err != nil {
		c.ended = true // what is left of it would be taken for the next answer
	}
	return body, err
}

// What may come instead of a result, besides the names of errors.
const (
	crossed = "crossed"
	lost    = "lost"
)

// judge returns "" for a result of the request with that id, else what came in its place. The frame is nil unless it is a result or an error.
func (c *caller) judge(body []byte, id uint64) (string, *protocol.Frame) {
	var f protocol.Frame
	found := false
	look := func(message []byte) {
		var one protocol.Frame
		if one.Parse(message) == nil && (one.Kind == protocol.KindResult || one.Kind == protocol.KindError) && !found {
			f, found = one, true
		}
	}
	if c.eventStream {
		events(body, look)
	} else {
		look(body)
	}
	switch {
	case !found && c.status != 200:
		return "HTTP " + strconv.Itoa(c.status), nil
	case !found:
		return lost, nil
	case f.Kind == protocol.KindError:
		return errorName(&f), &f
	case string(f.IDBytes()) != strconv.FormatUint(id, 10):
		return crossed, nil
	case f.Failure && failed(f.ResultBytes()):
		return "isError", nil
	}
	return "", &f
}

// failed tells whether a result says isError itself, and not something inside of it.
func failed(result []byte) bool {
	var r struct{ IsError bool }
	return json.Unmarshal(result, &r) == nil && r.IsError
}

// events calls each with the data of every event of a stream.
func events(stream []byte, each func(data []byte)) {
	var data []byte
	for line := range strings.SplitSeq(string(stream)+"\n", "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			if len(data) > 0 {
				each(data)
			}
			data = nil
			continue
		}
		if text, ok := strings.CutPrefix(line, "data:"); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(text, " ")...)
		}
	}
}

// keyPattern finds the key of the configuration that our gateway's errors name: the bound that said no.
var keyPattern = regexp.MustCompile(`\(((?:limits\.|queue\.)?[a-z]+[A-Za-z]*)[:)]`)

// errorName is what an error is called: by our gateway's name for it and the key it names, else by its number.
func errorName(f *protocol.Frame) string {
	var e struct {
		Code    json.Number
		Message string
		Data    json.RawMessage
	}
	if json.Unmarshal(f.ErrorBytes(), &e) != nil {
		return "an error without a code"
	}
	var data struct{ Code string }
	if json.Unmarshal(e.Data, &data) == nil && len(data.Code) > 0 && len(data.Code) < 40 {
		if key := keyPattern.FindStringSubmatch(e.Message); key != nil && len(key[1]) < 40 {
			return data.Code + " (" + key[1] + ")"
		}
		return data.Code
	}
	return "error " + e.Code.String()
}

// leave ends the session and the connection.
func (c *caller) leave() {
	if c.session != "" {
		_, _ = c.send([]byte(c.at.text(string(deleteRequest(c.at.url.Host, c.at.path(), c.session)))))
	}
	c.close()
}

// crowd is all clients of one climb.
type crowd struct {
	at      *peer
	tool    tool
	modern  bool
	rate    float64 // calls a second of all together, due whether or not others are answered; 0 = each client calls when it has its answer
	callers []*caller
}

// atOnce is how many clients come or leave at a time.
const atOnce = 16

// grow adds clients until there are n.
func (w *crowd) grow(ctx context.Context, n int) error {
	type come struct {
		c   *caller
		err error
	}
	for len(w.callers) < n && ctx.Err() == nil {
		several := min(atOnce, n-len(w.callers))
		came := make(chan come, several)
		for range several {
			go func() {
				c, err := w.at.connect(w.modern)
				came <- come{c, err}
			}()
		}
		var failed error
		for range several {
			one := <-came
			if one.err == nil {
				w.callers = append(w.callers, one.c)
			} else {
				failed = one.err
			}
		}
		if failed != nil {
			return failed
		}
	}
	return ctx.Err()
}

// leave ends all clients.
func (w *crowd) leave() {
	for group := range slices.Chunk(w.callers, atOnce) {
		var all sync.WaitGroup
		for _, c := range group {
			all.Go(c.leave)
		}
		all.Wait()
	}
	w.callers = nil
}

// calls is what happened in one step.
type calls struct {
	elapsed time.Duration
	tenths  []uint32       // latency of each result, in tenths of a microsecond
	others  map[string]int // what came instead of a result
}

func (r *calls) fail(what string) {
	if r.others == nil {
		r.others = map[string]int{}
	}
	r.others[what]++
}

// add puts what happened into the step.
func (s *LimitStep) add(r calls) {
	slices.Sort(r.tenths)
	s.Calls, s.P50, s.P99 = len(r.tenths), quantile(r.tenths, .5), quantile(r.tenths, .99)
	if r.elapsed > 0 {
		s.PerSecond = float64(s.Calls) / r.elapsed.Seconds()
	}
	s.Crossed, s.Lost = r.others[crossed], r.others[lost]
	delete(r.others, crossed)
	delete(r.others, lost)
	if len(r.others) > 0 {
		s.Refused = r.others
	}
}

// run has the first n clients call for d: a closed loop, or one at a constant rate.
func (w *crowd) run(ctx context.Context, n int, d time.Duration) (calls, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	interrupted := context.AfterFunc(ctx, func() {
		for _, c := range w.callers[:n] {
			c.interrupt()
		}
	})
	defer interrupted()
	results := make(chan calls, n)
	began := time.Now()
	var due atomic.Int64
	for i, c := range w.callers[:n] {
		go func() {
			if w.rate > 0 {
				results <- c.dueLoop(ctx, w, i, &due, began, d)
			} else {
				results <- c.loop(ctx, w, i, began.Add(d))
			}
		}()
	}
	var r calls
	for range n {
		one := <-results
		r.tenths = append(r.tenths, one.tenths...)
		for what, n := range one.others {
			for range n {
				r.fail(what)
			}
		}
	}
	if r.elapsed = time.Since(began); w.rate > 0 {
		r.elapsed = max(r.elapsed, d) // the last call is due a little before the end
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// repeated is the request that a client sends again and again. Each client has ids of its own, so that an answer that went to
// another one shows.
func (c *caller) repeated(w *crowd, index int) *request {
	request := c.at.request(c.call("tools/call", w.tool.Name, w.tool.params()))
	request.id = firstID + uint64(index%1700)*500_000 + uint64(time.Now().UnixMilli()%400_000)
	return request
}

// once sends it and notes what came; the time of a result counts from since.
func (c *caller) once(ctx context.Context, request *request, since time.Time, r *calls) time.Time {
	body, err := c.send(request.next())
	what := lost
	if err == nil {
		what, _ = c.judge(body, request.id)
	}
	done := time.Now()
	switch {
	case what == "":
		r.tenths = append(r.tenths, uint32(done.Sub(since)/100))
	case ctx.Err() == nil:
		r.fail(what)
		time.Sleep(time.Millisecond) // who refuses at once must not be asked without pause
		done = time.Now()
	}
	return done
}

// loop calls once, and until end each time when the last answer has come.
func (c *caller) loop(ctx context.Context, w *crowd, index int, end time.Time) calls {
	r := calls{tenths: make([]uint32, 0, 1<<10)}
	request := c.repeated(w, index)
	now := c.once(ctx, request, time.Now(), &r)
	for now.Before(end) && ctx.Err() == nil {
		now = c.once(ctx, request, now, &r)
	}
	return r
}

// notSent is what becomes of calls that nobody was free to send in twice the time.
const notSent = "not sent in time"

// dueLoop takes the next call that is due, waits until it is and sends it, until all that are due within d are sent. A call that
// had to wait for a free client is timed from when it was due.
func (c *caller) dueLoop(ctx context.Context, w *crowd, index int, next *atomic.Int64, began time.Time, d time.Duration) calls {
	r := calls{tenths: make([]uint32, 0, 1<<10)}
	request := c.repeated(w, index)
	for ctx.Err() == nil {
		due := time.Duration(float64(next.Add(1)-1) / w.rate * float64(time.Second))
		if due >= d {
			break
		}
		if time.Since(began) > 2*d {
			r.fail(notSent)
			continue
		}
		if wait := due - time.Since(began); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		c.once(ctx, request, began.Add(due), &r)
	}
	return r
}
