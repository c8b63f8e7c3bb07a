package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// Invariants of wide stories: tenants, projects, lazy servers, repeatable calls.

// idempotentTool is the tool that servers declare as read-only. Other tools declare nothing.
const idempotentTool = "a"

// requestNumberKey is the _meta key of the request's number in the history, by which a server finds the client.
const requestNumberKey = "sim/number"

// connMark matches the connection's name in a server's messages; see mark.
var connMark = regexp.MustCompile(`of (s[0-9]+#[0-9]+)`)

// setOrigin adds the client's principal, project and forwarded header to an origin.
func (c *client) setOrigin(o *downstream.Origin) {
	if o.Principal = c.principal; o.SessionID != "" && c.owner != c.principalID() {
		c.w.strange[c.principalID()]++
	}
	if c.headerValue != "" {
		o.Forwarded = map[string][]string{forwardedHeader: {c.headerValue}}
	}
	if c.project == nil {
		return
	}
	switch c.projectVia {
	case "path":
		o.Path = "/p/" + c.project.Name + "/mcp"
	case "header":
		o.Project = c.project.Name
	}
}

// wideMeta adds the number of the request and the client's project to its _meta.
func (c *client) wideMeta(meta string) string {
	if !c.w.p.Wide {
		return meta
	}
	meta += fmt.Sprintf(`,%q:%d`, requestNumberKey, len(c.w.history.requests))
	if c.project != nil && c.projectVia == "meta" {
		meta += fmt.Sprintf(`,"goblin-actor/project":%q`, c.project.Name)
	}
	return strings.TrimPrefix(meta, ",")
}

// seesServer reports whether the client's project shows a server.
func (c *client) seesServer(s *server) bool {
	return c.project == nil || len(c.project.Servers) == 0 || slices.Contains(c.project.Servers, s.name)
}

// seesTool reports whether the client's project shows a tool with the given public name.
func (c *client) seesTool(public string) bool {
	if c.project == nil {
		return true
	}
	name, _, _ := strings.Cut(public, "_")
	if name == "goblin" { // projects show the gateway's own tools unless they deny them
		return allows(config.Filter{Deny: c.project.Tools.Deny}, public)
	}
	return (len(c.project.Servers) == 0 || slices.Contains(c.project.Servers, name)) && allows(c.project.Tools, public)
}

// seesURI reports whether the client's project shows a resource of a server.
func (c *client) seesURI(s *server, uri string) bool {
	return c.seesServer(s) && (c.project == nil || allows(c.project.Resources, "resource://"+s.name+"/"+uri))
}

// allows reports whether a filter allows a name.
func allows(f config.Filter, name string) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			p = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
			return regexp.MustCompile("^" + p + "$").MatchString(name)
		})
	}
	return !matches(f.Deny) && (len(f.Allow) == 0 || matches(f.Allow))
}

// tenantOf returns the tenant whose connection a request must use, or "" for a shared connection.
func (s *server) tenantOf(a *clientRequest) (tenant string) {
	switch {
	case s.Isolation == "session" && a.client.modern && a.principal != "", s.Isolation == "principal": // a client without sessions counts as its principal if it is authenticated
		tenant = "principal " + a.principal
	case s.Isolation == "session":
		tenant = a.client.name + " " + a.session
	}
	if s.ForwardsHeader && a.headerValue != "" {
		tenant += " with " + a.headerValue
	}
	return tenant
}

// checkRequest checks that the client may see the server, and the tool or resource the request names, and that an
// unshared connection belongs to the client's tenant and was opened with its forwarded header.
func (c *conn) checkRequest(r *frameToServer) {
	w := c.s.w
	number, err := strconv.Atoi(string(r.Params.Meta[requestNumberKey]))
	if err != nil || number < 1 || number > len(w.history.requests) {
		return // a request of the gateway itself
	}
	a := w.history.requests[number-1]
	if !a.client.seesServer(c.s) || a.nonce > 0 && !a.client.seesTool(w.toolOf[a.nonce]) || r.Params.URI != "" && !a.client.seesURI(c.s, r.Params.URI) {
		w.violated("%s (tool %q, resource %q) reached %s, although project %s hides the server, the tool or the resource", a, w.toolOf[a.nonce], r.Params.URI, c, a.client.project.Name)
	}
	if !c.s.isolates() {
		return
	}
	tenant := c.s.tenantOf(a)
	if !c.used {
		c.used, c.tenant, c.client = true, tenant, a.client
		w.count("a connection of a tenant")
	}
	if c.tenant != tenant {
		w.violated("%s reached %s, which belongs to %q, but its tenant is %q", a, c, c.tenant, tenant)
	}
	if want := a.headerValue; c.s.ForwardsHeader && c.headerValue != want {
		w.violated("%s, sent with header %q, reached %s, which was opened with %q", a, want, c, c.headerValue)
	}
}

// mark returns the connection's name in the given format, to be added to a message. It returns "" if the story is not wide.
func (c *conn) mark(format string) string {
	if !c.s.w.p.Wide {
		return ""
	}
	return fmt.Sprintf(format, " of "+c.String())
}

// sendIdleLog sends a log message that belongs to no call.
func (c *conn) sendIdleLog() {
	if c.s.w.p.Wide && !c.modern && c.ready && (!c.link.http || c.listens) {
		c.send(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"idle%s"}}`, c.mark("%s"))
	}
}

// checkSource checks that the client may receive a server's message: its project shows the server, and the connection
// is shared or its tenant's. Outside of calls, a client with a principal must not receive log messages from a shared
// connection. a is the request on whose response the message came, or nil for a stream.
func (c *client) checkSource(a *clientRequest, frame []byte) {
	if !c.w.p.Wide {
		return
	}
	for _, found := range connMark.FindAllSubmatch(frame, -1) {
		x := c.w.connByName[string(found[1])]
		if x == nil {
			continue
		}
		if !c.seesServer(x.s) {
			c.w.violated("%s is in project %s, but received %s", c.name, c.project.Name, frame)
		}
		if shared := !x.s.isolates(); shared && a == nil && c.principal != nil && strings.Contains(string(frame), `"idle`) {
			c.w.violated("%s received a message outside of calls from the shared connection %s: %s", c.name, x, frame)
		}
		if !x.used || x.tenant == "" {
			continue // shared
		}
		c.w.count("a message on a tenant's connection")
		if a != nil && a.nonce > 0 && x.s.tenantOf(a) != x.tenant || x.s.Isolation == "session" && x.client != c {
			c.w.violated("%s received a message from %s, a connection of %q: %s", c.name, x, x.tenant, frame)
		}
	}
}

// checkVisible checks a response: a result belongs to the call, a tool that the client's project hides has no result,
// and an error names no hidden server.
func (c *client) checkVisible(a *clientRequest, e *frameToClient) {
	if a.nonce == 0 {
		return
	}
	if e.Result != nil && len(e.Result.Content) > 0 {
		if text := e.Result.Content[0].Text; strings.HasPrefix(text, "done ") && strings.TrimRight(text, "x") != fmt.Sprintf("done %d", a.nonce) {
			c.w.violated("%s received the result of another call: %q", a, text)
		}
	}
	if c.project == nil {
		return
	}
	tool := c.w.toolOf[a.nonce]
	hidden := !c.seesTool(tool)
	if hidden {
		c.w.count("a call of a hidden tool")
	}
	if hidden && e.Error == nil {
		c.w.violated("%s (tool %q) got a result, but project %s hides the tool", a, tool, c.project.Name)
	}
	if e.Error == nil || e.Error.Data.Server == "" {
		return
	}
	for _, s := range c.w.servers {
		if s.name == e.Error.Data.Server && !c.seesServer(s) {
			c.w.violated("%s, in project %s, received an error that names server %s: %s", a, c.project.Name, s.name, e.Error.Message)
		}
	}
}

// seesChangeOf reports whether the client may be notified of changes to a resource: its project shows the resource, or
// the resource belongs to no server.
func (c *client) seesChangeOf(uri string) bool {
	for _, s := range c.w.servers {
		if strings.HasPrefix(uri, "x://"+s.name+"/") {
			return c.seesURI(s, uri)
		}
	}
	return true
}

// checkAccepted checks that the gateway accepts subscriptions only to resources that the client's project shows.
func (c *client) checkAccepted(uri string) {
	if !c.seesChangeOf(uri) {
		c.w.violated("%s is in project %s, but its subscription to %s was accepted", c.name, c.project.Name, uri)
	}
}

// isIdempotent reports whether the request calls a read-only tool of a server with retry.inFlight: idempotent. Such a
// call may be executed twice.
func (w *world) isIdempotent(a *clientRequest) bool {
	name, tool, _ := strings.Cut(w.toolOf[a.nonce], "_")
	return tool == idempotentTool && slices.ContainsFunc(w.servers, func(s *server) bool { return s.name == name && s.Retries })
}

// mayRepeat reports whether r may be the second execution of a call. The tool must be idempotent and its server must
// allow retries. In addition, the connection of the earlier execution must have broken, and the client must not have
// received a server request of the call. Neither is required if the connection of r has broken: then r may be the first
// request, which arrived after the second one.
func (r *serverCall) mayRepeat(before *serverCall, times int) bool {
	if a := r.c.s.w.history.lastRequest[r.nonce]; !r.c.s.Retries || r.tool != idempotentTool || times > 2 || before == nil || a == nil || !r.connBroke() && (a.wasAsked || !before.connBroke()) {
		return false
	}
	r.c.s.w.count("a repeated idempotent call")
	return true
}

// connBroke reports whether the call's connection or response ended early.
func (r *serverCall) connBroke() bool {
	return r.c.dead || r.c.lost || r.c.lostCalls || r.c.brokenResponses[r.ticket]
}

// startCounted is how long checkStarts counts a new process as starting. The gateway counts it for a second, from
// slightly earlier. The shorter time makes sure that checkStarts counts no process that the gateway no longer counts.
const startCounted = 500 * time.Millisecond

// checkStarts checks that at most limits.startsAtOnce processes of a node are starting.
func (s *server) checkStarts(on *node) {
	w := s.w
	if !w.p.Wide || w.p.DelayedTurns > 0 || s.http {
		return
	}
	n := 0
	for _, other := range w.servers {
		for _, c := range other.conns {
			if c.node == on && !c.link.http && !c.dead && !c.ready && !c.initializing && !c.link.gone() && time.Since(c.opened) < startCounted {
				n++
			}
		}
	}
	if most := w.p.Limits.StartsAtOnce; most > 0 && n > most {
		w.violated("%d processes are starting; limits.startsAtOnce is %d", n, most)
	}
}
