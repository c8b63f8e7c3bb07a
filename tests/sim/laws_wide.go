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

// Laws of what only wide stories have: tenants, projects, lazy servers, calls that may be repeated.

// repeatable is the tool that does no harm twice; the others say nothing about that.
const repeatable = "a"

// numberMeta is where a request says which of the book's it is, so that a server knows whose it is.
const numberMeta = "sim/number"

// markOf is what a server's messages say of the connection they come from.
var markOf = regexp.MustCompile(`of (s[0-9]+#[0-9]+)`)

// admitted says in which project the client is, and what it has of the header that is forwarded.
func (c *client) admitted(o *downstream.Origin) {
	o.Who = c.who
	if c.token != "" {
		o.Kept = map[string][]string{tokenHeader: {c.token}}
	}
	if c.project == nil {
		return
	}
	switch c.carrier {
	case "path":
		o.Path = "/p/" + c.project.Name + "/mcp"
	case "header":
		o.Project = c.project.Name
	}
}

// wideMeta adds to the _meta of a request which one it is, and the project that it says there.
func (c *client) wideMeta(meta string) string {
	if !c.w.p.Wide {
		return meta
	}
	meta += fmt.Sprintf(`,%q:%d`, numberMeta, len(c.w.book.asks))
	if c.project != nil && c.carrier == "meta" {
		meta += fmt.Sprintf(`,"goblin-actor/project":%q`, c.project.Name)
	}
	return strings.TrimPrefix(meta, ",")
}

// seesServer reports whether the client is shown anything of a server.
func (c *client) seesServer(s *server) bool {
	return c.project == nil || len(c.project.Servers) == 0 || slices.Contains(c.project.Servers, s.name)
}

// seesTool reports whether it is shown a tool of that public name, if there is one.
func (c *client) seesTool(public string) bool {
	if c.project == nil {
		return true
	}
	name, _, _ := strings.Cut(public, "_")
	if name == "goblin" { // ours are in every project that does not deny them
		return passes(config.Filter{Deny: c.project.Tools.Deny}, public)
	}
	return (len(c.project.Servers) == 0 || slices.Contains(c.project.Servers, name)) && passes(c.project.Tools, public)
}

// seesURI is seesTool of a resource, whose own URI says which server's it is.
func (c *client) seesURI(s *server, uri string) bool {
	return c.seesServer(s) && (c.project == nil || passes(c.project.Resources, "resource://"+s.name+"/"+uri))
}

// passes reports whether a filter leaves a name.
func passes(f config.Filter, name string) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			p = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
			return regexp.MustCompile("^" + p + "$").MatchString(name)
		})
	}
	return !matches(f.Deny) && (len(f.Allow) == 0 || matches(f.Allow))
}

// tenantOf is whose connection a request has to use; "" = one of those for everybody.
func (s *server) tenantOf(a *ask) (tenant string) {
	switch {
	case s.Isolation == "session" && a.client.modern && a.who != "", s.Isolation == "principal": // who has no session is a principal, where somebody is asked
		tenant = "principal " + a.who
	case s.Isolation == "session":
		tenant = a.client.name + " " + a.session
	}
	if s.Forwards && a.token != "" {
		tenant += " with " + a.token
	}
	return tenant
}

// comes: a request has reached a server. Its client sees that server, and the connection is that client's, if it is anybody's.
func (c *conn) comes(r *request) {
	w := c.s.w
	number, err := strconv.Atoi(string(r.Params.Meta[numberMeta]))
	if err != nil || number < 1 || number > len(w.book.asks) {
		return // the gateway asks this by itself
	}
	a := w.book.asks[number-1]
	if !a.client.seesServer(c.s) || a.nonce > 0 && !a.client.seesTool(w.toolOf[a.nonce]) || r.Params.URI != "" && !a.client.seesURI(c.s, r.Params.URI) {
		w.broken("%s, of %s, came to %s; its client is in project %s, which does not show it", a, w.toolOf[a.nonce], c, a.client.project.Name)
	}
	if !c.s.isolates() {
		return
	}
	tenant := c.s.tenantOf(a)
	if !c.carried {
		c.carried, c.tenant, c.client = true, tenant, a.client
		w.count("a connection of a tenant's")
	}
	if c.tenant != tenant {
		w.broken("%s came to %s, which has carried requests of %q; it is of %q", a, c, c.tenant, tenant)
	}
	if want := a.token; c.s.Forwards && c.token != want {
		w.broken("%s, sent with %q, came to %s, which was opened with %q", a, want, c, c.token)
	}
}

// mark says in a message of a server which connection it comes from.
func (c *conn) mark(format string) string {
	if !c.s.w.p.Wide {
		return ""
	}
	return fmt.Sprintf(format, " of "+c.String())
}

// chat says something that belongs to no call.
func (c *conn) chat() {
	if c.s.w.p.Wide && !c.modern && c.ready && (!c.link.http || c.listens) {
		c.say(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"idle%s"}}`, c.mark("%s"))
	}
}

// overhears: what a server says is told to nobody who may not see it, and what it says on a client's own connection to that client
// alone. a is the request on whose response it came, nil = on a stream.
func (c *client) overhears(a *ask, frame []byte) {
	if !c.w.p.Wide {
		return
	}
	for _, found := range markOf.FindAllSubmatch(frame, -1) {
		x := c.w.marks[string(found[1])]
		if x == nil {
			continue
		}
		if !c.seesServer(x.s) {
			c.w.broken("%s is in project %s, and was told %s", c.name, c.project.Name, frame)
		}
		if shared := !x.s.isolates(); shared && a == nil && c.who != nil && strings.Contains(string(frame), `"idle`) {
			c.w.broken("%s was told what %s, a connection for everybody, has said outside of calls: %s", c.name, x, frame)
		}
		if !x.carried || x.tenant == "" {
			continue // it is for everybody
		}
		c.w.count("a message on a tenant's connection that reached its client")
		if a != nil && a.nonce > 0 && x.s.tenantOf(a) != x.tenant || x.s.Isolation == "session" && x.client != c {
			c.w.broken("%s was told what %s, a connection of %q, has said: %s", c.name, x, x.tenant, frame)
		}
	}
}

// mayKnow: an answer says nothing of servers that its client does not see, and a tool it does not see has no result for it. A result is
// that of the call.
func (c *client) mayKnow(a *ask, e *envelope) {
	if a.nonce == 0 {
		return
	}
	if e.Result != nil && len(e.Result.Content) > 0 {
		if text := e.Result.Content[0].Text; strings.HasPrefix(text, "done ") && strings.TrimRight(text, "x") != fmt.Sprintf("done %d", a.nonce) {
			c.w.broken("%s was answered with the result of another: %q", a, text)
		}
	}
	if c.project == nil {
		return
	}
	tool := c.w.toolOf[a.nonce]
	hidden := !c.seesTool(tool)
	if hidden {
		c.w.count("a call of what a project does not show")
	}
	if hidden && e.Error == nil {
		c.w.broken("%s, of %s, was answered with a result; project %s does not show it", a, tool, c.project.Name)
	}
	if e.Error == nil || e.Error.Data.Server == "" {
		return
	}
	for _, s := range c.w.servers {
		if s.name == e.Error.Data.Server && !c.seesServer(s) {
			c.w.broken("%s, in project %s, is told of server %s: %s", a, c.project.Name, s.name, e.Error.Message)
		}
	}
}

// mayHear reports whether the client sees a resource that it is told of.
func (c *client) mayHear(uri string) bool {
	for _, s := range c.w.servers {
		if strings.HasPrefix(uri, "x://"+s.name+"/") {
			return c.seesURI(s, uri)
		}
	}
	return true
}

// mayRely: nobody is promised news of what it does not see, for it will never be told any.
func (c *client) mayRely(uri string) {
	if !c.mayHear(uri) {
		c.w.broken("%s is in project %s, and was promised news of %s", c.name, c.project.Name, uri)
	}
}

// mayAgain reports whether a call is of a tool that may be executed twice: then it does no harm to send it again, whatever has become of it.
func (w *world) mayAgain(a *ask) bool {
	name, tool, _ := strings.Cut(w.toolOf[a.nonce], "_")
	return tool == repeatable && slices.ContainsFunc(w.servers, func(s *server) bool { return s.name == name && s.Again })
}

// repeats reports whether a call may be executed once more: its tool does no harm twice, and the first connection has broken before its
// client was asked anything. What was sent first may come last, over a connection that broke long ago: then the client has been asked by the
// other.
func (r *running) repeats(before *running, times int) bool {
	if a := r.c.s.w.book.askOf[r.nonce]; !r.c.s.Again || r.tool != repeatable || times > 2 || before == nil || a == nil || !r.broke() && (a.wasAsked || !before.broke()) {
		return false
	}
	r.c.s.w.count("a call that was repeated, as it may be")
	return true
}

// broke reports whether the call's connection has had its end, or its response.
func (r *running) broke() bool {
	return r.c.dead || r.c.lost || r.c.trouble || r.c.cut[r.ticket]
}

// turnOfStart is how long a process counts that has just been started; the gateway counts for a second, from a little earlier on.
const turnOfStart = 500 * time.Millisecond

// starting: a process was started. So many others may be starting, and no more.
func (s *server) starting() {
	w := s.w
	if !w.p.Wide || w.p.Sloth > 0 || s.http {
		return
	}
	n := 0
	for _, other := range w.servers {
		for _, c := range other.conns {
			if !c.link.http && !c.dead && !c.ready && !c.greeted && !c.link.gone() && time.Since(c.opened) < turnOfStart {
				n++
			}
		}
	}
	if most := w.p.Limits.StartsAtOnce; most > 0 && n > most {
		w.broken("%d processes are starting; limits.startsAtOnce is %d", n, most)
	}
}
