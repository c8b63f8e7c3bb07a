package backend

import (
	"bytes"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// maxMentioned is the maximum number of resources that are reported from one result.
const maxMentioned = 256

// mention reports to the pool the resources that a result mentions, apart from the requested one. The client may read
// them next although they are not listed.
func (s *state) mention(p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	switch m := p.request.Frame.Method; {
	case f.Kind != protocol.KindResult:
		return out
	case m == protocol.MethodResourcesRead:
		if namesOnly(f.Raw, p.request) {
			return out
		}
	case !f.Resource:
		return out
	case m == protocol.MethodTasksGet: // extension io.modelcontextprotocol/tasks: the result is part of the task
		inlined := *f
		inlined.Result = rawjson.Member(f.Raw, f.Result, "result")
		f = &inlined
	case m != protocol.MethodToolsCall && m != protocol.MethodPromptsGet && m != protocol.MethodTasksResult:
		return out
	}
	uris := mentionedIn(f, p.request.Item)
	if len(uris) == 0 {
		return out
	}
	return append(out, kernel.Tell(s.pool, message.ResourcesMentioned{Backend: s.self, Incarnation: uint64(s.conn.incarnation), URIs: uris}))
}

// namesOnly reports whether a result of resources/read mentions only the requested resource. It does not parse the
// result, which may be large.
func namesOnly(raw []byte, r *message.Request) bool {
	asked := r.Original
	if asked == nil {
		asked = r.Params.URI.Of(r.Frame.Raw) // the client's URI is also the server's
	}
	return len(asked) > 0 && bytes.Count(raw, []byte(`uri"`)) == 1 && bytes.Contains(raw, asked)
}

// mentionedIn returns the URIs in a result except the requested one: contents of resources, and links and embedded
// resources in content and messages.
func mentionedIn(f *protocol.Frame, asked string) (uris []string) {
	var info protocol.ResultInfo
	if !f.Result.Present() || info.Scan(f) != nil {
		return nil
	}
	add := func(raw []byte, span rawjson.Span) {
		if uri, ok := rawjson.Unquote(span.Of(raw)); ok && uri != "" && uri != asked && len(uris) < maxMentioned {
			uris = append(uris, uri)
		}
	}
	block := func(raw []byte) {
		whole := rawjson.Span{End: uint32(len(raw))}
		if len(raw) == 0 || raw[0] != '{' {
			return
		}
		add(raw, rawjson.Member(raw, whole, "uri"))
		if inner := rawjson.Member(raw, whole, "resource"); bytes.HasPrefix(inner.Of(raw), []byte("{")) {
			add(raw, rawjson.Member(raw, inner, "uri"))
		}
	}
	each := func(list rawjson.Span, do func(protocol.Item)) {
		if bytes.HasPrefix(list.Of(f.Raw), []byte("[")) {
			_ = protocol.Items(f.Raw, list, func(item protocol.Item) bool { // an error means that the list is invalid and mentions nothing
				do(item)
				return len(uris) < maxMentioned
			})
		}
	}
	each(info.Contents, func(item protocol.Item) { add(item.Raw, item.URI) })
	each(info.Content, func(item protocol.Item) { block(item.Raw) })
	each(info.Messages, func(item protocol.Item) {
		content := rawjson.Member(item.Raw, rawjson.Span{End: uint32(len(item.Raw))}, "content").Of(item.Raw)
		if !bytes.HasPrefix(content, []byte("[")) {
			block(content)
			return
		}
		_ = protocol.Items(content, rawjson.Span{End: uint32(len(content))}, func(item protocol.Item) bool {
			block(item.Raw)
			return len(uris) < maxMentioned
		})
	})
	return uris
}
