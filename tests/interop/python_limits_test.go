package interop

import (
	"regexp"
	"sync"
	"testing"
)

// pyLimit describes conversations that some clients and servers cannot hold, or members of results that differ. The fields clients,
// servers, talks and members are regular expressions that must match a whole name or path.
type pyLimit struct {
	clients, servers, talks string
	works                   bool    // the conversation works through the gateway, which compensates for the limit
	skip                    bool    // the conversation works only sometimes, so it is not tested
	members                 *string // members that differ with and without the gateway; nil = the whole conversation fails
	lists                   bool    // it may work in a cluster, whose nodes fetch the lists of a shared server again when clients request them
	why                     string
}

func members(expression string) *string { return &expression }

const (
	legacyPeers = "sdk1.*|fastmcp[23]|.* legacy"
	dual        = "(sdk2|fastmcp4)-stdio" // processes that support both eras: the gateway opens them in the legacy era
	modernPeers = "(sdk2|fastmcp4)-(stdio|modern|http|stateless)"
	noSession   = "without a session, the server cannot send requests or notifications to the client, and cannot match a cancellation to its call"
)

// pyLimits lists what also fails without the gateway.
var pyLimits = []pyLimit{
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-.*", talks: "either", why: "only servers that speak both eras have this tool"},
	{clients: ".*", servers: "sdk.*", talks: "tree", why: "the SDKs do not support {path*}"},
	{clients: ".* auto", servers: dual, talks: "elicit|sample|roots", works: true, why: "in the modern era, servers send no requests of their own"},
	{clients: ".* auto", servers: modernPeers, talks: "elicit|sample|roots", why: "in the modern era, servers send no requests of their own"},
	{clients: "sdk2 auto", servers: "(sdk2|fastmcp4)-sse", talks: "elicit|sample|roots|ping", why: "SDK 2 speaks the modern era even over HTTP+SSE"},
	{clients: ".* auto", servers: modernPeers, talks: "ping", why: "the modern era has no ping"},
	{clients: ".* auto", servers: "fastmcp4-(stdio|modern|http|stateless)", talks: "subscribe|grow", why: "FastMCP 4 does not serve subscriptions/listen"},
	{clients: "sdk2 auto", servers: "fastmcp4-sse", talks: "subscribe|grow", why: "FastMCP 4 does not serve subscriptions/listen"},
	{clients: legacyPeers + "|fastmcp4 auto", servers: "fastmcp4-.*", talks: "subscribe", why: "FastMCP 4 has no resources/subscribe"},
	{clients: legacyPeers, servers: "sdk2-modern", talks: "subscribe", works: true, why: "MCPServer of SDK 2 has no resources/subscribe, only subscriptions/listen"},
	{clients: legacyPeers, servers: "sdk2-(http|sse|stdio)", talks: "subscribe", why: "MCPServer of SDK 2 has no resources/subscribe"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-stateless", talks: "either|cancel|elicit|sample|roots|subscribe|grow", why: noSession},
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-stateless", talks: "cancel|elicit|sample|roots|refuse|subscribe|grow", why: noSession},
}

// pyThrough lists what works directly but not through the gateway.
var pyThrough = []pyLimit{
	{clients: ".* auto", servers: "(sdk1|fastmcp2|fastmcp3)-.*|fastmcp4-sse", talks: "ping", why: "the client speaks the modern era with the gateway, which has no ping; without the gateway, it falls back to the server's legacy era"},
	{clients: ".* auto", servers: "sdk2-sse", talks: "subscribe", why: "the gateway speaks the legacy era over HTTP+SSE, in which the server of SDK 2 has no subscriptions"},
	{clients: ".* auto", servers: "sdk2-stdio", talks: "subscribe", why: "the gateway opens a process that speaks both eras in the legacy era, in which the server of SDK 2 has no subscriptions"},
	{clients: legacyPeers, servers: "sdk2-stateless", talks: "found", why: "the server does not notify modern subscribers, such as the gateway, of a change made by a legacy call"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-modern", talks: "elicit|sample|roots", why: "the gateway speaks only the modern era with a server that is configured for it, and in that era the server sends no requests of its own"},

	// Defects of the gateway, to be fixed.
	{clients: ".*", servers: "fastmcp4-(modern|http)", talks: "grow", why: "a server without subscriptions/listen reports changes only on a legacy connection, but the gateway fetches the lists over the modern one", lists: true},
	{clients: ".*", servers: "(sdk1|fastmcp2|fastmcp3)-stateless", talks: "found", why: "the gateway fetches a list that changes without a notification again only if the server speaks the modern era", lists: true},
}

// pyApart lists members that differ with and without the gateway for a known reason.
var pyApart = []pyLimit{
	{clients: ".* auto", servers: ".*", talks: ".*", members: members(`.*\.(resultType|ttlMs|cacheScope)`), why: "the gateway answers these clients in the modern era, whose results have these members"},
	{clients: ".* auto", servers: ".*", talks: ".*", members: members(`.*\._meta\.io\.modelcontextprotocol/serverInfo.*`), why: "in the modern era, serverInfo describes the gateway"},
	{clients: ".*", servers: ".*", talks: "list", members: members(`.*\._meta\.goblin-actor/.*`), why: "in a list of all servers, each item names its server"},
	{clients: ".*", servers: ".*", talks: "log", members: members(`\.level.*`), why: "the gateway itself keeps the log level: it accepts one even if the server has no log levels, and the modern era has no request to set one"},
	{clients: legacyPeers, servers: "(sdk2|fastmcp4)-(modern|stateless)", talks: "prompts", members: members(`\.(broke|missing)\.error\..*`),
		why: "SDK 2 words errors differently in the modern era, which the gateway speaks with the server"},
	{clients: ".* auto", servers: "(sdk2|fastmcp4)-(sse|stdio)", talks: "prompts", members: members(`\.(broke|missing)\.error\..*`),
		why: "SDK 2 words errors differently in the legacy era, which the gateway speaks with the server"},
}

// knownLimits are the known limits of a family of peers.
type knownLimits struct {
	alone   []pyLimit // what also fails without the gateway
	through []pyLimit // what works directly but not through the gateway
	apart   []pyLimit // members that differ with and without the gateway for a known reason
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
