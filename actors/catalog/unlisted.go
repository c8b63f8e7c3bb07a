package catalog

import (
	"slices"

	"goblin-actor/protocol/namespace"
)

// What happens to a URI that its server neither lists nor has a template for. Servers need not list what their results
// link to (MCP 2025-11-25, server/tools, resource links).
const (
	unlistedMentioned = "mentioned" // valid only if the server has mentioned it; the server's pool checks this
	unlistedForward   = "forward"   // forwarded to the server
)

// unlisted finds a URI that no list, template or link contains, if its server is known: the URI has the server's prefix,
// or there is only one server. The server's rules apply as they do to expansions of templates.
func (q *search) unlisted(uri string) (Found, bool) {
	v := q.view
	policy := v.snapshot.naming.Unlisted
	if policy != unlistedMentioned && policy != unlistedForward || uri == "" || len(uri) > maxName {
		return Found{}, false
	}
	server, original := (*Server)(nil), uri
	if name, own, ok := namespace.SplitPrefixURI(uri); ok && !v.pass {
		server, original = v.server(name), own
	} else if len(v.servers) == 1 {
		server = v.servers[0]
	}
	if server == nil || q.hidden(server, original) || !v.snapshot.byName[server.Name].judge.Admits("", original) || !v.admits(server, "", original) {
		return Found{}, false
	}
	return Found{Server: server, Original: original, Unlisted: policy == unlistedMentioned}, true
}

// hidden reports whether the server's rules or the view hide the URI as a listed resource or as an expansion of a
// template, or may hide it, if there are too many templates to try.
func (q *search) hidden(server *Server, original string) bool {
	if it := q.view.resources.owned[ownName{server.Name, original}]; it != nil && q.view.entry(it) == nil {
		return true
	}
	hidden := q.view.templates.hidden
	if q.view.scope != nil {
		hidden = slices.Concat(hidden, q.view.templates.ranked)
	}
	for _, it := range hidden {
		if it.server.Name != server.Name || q.view.entry(it) != nil {
			continue
		}
		if effort := it.template.Effort(original); effort > 0 && (!q.spend(server, effort) || it.template.Match(original)) {
			return true
		}
	}
	return false
}
