package load

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/bench/wire"
)

// subscriber is one open stream.
type subscriber struct {
	*wire.Conn
	stream *wire.Stream // the GET stream and its session; nil for a modern client
	events *bufio.Reader
	ended  chan struct{}

	received   atomic.Int64 // number of the last change
	receivedAt atomic.Int64 // when it was received, in nanoseconds since epoch
}

// listenLegacy initializes a session on post, subscribes, and opens the stream of the session.
func (sub *subscriber) listenLegacy(post *wire.Conn, host, path, uri string) error {
	post.Session = ""
	if err := post.Handshake(host, path); err != nil {
		return err
	}
	if uri != "" {
		body, err := post.Exchange(wire.NewRequest(host, path, post.Session, wire.LegacyVersion, "resources/subscribe", `{"uri":"`+uri+`"}`).Text)
		if err == nil && !bytes.Contains(body, []byte(`"result"`)) {
			err = fmt.Errorf("%.300q", body)
		}
		if err := post.Expect("resources/subscribe", 200, body, err); err != nil {
			return err
		}
	}
	sub.stream = wire.NewStream(sub.Conn, host, path, post.Session)
	chunked, err := sub.Conn.OpenStream(host, path, post.Session)
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
	r := wire.NewModernRequest(host, path, "subscriptions/listen", "", `{"notifications":`+filter)
	if _, err := sub.Net.Write(r.Text); err != nil {
		return err
	}
	chunked, err := sub.ReadStreamHeader()
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

// begin prepares reading events after the response header has been read.
func (sub *subscriber) begin(chunked bool) error {
	sub.events = sub.EventReader(chunked)
	return sub.Net.SetDeadline(time.Time{})
}

// next returns the message of the next event. It is valid until the next call.
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

// listen records notifications until the stream ends.
func (sub *subscriber) listen(a *Audience) {
	defer close(sub.ended)
	for {
		message, err := sub.next()
		if err != nil {
			return
		}
		at := int64(time.Since(epoch))
		a.Events.Add(1)
		n, fault := a.changeOf(message)
		if fault {
			text := string(message)
			a.FirstWrong.CompareAndSwap(nil, &text)
			a.Wrong.Add(1)
			continue
		}
		before := sub.received.Load()
		switch now := a.change.Load(); {
		case n == 0 && before == now, n != 0 && n <= before:
			a.Duplicated.Add(1)
			continue
		case n == 0:
			n = now
		case n != now:
			continue // late; it has been counted as lost
		}
		sub.receivedAt.Store(at)
		sub.received.Store(n)
		if a.missing.Add(-1) == 0 {
			a.all <- struct{}{}
		}
	}
}

// changeOf returns the number of the change in a notification. It returns 0 for a list, whose notifications have no
// number. fault is true if the audience should not have received the notification.
func (a *Audience) changeOf(message []byte) (n int64, fault bool) {
	if a.URI == "" {
		return 0, !bytes.Contains(message, []byte(`"notifications/tools/list_changed"`))
	}
	if !bytes.Contains(message, []byte(`"method":"notifications/resources/updated","params":{`)) || !bytes.Contains(message, []byte(`"uri":"`+a.URI+`"`)) {
		return 0, true
	}
	_, rest, _ := bytes.Cut(message, []byte(`"n":`))
	digits := strings.IndexFunc(string(rest), func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(string(rest[:max(digits, 0)]), 10, 64)
	return n, err != nil || n < 1 || n > a.change.Load()
}
