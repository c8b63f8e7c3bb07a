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

// liveURI is the one resource of a raw server that can be told to change.
const ItemURI = "bench://item"

// earTimeout is how long one stream may hold up all others of a raw server before it is given up.
const earTimeout = 10 * time.Second

// live is what can happen to a raw server while it runs. A bench commands it through a socket of its own (control), not
// through what it measures.
type live struct {
	tools  []string // of which the list is made anew
	modern bool

	mu      sync.Mutex
	ears    map[*ear]bool
	asked   map[string]bool // sessions of the legacy era that have subscribed
	changes int             // of the list so far

	list  atomic.Pointer[[]byte] // tail of the answer to tools/list
	until atomic.Int64           // unix nanoseconds; it answers nothing before
	lists atomic.Int64           // times that its list was asked for

	listed atomic.Int64 // unix nanoseconds of the last of these
}

// ear is one stream that a peer hears changes on.
type ear struct {
	id             []byte // raw id of the subscriptions/listen it answers; nil = of the legacy era
	session        string // of the legacy era: "" on stdio, the path that is posted to over HTTP+SSE
	lists, updates bool   // what it asked for
	mu             sync.Mutex
	say            func(message []byte) error // frames and writes one message; with mu held
}

func newLive(tools []string, modern bool) *live {
	l := &live{tools: tools, modern: modern, ears: map[*ear]bool{}, asked: map[string]bool{}}
	l.remake()
	return l
}

// remake writes the list of the tools there are now: the last one's name says how often it has changed.
func (l *live) remake() {
	result := `{"tools":[` + strings.Join(append(l.tools[:len(l.tools):len(l.tools)],
		fmt.Sprintf(`{"name":"change_%d","inputSchema":{"type":"object"}}`, l.changes)), ",") + `]}`
	text := wire.ResultTail(result)
	if l.modern {
		text = modernTail(strings.TrimSuffix(result, "}") + `,"ttlMs":3600000,"cacheScope":"public"}`)
	}
	l.list.Store(&text)
}

func (l *live) open(e *ear) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.id == nil {
		e.lists, e.updates = true, l.asked[e.session]
	}
	l.ears[e] = true
}

// subscribe notes that a session wants to hear of updates, or no longer. One that has not asked is told none: a gateway has several.
func (l *live) subscribe(session []byte, wants bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[string(session)] = wants
	for e := range l.ears {
		if e.id == nil && e.session == string(session) {
			e.updates = wants
		}
	}
}

// forget ends a session.
func (l *live) forget(session []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, string(session))
}

func (l *live) close(e *ear) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ears, e)
}

// closeID closes the stream that answers the request with that raw id.
func (l *live) closeID(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.ears {
		if string(e.id) == string(id) {
			delete(l.ears, e)
		}
	}
}

// wait returns when a server that hangs goes on.
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

// tell writes one notification to every stream that asked for it, one after the other. params lack their closing brace.
func (l *live) tell(method, params string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := []byte(`{"jsonrpc":"2.0","method":"` + method + `"`)
	if params != "" {
		message = append(message, `,"params":`+params+`}`...)
	}
	message = append(message, '}')
	for e := range l.ears {
		said := message
		if !(e.updates && params != "" || e.lists && params == "") {
			continue
		}
		if e.id != nil {
			before := "{"
			if params != "" {
				before = params + ","
			}
			said = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":%s"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, method, before, e.id)
		}
		e.mu.Lock()
		err := e.say(said)
		e.mu.Unlock()
		if err != nil {
			delete(l.ears, e)
		}
	}
}

// updated says that the resource has changed for the nth time.
func (l *live) updated(n string) {
	l.tell("notifications/resources/updated", `{"uri":"`+ItemURI+`","n":`+n)
}

// change makes another list and says so; it returns how often the list has changed.
func (l *live) change() int {
	l.mu.Lock()
	l.changes++
	n := l.changes
	l.remake()
	l.mu.Unlock()
	l.tell("notifications/tools/list_changed", "")
	return n
}

// control takes commands on the unix socket at path, one a line, and answers each with a line, until the process ends.
func (l *live) control(path string) error {
	_ = os.Remove(path) // of a process that was killed
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

// command carries out one command and returns a number.
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
	case "ears":
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.ears)
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
