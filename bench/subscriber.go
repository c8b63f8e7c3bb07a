package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// audience is subscribers that are told the same changes. The one who publishes them prepares a change, has the server
// publish it, and waits for all to have heard.
type audience struct {
	subscribers []*subscriber
	uri         string // public; "" = the list of tools

	change  atomic.Int64 // that everybody is to hear now
	missing atomic.Int64 // subscribers that have not
	all     chan struct{}

	doubled, crossed atomic.Int64
	events           atomic.Int64           // heard in all
	first            atomic.Pointer[string] // the first event that was not what it should be
}

// subscriber is one open stream.
type subscriber struct {
	*wire
	stream *stream // its session, of the legacy era
	events *bufio.Reader
	ended  chan struct{}

	heard atomic.Int64 // the last change
	at    atomic.Int64 // nanoseconds since the epoch of the run, when it was heard
}

// epoch is what times of arrival count from: monotonic, and small enough for an integer.
var epoch = time.Now()

// open opens n streams of clients of that era to a server or gateway.
func (a *audience) open(ctx context.Context, at *process, era string, n int) error {
	host, path := at.url.Host, at.url.Path
	post, err := dial("tcp", host)
	if err != nil {
		return err
	}
	defer post.close()
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w, err := dial("tcp", host)
		if err != nil {
			return err
		}
		w.in = bufio.NewReaderSize(w.conn, 1024)
		sub := &subscriber{wire: w, ended: make(chan struct{})}
		if era == "modern" {
			err = sub.listenModern(host, path, a.uri)
		} else {
			err = sub.listenLegacy(post, host, path, a.uri)
		}
		if err != nil {
			w.close()
			return err
		}
		a.subscribers = append(a.subscribers, sub)
		go sub.listen(a)
	}
	return nil
}

// close ends all streams and waits for their goroutines.
func (a *audience) close() {
	for _, sub := range a.subscribers {
		if sub.stream != nil && sub.stream.session != "" {
			sub.stream.close()
		} else {
			sub.wire.close()
		}
		<-sub.ended
	}
	a.subscribers = nil
}

// listenLegacy makes a session on post, subscribes, and opens its stream.
func (sub *subscriber) listenLegacy(post *wire, host, path, uri string) error {
	post.session = ""
	if err := post.handshake(host, path); err != nil {
		return err
	}
	if uri != "" {
		body, err := post.exchange(newRequest(host, path, post.session, protocolVersion, "resources/subscribe", `{"uri":"`+uri+`"}`).text)
		if err == nil && !bytes.Contains(body, []byte(`"result"`)) {
			err = fmt.Errorf("%.300q", body)
		}
		if err := post.expect("resources/subscribe", 200, body, err); err != nil {
			return err
		}
	}
	sub.stream = &stream{sub.wire, host, path, post.session}
	chunked, err := sub.wire.listen(host, path, post.session)
	if err != nil {
		return err
	}
	return sub.begin(chunked)
}

// listenModern sends subscriptions/listen and waits for its acknowledgment.
func (sub *subscriber) listenModern(host, path, uri string) error {
	filter := `{"toolsListChanged":true}`
	if uri != "" {
		filter = `{"resourceSubscriptions":["` + uri + `"]}`
	}
	r := newModernRequest(host, path, "subscriptions/listen", "", `{"notifications":`+filter)
	if _, err := sub.conn.Write(r.text); err != nil {
		return err
	}
	chunked, err := sub.streamHead()
	if err != nil {
		return err
	}
	if err := sub.begin(chunked); err != nil {
		return err
	}
	ack, err := sub.next()
	if err == nil && (!bytes.Contains(ack, []byte("subscriptions/acknowledged")) || !bytes.Contains(ack, []byte(filter[1:len(filter)-1]))) {
		err = fmt.Errorf("subscriptions/listen: got %.300q", ack)
	}
	return err
}

// begin makes the reader of events, when the header has been read.
func (sub *subscriber) begin(chunked bool) error {
	sub.events = sub.in
	if chunked {
		sub.events = bufio.NewReaderSize(httputil.NewChunkedReader(sub.in), 1024)
	}
	return sub.conn.SetDeadline(time.Time{})
}

// next returns the message of the next event that has one; valid until the next call.
func (sub *subscriber) next() ([]byte, error) {
	for {
		line, err := sub.events.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if data, found := bytes.CutPrefix(line, []byte("data: ")); found && len(data) > 2 {
			return bytes.TrimRight(data, "\r\n"), nil
		}
	}
}

// listen notes what is heard until the stream ends.
func (sub *subscriber) listen(a *audience) {
	defer close(sub.ended)
	for {
		message, err := sub.next()
		if err != nil {
			return
		}
		at := int64(time.Since(epoch))
		a.events.Add(1)
		n, fault := a.which(message)
		if fault {
			text := string(message)
			a.first.CompareAndSwap(nil, &text)
			a.crossed.Add(1)
			continue
		}
		before := sub.heard.Load()
		switch now := a.change.Load(); {
		case n == 0 && before == now, n != 0 && n <= before:
			a.doubled.Add(1)
			continue
		case n == 0:
			n = now
		case n != now:
			continue // late: that it was lost has been counted
		}
		sub.at.Store(at)
		sub.heard.Store(n)
		if a.missing.Add(-1) == 0 {
			a.all <- struct{}{}
		}
	}
}

// which returns the number of the change that a message tells of, 0 if it does not say (lists), and whether it is none that
// this audience may hear.
func (a *audience) which(message []byte) (n int64, fault bool) {
	if a.uri == "" {
		return 0, !bytes.Contains(message, []byte(`"notifications/tools/list_changed"`))
	}
	if !bytes.Contains(message, []byte(`"method":"notifications/resources/updated","params":{`)) || !bytes.Contains(message, []byte(`"uri":"`+a.uri+`"`)) {
		return 0, true
	}
	_, rest, _ := bytes.Cut(message, []byte(`"n":`))
	digits := strings.IndexFunc(string(rest), func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(string(rest[:max(digits, 0)]), 10, 64)
	return n, err != nil || n < 1 || n > a.change.Load()
}

// reset forgets what was heard while streams were being opened.
func (a *audience) reset() {
	a.doubled.Store(0)
	a.crossed.Store(0)
	a.first.Store(nil)
}

// told is how one change reached an audience.
type told struct {
	took []time.Duration // until each had heard
	last time.Duration   // until the last had; of those who did
	lost int             // had not after wait
}

// publish prepares the nth change, has it published and waits until all have heard of it, for wait at most.
func (a *audience) publish(ctx context.Context, n int64, wait time.Duration, publish func() error) (told, error) {
	select {
	case <-a.all:
	default:
	}
	a.missing.Store(int64(len(a.subscribers)))
	a.change.Store(n)
	began := time.Since(epoch)
	if err := publish(); err != nil {
		return told{}, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.all:
	case <-timer.C:
	case <-ctx.Done():
		return told{}, context.Cause(ctx)
	}
	var t told
	for _, sub := range a.subscribers {
		if sub.heard.Load() != n {
			t.lost++
			continue
		}
		took := time.Duration(sub.at.Load()) - began
		t.took = append(t.took, took)
		t.last = max(t.last, took)
	}
	return t, nil
}
