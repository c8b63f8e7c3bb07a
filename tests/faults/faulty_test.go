//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// request holds the fields of a received message that a faulty server uses.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		Cursor          string          `json:"cursor"`
		RequestID       json.RawMessage `json:"requestId"`
		ProtocolVersion string          `json:"protocolVersion"`
		Arguments       json.RawMessage `json:"arguments"`
		Meta            struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// faulty is an MCP server on stdio with one fault; without a fault it is healthy.
type faulty struct {
	fault string
	mu    sync.Mutex // guards out, asked
	out   *bufio.Writer
	asked map[string]chan string // by the id of the server's request
}

// runFaulty is the main function of a faulty server. args[0] is its fault.
func runFaulty(args []string) int {
	f := &faulty{fault: args[0], out: bufio.NewWriterSize(os.Stdout, 1<<20), asked: map[string]chan string{}}
	switch f.fault {
	case "exit": // immediately, after a line on stderr
		fmt.Fprintln(os.Stderr, "GREETER_TOKEN is not set")
		return 3
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "family": // a grandchild that holds stdout and survives unless the process group is ended
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 1
		}
	case "garbage":
		f.raw("Listening on port 3000\n\x00\xff\xfe not text\n{broken\n[]\n[1,2\n\"text\"\n42\nnull\n{}\n" + strings.Repeat("x", 100_000) + "\n")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if f.fault == "stubborn" {
				select {}
			}
			return 0
		}
		var r request
		if json.Unmarshal(line, &r) == nil {
			f.handle(r)
		}
	}
}

func (f *faulty) raw(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.WriteString(text)
	_ = f.out.Flush()
}

func (f *faulty) say(format string, args ...any) { f.raw(fmt.Sprintf(format, args...) + "\n") }

func (f *faulty) result(id json.RawMessage, result string) {
	f.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// handle answers one message. Slow work runs in a goroutine.
func (f *faulty) handle(r request) {
	if r.Method == "" { // an answer to a request of this server
		f.mu.Lock()
		answer := f.asked[string(r.ID)]
		delete(f.asked, string(r.ID))
		f.mu.Unlock()
		if answer != nil {
			answer <- string(r.Result) + string(r.Error)
		}
		return
	}
	switch r.Method {
	case "initialize":
		f.initialize(r)
	case "notifications/initialized":
		f.afterInitialized()
	case "ping":
		f.result(r.ID, "{}")
	case "tools/list":
		f.list(r)
	case "resources/list":
		f.result(r.ID, `{"resources":[{"uri":"x://one","name":"one"}]}`)
	case "resources/read": // is never answered
	case "notifications/cancelled":
		fmt.Fprintln(os.Stderr, "cancelled", string(r.Params.RequestID))
	case "resources/templates/list":
		f.result(r.ID, `{"resourceTemplates":[]}`)
	case "prompts/list":
		f.result(r.ID, `{"prompts":[]}`)
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		f.result(r.ID, `{}`)
	case "tools/call":
		go f.call(r)
	default:
		if r.ID != nil {
			f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`, r.ID, r.Method)
		}
	}
}

func (f *faulty) initialize(r request) {
	switch f.fault {
	case "mute":
		return
	case "exit-handshake":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(4)
	case "wrong-id":
		f.say(`{"jsonrpc":"2.0","id":777,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"f","version":"1"}}}`)
		return
	case "refuses":
		f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"licence expired"}}`, r.ID)
		return
	case "broken-answer":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s"}}`, r.ID, "\xff")
		return
	case "empty-result":
		f.result(r.ID, `{}`)
		return
	case "no-object":
		f.result(r.ID, `[1,2,3]`)
		return
	case "future":
		f.result(r.ID, `{"protocolVersion":"2099-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}`)
		return
	}
	version := r.Params.ProtocolVersion
	f.result(r.ID, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"logging":{}},"serverInfo":{"name":"f","version":"1"}}`)
}

func (f *faulty) afterInitialized() {
	switch f.fault {
	case "asks-idle": // without any call
		go func() {
			answer := f.ask("elicitation/create", `{"message":"anybody?","requestedSchema":{"type":"object","properties":{}}}`)
			f.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":%s}}`, strconv.Quote(answer))
		}()
	case "changes":
		go func() {
			for {
				f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				time.Sleep(time.Millisecond)
			}
		}()
	case "noise": // messages that belong to no call
		go func() {
			for n := range 10_000 {
				f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, n)
				f.say(`{"jsonrpc":"2.0","method":"notifications/absent/knows","params":{"n":%d}}`, n)
				f.say(`{"jsonrpc":"2.0","id":%d,"result":{}}`, 1_000_000+n)
			}
		}()
	}
}

// ask sends a request to the client and waits for its answer.
func (f *faulty) ask(method, params string) string {
	f.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(f.asked)+1)
	answer := make(chan string, 1)
	f.asked[id] = answer
	f.mu.Unlock()
	f.say(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	return <-answer
}

// oddities is JSON that decoding and encoding would change.
const oddities = `{"z":9007199254740993,"a":1.0,"html":"<>&","e":1e3,"u":"\u00fc\/","a b":null,"n":-0.0}`

const oneTool = `{"name":"echo","inputSchema":{"type":"object"}}`

func (f *faulty) list(r request) {
	switch f.fault {
	case "asks-in-list":
		go func() {
			f.ask("roots/list", `{}`)
			f.result(r.ID, `{"tools":[`+oneTool+`]}`)
		}()
	case "endless-list": // always with the same cursor
		f.result(r.ID, `{"tools":[`+oneTool+`],"nextCursor":"again"}`)
	case "growing-list": // always with a new cursor
		f.result(r.ID, fmt.Sprintf(`{"tools":[{"name":"t%s","inputSchema":{"type":"object"}}],"nextCursor":"%s1"}`, r.Params.Cursor, r.Params.Cursor))
	case "bad-list":
		f.result(r.ID, `{"tools":{"echo":1}}`)
	case "bad-items":
		f.result(r.ID, `{"tools":[1,null,"x",{},{"name":5},{"name":""},{"name":"echo","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}},{"name":"no schema"},{"name":"a b/c\u0000\u202e","inputSchema":{"type":"object"}}]}`)
	case "list-error":
		f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"index is broken"}}`, r.ID)
	default:
		f.result(r.ID, `{"tools":[`+oneTool+`]}`)
	}
}

// call does what the arguments {"do":…,"n":…} of a tool call say, and answers the call.
func (f *faulty) call(r request) {
	var a struct {
		Do string `json:"do"`
		N  int    `json:"n"`
	}
	_ = json.Unmarshal(r.Params.Arguments, &a)
	done := `{"content":[{"type":"text","text":"done"}]}`
	switch a.Do {
	case "sleep":
		time.Sleep(time.Duration(a.N) * time.Millisecond)
	case "held": // until the file named by FAULTY_RELEASE exists
		for released := false; !released; time.Sleep(5 * time.Millisecond) {
			_, err := os.Stat(os.Getenv("FAULTY_RELEASE"))
			released = err == nil
		}
	case "never":
		return
	case "exit":
		fmt.Fprintln(os.Stderr, "fatal: the password is hunter2")
		os.Exit(5)
	case "stopped": // answers and then stops itself (SIGSTOP)
		f.result(r.ID, done)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return
	case "close-stdout":
		_ = os.Stdout.Close()
		return
	case "notify":
		for n := range a.N {
			f.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d"}}`, n)
			if r.Params.Meta.ProgressToken != nil {
				f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.Params.Meta.ProgressToken, n)
			}
		}
	case "big":
		f.result(r.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", a.N)+`"}]}`)
		return
	case "twice":
		f.result(r.ID, done)
		f.result(r.ID, `{"content":[{"type":"text","text":"again"}]}`)
		return
	case "wrong-id":
		f.say(`{"jsonrpc":"2.0","id":%d,"result":%s}`, 999_999, done)
		f.say(`{"jsonrpc":"2.0","id":"%s","result":%s}`, r.ID, done) // the id as text instead of a number
		f.say(`{"jsonrpc":"2.0","id":null,"result":%s}`, done)
		return
	case "both":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"both"}}`, r.ID)
		return
	case "neither":
		f.say(`{"jsonrpc":"2.0","id":%s}`, r.ID)
		return
	case "deep":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":%s%s}}`, r.ID, strings.Repeat("[", a.N), strings.Repeat("]", a.N))
		return
	case "not-utf8":
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, r.ID, "\xff\xfe")
		return
	case "duplicate-key":
		f.say(`{"jsonrpc":"2.0","id":%s,"id":1,"result":%s}`, r.ID, done)
		return
	case "error-string":
		f.say(`{"jsonrpc":"2.0","id":%s,"error":"it broke"}`, r.ID)
		return
	case "verbatim": // returns the received arguments as text, and sends unknown fields
		f.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s,"x":[1.0,1e3]}}`, oddities)
		f.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram","z":1,"a":2},{"type":"text","text":%s}],"odd":%s}}`,
			r.ID, strconv.Quote(string(r.Params.Arguments)), oddities)
		return
	case "error-data":
		f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-12345,"message":"<&>","data":%s,"more":1}}`, r.ID, oddities)
		return
	case "same-id": // requests with the id of the call
		f.say(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, r.ID)
		f.say(`{"jsonrpc":"2.0","id":%s,"method":"roots/list"}`, r.ID)
	case "progress":
		for n := range a.N {
			f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.Params.Meta.ProgressToken, n+1)
		}
	case "environment":
		f.result(r.ID, `{"content":[{"type":"text","text":`+strconv.Quote(strings.Join(os.Environ(), "\n"))+`}]}`)
		return
	case "result-string":
		f.result(r.ID, `"just text"`)
		return
	case "batch":
		f.say(`[{"jsonrpc":"2.0","id":%s,"result":%s}]`, r.ID, done)
		return
	case "ask":
		answer := f.ask("elicitation/create", `{"message":"name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`)
		f.result(r.ID, `{"content":[{"type":"text","text":`+strconv.Quote(answer)+`}]}`)
		return
	case "ask-many": // a.N requests, without waiting for their answers
		for n := range a.N {
			f.say(`{"jsonrpc":"2.0","id":"m%d","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`, n)
		}
	case "same-question": // two requests with the same id
		for range 2 {
			f.say(`{"jsonrpc":"2.0","id":"same","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)
		}
	case "ping": // as fast as possible
		for n := range a.N {
			f.say(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, n)
		}
	case "flood-progress", "flood-logs", "flood-updates": // for a.N milliseconds
		f.flood(a.Do, r.Params.Meta.ProgressToken, time.Duration(a.N)*time.Millisecond)
	case "stderr":
		for n := range a.N {
			fmt.Fprintf(os.Stderr, "line %d %s\n", n, strings.Repeat("e", 200))
		}
	}
	f.result(r.ID, done)
}

// flood sends one kind of message as fast as possible for the duration d: progress with a text of 20 kB, log messages, or updates of
// resources that do not exist.
func (f *faulty) flood(what string, token json.RawMessage, d time.Duration) {
	large := strings.Repeat("p", 20_000)
	for n, began := 1, time.Now(); time.Since(began) < d; n++ {
		switch what {
		case "flood-progress":
			f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"%s"}}`, token, n, large)
		case "flood-logs":
			f.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d %.500s"}}`, n, large)
		default:
			f.say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://one/%d"}}`, n)
		}
	}
}
