package interop

import (
	"regexp"
	"sync"
	"testing"
)

// pyLimit is a conversation that a client and a server cannot hold. Clients, servers, talks and members are regular expressions
// for whole names.
type pyLimit struct {
	clients, servers, talks string
	works                   bool    // it works through the gateway, which compensates for it
	skip                    bool    // it works sometimes, so it is not tested
	members                 *string // members that differ with and without the gateway; nil = the whole conversation fails
	why                     string
}

func members(expression string) *string { return &expression }

const (
	legacyPeers = "sdk1.*|fastmcp[23]|.* legacy"
	dual        = "(sdk2|fastmcp4)-stdio" // the gateway opens such a process in the legacy era; with a URL, each client has its own connection
	modernPeers = "(sdk2|fastmcp4)-(stdio|modern|http|stateless)"
	noSession   = "a server without sessions has nowhere to ask, and knows of no call but the one that comes"
)

// pyLimits lists what also fails without the gateway.
var pyLimits = []pyLimit{
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-.*", talks: "either", why: "a tool of servers that speak both eras"},
	{clients: ".*", servers: "sdk.*", talks: "tree", why: "the SDKs know no {path*}"},
	{clients: ".* auto", servers: dual, talks: "elicit|sample|roots", works: true, why: "the modern era has no requests of the server's own"},
	{clients: ".* auto", servers: modernPeers, talks: "elicit|sample|roots", why: "the modern era has no requests of the server's own"},
	{clients: "sdk2 auto", servers: "(sdk2|fastmcp4)-sse", talks: "elicit|sample|roots|ping", why: "the second SDK speaks the modern era even over HTTP+SSE"},
	{clients: ".* auto", servers: modernPeers, talks: "ping", why: "the modern era has no ping"},
	{clients: ".* auto", servers: "fastmcp4-(stdio|modern|http|stateless)", talks: "subscribe|grow", why: "FastMCP 4 does not serve subscriptions/listen"},
	{clients: "sdk2 auto", servers: "fastmcp4-sse", talks: "subscribe|grow", why: "FastMCP 4 does not serve subscriptions/listen"},
	{clients: legacyPeers + "|fastmcp4 auto", servers: "fastmcp4-.*", talks: "subscribe", why: "FastMCP 4 has no resources/subscribe"},
	{clients: legacyPeers, servers: "sdk2-modern", talks: "subscribe", works: true, why: "MCPServer of the second SDK has no resources/subscribe, only subscriptions/listen"},
	{clients: legacyPeers, servers: "sdk2-(http|sse|stdio)", talks: "subscribe", why: "MCPServer of the second SDK has no resources/subscribe"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-stateless", talks: "either|cancel|elicit|sample|roots|subscribe|grow", why: noSession},
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-stateless", talks: "cancel|elicit|sample|roots|refuse|subscribe|grow", why: noSession},
}

// pyThrough lists what works directly but not through the gateway.
var pyThrough = []pyLimit{
	{clients: ".* auto", servers: "(sdk1|fastmcp2|fastmcp3)-.*|fastmcp4-sse", talks: "ping", why: "the gateway's own era has no ping; directly the client falls back to the server's"},
	{clients: ".* auto", servers: "sdk2-sse", talks: "subscribe", why: "HTTP+SSE has the legacy era to the gateway, in which the second SDK's server has no subscriptions"},
	{clients: ".* auto", servers: "sdk2-stdio", talks: "subscribe", why: "a process of both eras is opened in the legacy one, in which the second SDK's server has no subscriptions"},
	{clients: legacyPeers, servers: "sdk2-stateless", talks: "found", why: "a change during a legacy call is not announced to modern subscribers, as in the gateway"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-modern", talks: "elicit|sample|roots", why: "what is configured to speak the modern era asks in no other"},

	// Defects of the gateway, to be fixed.
	{clients: ".*", servers: "fastmcp4-(modern|http)", talks: "grow", why: "a server without subscriptions/listen tells a legacy connection at most, and the lists come from the modern one"},
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-stateless", talks: "found", why: "a list that changes without a word is fetched again only if the server speaks the modern era"},
}

// pyApart lists members that differ with and without the gateway for a known reason.
var pyApart = []pyLimit{
	{clients: ".* auto", servers: ".*", talks: ".*", members: members(`.*\.(resultType|ttlMs|cacheScope)`), why: "results of the gateway's era have these"},
	{clients: ".* auto", servers: ".*", talks: ".*", members: members(`.*\._meta\.io\.modelcontextprotocol/serverInfo.*`), why: "the server of the modern era is the gateway"},
	{clients: ".*", servers: ".*", talks: "list", members: members(`.*\._meta\.goblin-actor/.*`), why: "where all servers are listed, each item says whose it is"},
	{clients: ".*", servers: ".*", talks: "log", members: members(`\.level.*`), why: "the level is the gateway's to keep: it takes one for servers that know none, and the modern era has none"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-(modern|stateless)", talks: "prompts", members: members(`\.(broke|missing)\.error\..*`),
		why: "the second SDK words errors differently in the modern era, in which the gateway speaks to it"},
	{clients: ".* auto", servers: "(sdk2|fastmcp4)-(sse|stdio)", talks: "prompts", members: members(`\.(broke|missing)\.error\..*`),
		why: "the second SDK words errors differently in the legacy era, in which the gateway speaks to it"},
}

// knownLimits are the known limits of a family of peers.
type knownLimits struct {
	alone   []pyLimit // what also fails without the gateway
	through []pyLimit // what works directly but not through the gateway
	apart   []pyLimit // members that differ for a reason
}

// uses records which limits occurred. Entries that no longer occur must be removed.
type uses struct {
	known knownLimits
	mu    sync.Mutex
	met   map[*pyLimit]bool
}

func newUses(known knownLimits) *uses { return &uses{known: known, met: map[*pyLimit]bool{}} }

func (u *uses) first(all []pyLimit, c pyClient, s *pyServer, talk string, member string) *pyLimit {
	whole := func(expression, text string) bool {
		return regexp.MustCompile("^(?:" + expression + ")$").MatchString(text)
	}
	for i := range all {
		l := &all[i]
		if whole(l.clients, c.name) && whole(l.servers, s.name()) && whole(l.talks, talk) && (l.members == nil || whole(*l.members, member)) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.met[l] = true
			return l
		}
	}
	return nil
}

func (u *uses) limit(c pyClient, s *pyServer, talk string) *pyLimit {
	return u.first(u.known.alone, c, s, talk, "")
}

func (u *uses) through(c pyClient, s *pyServer, talk string) *pyLimit {
	return u.first(u.known.through, c, s, talk, "")
}

func (u *uses) apart(c pyClient, s *pyServer, talk, member string) bool {
	return u.first(u.known.apart, c, s, talk, member) != nil
}

func (u *uses) check(t *testing.T) {
	for _, all := range [][]pyLimit{u.known.alone, u.known.through, u.known.apart} {
		for i := range all {
			if !u.met[&all[i]] {
				t.Errorf("remove this entry, which no longer applies: %+v", all[i])
			}
		}
	}
}
