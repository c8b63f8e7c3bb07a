package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// client is one client of the gateway, of either era, over HTTP.
type client struct {
	w        *world
	name     string
	modern   bool
	answers  bool // it answers questions
	honest   bool
	old      bool            // it speaks 2025-03-26
	formless bool            // it declares no elicitation
	mute     bool            // it answers none for a while
	project  *config.Project // it is in; nil = none
	carrier  string          // how it says so
	token    string          // its value of the header that is forwarded
	who      *identity.Principal
	sealed   *sealedState // modern: the newest that it was given
	verbose  bool         // modern: it wants to hear of each call
	pipe     *downstream.PipeClient

	session string
	state   string // "", opening, ready, gone
	lastID  int
	open    map[int]*ask // not over yet
	reading map[wire]bool
	stalled bool          // reads nothing for a while
	waiting []func()      // looks that found nothing
	left    map[wire]bool // wires the client has left, until what was on its way is lost

	asked     map[string]*ask // questions that came, by id, with the call on whose response; nil = on the stream
	withdrawn map[string]bool // questions that were taken back
	lines     map[string]bool // log lines that came
	woken     int             // so often there was something to see

	stream      *downstream.PipeStream // legacy: the GET stream
	streamEvent string
	listening   *ask // modern: subscriptions/listen
	acked       int  // moment the listen stream was acknowledged
	subs        map[string]*subscribed
	listed      *ask            // the last request for the list
	unsure      map[string]bool // by URI: there were several at once
	list        []string
	cached      []string // of these, what the gateway only remembers
	changed     int      // moment it was last told that the list changed
}

// sealedState is what a client has been given to come back with.
type sealedState struct {
	state string
	nonce int
}

// subscribed is what a client knows of a resource it wants to hear of.
type subscribed struct {
	since  int  // moment of the yes
	told   int  // moment of the last update
	unsure bool // another subscribe or unsubscribe of it was under way
}

const capabilities = `{"elicitation":{},"sampling":{},"roots":{}}`

func (c *client) capabilities() string {
	switch {
	case !c.answers:
		return "{}"
	case c.formless:
		return `{"sampling":{},"roots":{}}`
	}
	return capabilities
}

// origin is where a message of the client comes from.
func (c *client) origin(method, name string) downstream.Origin {
	o := downstream.Origin{Path: "/mcp", Remote: fmt.Sprintf("127.0.0.1:%d", 40000+c.w.number(c)), SessionID: c.session}
	c.admitted(&o)
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

// send posts a request; members are those of params, each with a comma before it.
func (c *client) send(method, name, members string) *ask {
	c.lastID++
	a := &ask{client: c, id: c.lastID, method: method, session: c.session, token: c.token, who: c.whoID(), began: c.w.book.moment(), sent: time.Now()}
	c.w.book.asks = append(c.w.book.asks, a)
	meta := ""
	if c.modern {
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.capabilities() +
			`,"io.modelcontextprotocol/clientInfo":{"name":"` + c.name + `","version":"1"}`
		if level := c.level(); level != "" {
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
	c.open[a.id] = a
	c.post(a, raw, c.origin(method, name))
	return a
}

// post gives a message to the gateway; a is nil for what has no answer.
func (c *client) post(a *ask, raw string, origin downstream.Origin) {
	c.w.trace("%s → %s", c.name, raw)
	x, refused := c.pipe.Post([]byte(raw), origin)
	if refused != nil {
		c.see(a, *refused)
		return
	}
	if a != nil {
		a.wire = x
	}
	c.watch(x, a)
}

func (c *client) ready() bool { return c.modern && c.state == "" || c.state == "ready" }

func sortedKeys[K int | uint64 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
