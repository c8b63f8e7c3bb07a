package client

import (
	"bytes"
	"encoding/json"
	"strconv"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

const (
	maxLookedUp    = 10_000 // tools whose arguments travel in headers too
	maxLookupPages = 1000
)

// headerLookup knows which arguments of tools a gateway wants repeated in headers, which a client on a pipe does not send: from lists of
// tools that the client asks for, or, when a call is refused for want of them, from lists that the bridge asks for.
type headerLookup struct {
	known   map[string]*protocol.Bindings // by tool; those that have any
	waiting []modernItem                  // calls that wait for the list
	pages   int                           // of it that were asked for; 0 = nothing is under way
}

// learn takes what an answer to tools/list says.
func (l *headerLookup) learn(request, answer protocol.Frame) {
	if request.M != protocol.MethodToolsList || answer.Kind != protocol.KindResult || !bytes.Contains(answer.Raw, []byte("x-mcp-header")) {
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

// lookUp has a call wait that was refused because of its headers, until the bridge knows which the tool wants; once for each call.
func (s *modernState) lookUp(i *modernItem, f protocol.Frame) bool {
	e := &RPCError{}
	if i.frame.M != protocol.MethodToolsCall || i.refetch || json.Unmarshal(f.ErrorBytes(), e) != nil || e.Name() != string(protocol.HeaderMismatch) {
		return false
	}
	i.refetch = true
	s.lookup.waiting = append(s.lookup.waiting, *i)
	if s.lookup.pages == 0 {
		s.askForTools(i.frame, nil)
	}
	return true
}

// askForTools asks for a page of the list, with the _meta of a request of the client.
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
	if f.Parse(append(raw, "}}"...)) != nil { // without _meta, which the gateway would not have answered like this
		s.resume()
		return
	}
	s.send(modernItem{frame: f, own: true})
}

// lookedUp takes a page of the list that the bridge asked for.
func (s *modernState) lookedUp(i *modernItem, f protocol.Frame) {
	s.lookup.learn(i.frame, f)
	cursor := rawjson.Member(f.Raw, f.Result, "nextCursor").Of(f.Raw)
	if f.Kind == protocol.KindResult && len(cursor) > 0 && cursor[0] == '"' && s.lookup.pages < maxLookupPages {
		s.askForTools(i.frame, cursor)
		return
	}
	s.resume()
}

// resume sends the calls again that waited for the list.
func (s *modernState) resume() {
	for _, i := range s.lookup.over() {
		s.enqueue(i)
	}
}
