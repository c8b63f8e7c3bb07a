package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/tests/sim/pipeclient"
)

// client is a client of the gateway over HTTP, of either era.
type client struct {
	w                *world
	name             string
	modern           bool
	answers          bool // answers server requests (elicitation, sampling, roots)
	honest           bool
	old              bool            // speaks 2025-03-26
	noElicitation    bool            // does not declare elicitation
	ignoresQuestions bool            // temporarily answers no server requests
	prompt           bool            // temporarily answers server requests at once
	project          *config.Project // nil = none
	projectVia       string          // path, header or meta; see ClientParams
	headerValue      string          // of the forwarded header
	principal        *identity.Principal
	sealed           *sealedState         // modern: the latest one received
	wantsLogs        bool                 // modern: requests log messages for each call
	pipes            []*pipeclient.Client // one for each node, in their order
	keptAt           []*node              // where the balancer keeps the client; nil = it deals to all nodes
	dealt            int                  // requests dealt to keptAt
	declares         int                  // bytes of a further capability

	session      string
	owner        string // id of the principal that opened the session
	state        string // "", opening, ready, closed, gone; modern: "" until it is gone
	lastID       int
	pending      map[int]*clientRequest // requests without a response
	reading      map[responseReader]bool
	stalled      bool                    // temporarily reads nothing
	blockedReads []func()                // reads to repeat when the gateway has more
	dropped      map[responseReader]bool // readers that the client closed, until it sees their end

	questions map[string]*clientRequest // received server requests by id, with the request on whose response they came; nil = on the stream
	withdrawn map[string]bool           // server requests that were canceled
	logLines  map[string]bool           // received log lines
	wakeups   int                       // number of calls of resumeReads, such as when the gateway has more to read

	stream        *pipeclient.Stream // legacy: the GET stream
	lastEventID   string
	listening     *clientRequest // modern: subscriptions/listen
	ackedAt       int            // moment of the acknowledgment of the listen stream
	subs          map[string]*subscription
	lastList      *clientRequest  // the last tools/list request of listTwice
	concurrent    map[string]bool // URIs with several subscription requests at once
	list          []string
	cached        []string // tools in the list that are marked as cached
	listChangedAt int      // moment of the last list_changed notification
}

// sealedState is a requestState that the client received, and its call.
type sealedState struct {
	state string
	nonce int
}

// subscription is what a client knows about a subscribed resource.
type subscription struct {
	since      int  // moment of the confirmation
	updatedAt  int  // moment of the last update
	concurrent bool // another subscribe or unsubscribe of the resource was in progress
}

const capabilities = `{"elicitation":{},"sampling":{},"roots":{}}`

func (c *client) capabilities() string {
	switch {
	case c.declares > 0:
		return `{"elicitation":{},"sampling":{},"roots":{},"experimental":{"x":{"y":"` + strings.Repeat("z", c.declares) + `"}}}`
	case !c.answers:
		return "{}"
	case c.noElicitation:
		return `{"sampling":{},"roots":{}}`
	}
	return capabilities
}

// origin returns the HTTP properties of a message of the client.
func (c *client) origin(method, name string) downstream.Origin {
	o := downstream.Origin{Path: "/mcp", Remote: fmt.Sprintf("127.0.0.1:%d", 40000+c.w.indexOf(c)), SessionID: c.session}
	c.setOrigin(&o)
	if c.modern {
		o.Version, o.Header = "2026-07-28", map[string][]string{"Mcp-Method": {method}}
		if name != "" {
			o.Header.Set("Mcp-Name", name)
		}
	} else if c.session != "" && !c.old {
		o.Version = "2025-11-25"
	}
	return o
}

// send posts a request. members are the members of params other than _meta, each preceded by a comma.
func (c *client) send(method, name, members string) *clientRequest {
	c.lastID++
	a := &clientRequest{client: c, id: c.lastID, method: method, item: name, session: c.session, headerValue: c.headerValue, principal: c.principalID(), began: c.w.history.moment(), sent: time.Now()}
	c.w.history.requests = append(c.w.history.requests, a)
	meta := ""
	if c.modern {
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.capabilities() +
			`,"io.modelcontextprotocol/clientInfo":{"name":"` + c.name + `","version":"1"}`
		if level := c.logLevel(); level != "" {
			meta += `,"io.modelcontextprotocol/logLevel":"` + level + `"`
		}
	}
	meta = c.wideMeta(meta)
	if method == "tools/call" {
		meta = strings.TrimPrefix(meta+fmt.Sprintf(`,"progressToken":%d`, a.id), ",")
	}
	params := strings.TrimPrefix(members, ",")
	if meta != "" {
		params = strings.TrimSuffix(`"_meta":{`+meta+`},`+params, ",")
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, a.id, method, params)
	c.pending[a.id] = a
	c.post(a, raw, c.origin(method, name))
	return a
}

// post sends a message to the gateway. a is nil if the message has no response.
func (c *client) post(a *clientRequest, raw string, origin downstream.Origin) {
	n := c.w.deal(c)
	c.w.trace("%s →%s %s", c.name, n, raw)
	x, refused := c.pipes[n.number].Post([]byte(raw), origin)
	if a != nil {
		a.node = n
	}
	if refused != nil {
		c.handle(a, *refused)
		return
	}
	if a != nil {
		a.reader, a.route = x, routeOf(x.Response)
	}
	c.startReading(x, a)
}

// ready reports whether the client may send requests.
func (c *client) ready() bool { return c.modern && c.state == "" || c.state == "ready" }

func sortedKeys[K int | uint64 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
