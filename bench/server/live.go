package server

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/bench/wire"
)

// ItemURI is the URI of the resource that commands can change.
const ItemURI = "bench://item"

// streamTimeout limits a write to one stream. A stream that blocks for longer is closed, because it delays the others.
const streamTimeout = 10 * time.Second

// live is the changeable state of a raw server. The load generator changes it with commands on a separate socket
// (control), so that commands do not disturb the measured connections.
type live struct {
	tools  []string // listed tools, besides the one that changes
	modern bool

	mu         sync.Mutex
	streams    map[*outStream]bool
	subscribed map[string]bool // legacy sessions that are subscribed to the resource
	changes    int             // of the list

	list  atomic.Pointer[[]byte] // tail of the response to tools/list
	until atomic.Int64           // Unix time in nanoseconds until which the server sends no responses
	lists atomic.Int64           // number of requests for the list

	listed atomic.Int64 // Unix time of the last request for the list, in nanoseconds
}

// outStream is a stream on which a client receives notifications.
type outStream struct {
	id             []byte // raw id of the subscriptions/listen request; nil = legacy
	session        string // legacy: the session; "" on stdio; the path for POST requests over HTTP+SSE
	lists, updates bool   // requested notifications
	mu             sync.Mutex
	write          func(message []byte) error // frames and writes one message; the caller holds mu
}

func newLive(tools []string, modern bool) *live {
	l := &live{tools: tools, modern: modern, streams: map[*outStream]bool{}, subscribed: map[string]bool{}}
	l.rebuild()
	return l
}

// rebuild builds the list of tools. The name of the last tool contains the number of changes.
func (l *live) rebuild() {
	result := `{"tools":[` + strings.Join(append(l.tools[:len(l.tools):len(l.tools)],
		fmt.Sprintf(`{"name":"change_%d","inputSchema":{"type":"object"}}`, l.changes)), ",") + `]}`
	text := wire.ResultTail(result)
	if l.modern {
		text = modernTail(strings.TrimSuffix(result, "}") + `,"ttlMs":3600000,"cacheScope":"public"}`)
	}
	l.list.Store(&text)
}

func (l *live) open(e *outStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.id == nil {
		e.lists, e.updates = true, l.subscribed[e.session]
	}
	l.streams[e] = true
}

// subscribe subscribes a session to updates, or unsubscribes it. Only subscribed sessions receive updates, because a
// gateway opens several sessions.
func (l *live) subscribe(session []byte, wants bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribed[string(session)] = wants
	for e := range l.streams {
		if e.id == nil && e.session == string(session) {
			e.updates = wants
		}
	}
}

// forget removes a session.
func (l *live) forget(session []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subscribed, string(session))
}

func (l *live) close(e *outStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, e)
}

// closeID closes the stream that answers the request with that raw id.
func (l *live) closeID(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.streams {
		if string(e.id) == string(id) {
			delete(l.streams, e)
		}
	}
}

// wait blocks while the server hangs.
func (l *live) wait() {
	for until := l.until.Load(); until != 0; until = l.until.Load() {
		pause := time.Until(time.Unix(0, until))
		if pause <= 0 {
			l.until.CompareAndSwap(until, 0)
			return
		}
		time.Sleep(pause)
	}
}

// notify writes a notification to every stream that requested it, sequentially. params lack the closing brace.
func (l *live) notify(method, params string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := []byte(`{"jsonrpc":"2.0","method":"` + method + `"`)
	if params != "" {
		message = append(message, `,"params":`+params+`}`...)
	}
	message = append(message, '}')
	for e := range l.streams {
		text := message
		if !(e.updates && params != "" || e.lists && params == "") {
			continue
		}
		if e.id != nil {
			before := "{"
			if params != "" {
				before = params + ","
			}
			text = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":%s"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, method, before, e.id)
		}
		e.mu.Lock()
		err := e.write(text)
		e.mu.Unlock()
		if err != nil {
			delete(l.streams, e)
		}
	}
}

// updated sends notifications of the nth change of the resource.
func (l *live) updated(n string) {
	l.notify("notifications/resources/updated", `{"uri":"`+ItemURI+`","n":`+n)
}

// change changes the list, sends notifications of the change, and returns the number of changes so far.
func (l *live) change() int {
	l.mu.Lock()
	l.changes++
	n := l.changes
	l.rebuild()
	l.mu.Unlock()
	l.notify("notifications/tools/list_changed", "")
	return n
}

// control starts serving commands on the unix socket at path: a line per command, a line per response. It serves them
// until the process ends.
func (l *live) control(path string) error {
	_ = os.Remove(path) // left by a killed process
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					if _, err := fmt.Fprintln(conn, l.command(strings.Fields(lines.Text()))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return nil
}

// command executes a command and returns its result, or -1 if the command is unknown.
func (l *live) command(words []string) int {
	if len(words) == 0 {
		return -1
	}
	millis := 0
	if len(words) > 1 {
		millis, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "pid":
		return os.Getpid()
	case "lists":
		return int(l.lists.Load())
	case "listed":
		return int(l.listed.Load())
	case "streams":
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.streams)
	case "updated":
		l.updated(words[len(words)-1])
		return 0
	case "change":
		return l.change()
	case "hang":
		l.until.Store(time.Now().Add(time.Duration(millis) * time.Millisecond).UnixNano())
		return 0
	case "flood":
		n := 0
		for end := time.Now().Add(time.Duration(millis) * time.Millisecond); time.Now().Before(end); {
			n = l.change()
		}
		return n
	}
	return -1
}
