package client

import (
	"bytes"
	"encoding/json"
	"strconv"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

const (
	maxLookedUp    = 10_000 // maximum number of tools whose header arguments are remembered
	maxLookupPages = 1000
)

// headerLookup collects which tool arguments must be repeated in HTTP headers. A client on a pipe sends no headers, so
// the bridge adds them. It learns the arguments from tool lists that the client requests. If a call is refused because
// of missing headers, the bridge requests the list itself.
type headerLookup struct {
	known   map[string]*protocol.Bindings // bindings by tool, for tools with such arguments
	waiting []modernItem                  // refused calls that wait for the list
	pages   int                           // pages of the list requested so far; 0 if no request is in progress
}

// learn reads the result of tools/list.
func (l *headerLookup) learn(request, answer protocol.Frame) {
	if request.Method != protocol.MethodToolsList || answer.Kind != protocol.KindResult || !bytes.Contains(answer.Raw, []byte("x-mcp-header")) {
		return
	}
	_ = protocol.Items(answer.Raw, rawjson.Member(answer.Raw, answer.Result, "tools"), func(item protocol.Item) bool {
		name, _ := rawjson.Unquote(item.Name.Of(item.Raw))
		if b, err := protocol.CompileBindings(item.Raw); err == nil && b != nil {
			if l.known == nil {
				l.known = map[string]*protocol.Bindings{}
			}
			l.known[name] = b
		}
		return len(l.known) < maxLookedUp
	})
}

// over ends the lookup and returns the calls that waited for it.
func (l *headerLookup) over() []modernItem {
	waiting := l.waiting
	l.waiting, l.pages = nil, 0
	return waiting
}

// lookUp holds a call that was refused because of its headers, until the bridge has read the list of tools. It does so
// once for each call, and returns false if it does not hold the call.
func (s *modernState) lookUp(i *modernItem, f protocol.Frame) bool {
	e := &RPCError{}
	if i.frame.Method != protocol.MethodToolsCall || i.refetch || json.Unmarshal(f.ErrorBytes(), e) != nil || e.Name() != string(protocol.HeaderMismatch) {
		return false
	}
	i.refetch = true
	s.lookup.waiting = append(s.lookup.waiting, *i)
	if s.lookup.pages == 0 {
		s.askForTools(i.frame, nil)
	}
	return true
}

// askForTools requests a page of the list, with the _meta of a request of the client.
func (s *modernState) askForTools(like protocol.Frame, cursor []byte) {
	s.lookup.pages++
	s.last++
	raw := append([]byte(`{"jsonrpc":"2.0","id":"goblin-bridge-`), strconv.FormatUint(s.last, 10)...)
	raw = append(raw, `","method":"tools/list","params":{"_meta":`...)
	raw = append(raw, rawjson.Member(like.Raw, like.Params, "_meta").Of(like.Raw)...)
	if cursor != nil {
		raw = append(append(raw, `,"cursor":`...), cursor...)
	}
	var f protocol.Frame
	if f.Parse(append(raw, "}}"...)) != nil { // like has no _meta, for which the gateway would have returned a different error
		s.resume()
		return
	}
	s.send(modernItem{frame: f, own: true})
}

// lookedUp handles a page of the list that the bridge requested.
func (s *modernState) lookedUp(i *modernItem, f protocol.Frame) {
	s.lookup.learn(i.frame, f)
	cursor := rawjson.Member(f.Raw, f.Result, "nextCursor").Of(f.Raw)
	if f.Kind == protocol.KindResult && len(cursor) > 0 && cursor[0] == '"' && s.lookup.pages < maxLookupPages {
		s.askForTools(i.frame, cursor)
		return
	}
	s.resume()
}

// resume resends the calls that waited for the list.
func (s *modernState) resume() {
	for _, i := range s.lookup.over() {
		s.enqueue(i)
	}
}
