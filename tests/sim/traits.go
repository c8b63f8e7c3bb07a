package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"goblin-actor/internal/config"
)

// lastNarrowSeed is the largest seed up to which no story is wide. These stories stay the same when wide stories get
// more properties. Of the stories with larger seeds, a quarter are not wide either.
const lastNarrowSeed = 24

// Traits are further properties of a server in a wide story. The zero value stands for the gateway's defaults.
type Traits struct {
	Lazy           bool
	IdleStop       time.Duration // lazy servers only
	Retries        bool          // retry.inFlight: idempotent
	LeastBusy      bool
	Isolation      string // session or principal; "" = neither
	ForwardsHeader bool   // forwards a header of the client
	MaxBackends    int    // for servers with connections per client
	Members        int    // number of entries in its group; 0 = not a group
}

// The header that some servers receive from their clients, and the values that clients send. Several clients may send
// the same value.
const forwardedHeader = "X-User"

var headerValues = []string{"", "alpha", "beta"}

// widen draws the properties of wide stories.
func (p *Params) widen() {
	r := rand.New(rand.NewPCG(p.Seed, 7))
	if p.Seed <= lastNarrowSeed || r.IntN(4) == 0 {
		return
	}
	p.Wide = true
	p.Limits.StartsAtOnce = []int{1, 2, 4}[r.IntN(3)]
	for i := range p.Servers {
		if s := &p.Servers[i]; !s.Honest {
			s.Traits = drawTraits(r, s.HTTP)
		}
	}
	if r.IntN(3) > 0 {
		p.drawProjects(r)
	}
	p.OnlyMeta = len(p.Projects) == 0 && r.IntN(4) == 0
	p.StateFile = r.IntN(2) == 0
	for i := range p.Clients {
		c := &p.Clients[i]
		if c.Honest {
			continue
		}
		c.HeaderValue = headerValues[r.IntN(len(headerValues))]
		if len(p.Projects) > 0 && i > 0 && r.IntN(2) == 0 {
			c.Project, c.ProjectVia = p.Projects[r.IntN(len(p.Projects))].Name, []string{"path", "header", "meta"}[r.IntN(3)]
		}
	}
}

func drawTraits(r *rand.Rand, http bool) (t Traits) {
	t.Lazy = r.IntN(3) == 0
	t.IdleStop = []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}[r.IntN(3)]
	t.Retries, t.LeastBusy = r.IntN(2) == 0, r.IntN(3) == 0
	t.Isolation = []string{"", "", "session", "principal"}[r.IntN(4)]
	t.ForwardsHeader = http && r.IntN(3) == 0
	t.MaxBackends = 2 + r.IntN(12)
	t.Members = []int{0, 0, 0, 2, 3}[r.IntN(5)]
	return t
}

// drawProjects draws two projects: one selects a server, the other filters by tool names.
func (p *Params) drawProjects(r *rand.Rand) {
	some := config.Project{Name: "some", Servers: []string{serverName(r.IntN(len(p.Servers)))}}
	if r.IntN(2) == 0 {
		some.Tools.Deny = []string{"*_b"}
	}
	if r.IntN(2) == 0 {
		some.Resources.Deny = []string{"*/2"}
	}
	named := config.Project{Name: "named", Tools: config.Filter{Allow: []string{serverName(r.IntN(len(p.Servers))) + "_*", "goblin_?e*"}, Deny: []string{"*_extra"}}}
	p.Projects = []config.Project{some, named}
}

// entries returns the indexes of a server's configuration entries: one, or one for each member of its group.
func (w *world) entries(cfg *config.Config, i int) (at []int) {
	for j, c := range cfg.Servers {
		if c.Name == w.servers[i].name || c.Group == w.servers[i].name {
			at = append(at, j)
		}
	}
	return at
}

// writeTo writes the traits to a server's configuration entry.
func (t Traits) writeTo(c *config.Server) {
	c.Args = []string{c.Name}
	if t.Lazy {
		c.Startup, c.IdleStop = "lazy", t.IdleStop
	}
	if t.Retries {
		c.Retry.InFlight = "idempotent"
	}
	if t.LeastBusy {
		c.Balance = "least-busy"
	}
	if t.Isolation != "" {
		c.Isolation = t.Isolation
	}
	if t.ForwardsHeader {
		c.ForwardHeaders = []config.ForwardHeader{{From: forwardedHeader, To: forwardedHeader}}
	}
	if t.isolates() {
		c.MaxBackends = t.MaxBackends
	}
}

// isolates reports whether the server has connections that clients do not share.
func (t Traits) isolates() bool { return t.Isolation != "" || t.ForwardsHeader }

// makeGroup makes the server's entry the first member of a group and appends the other members. Each has one replica.
func (w *world) makeGroup(i int) {
	first := &w.config.Servers[i]
	name := first.Name
	first.Group, first.Name, first.Replicas = name, name+"-m0", 1
	first.Written = first.Name
	first.Args = []string{first.Name}
	for n := 1; n < w.servers[i].Members; n++ {
		c := *first
		c.Name = name + "-m" + string(rune('0'+n))
		c.Written, c.Order, c.Args = c.Name, len(w.config.Servers), []string{c.Name}
		if len(c.URLs) > 0 {
			c.URLs = []string{c.URLs[0] + "/" + c.Name}
		}
		w.config.Servers = append(w.config.Servers, c)
		first = &w.config.Servers[i]
	}
}

// maybeChangeHeader occasionally changes the client's value of the forwarded header.
func (c *client) maybeChangeHeader() {
	if c.w.clientRand.IntN(20) == 0 {
		c.w.count("a client that changed its header")
		c.headerValue = headerValues[c.w.clientRand.IntN(len(headerValues))]
	}
}

// isLazy reports whether the server is stopped when it is idle.
func (s *server) isLazy() bool { return s.Lazy }

// startLazyServers starts the lazy servers, so that the gateway learns of changes made while they were stopped.
func (w *world) startLazyServers() {
	some := w.readyClients(func(c *client) bool { return c.declares == 0 }) // which any node serves
	for _, s := range w.servers {
		for _, n := range w.nodes {
			if s.isLazy() && len(some) > 0 {
				w.at(n, func() { some[0].send("resources/read", s.uris[0], `,"uri":"`+s.uris[0]+`"`) })
			}
		}
	}
	if slices.ContainsFunc(w.servers, (*server).isLazy) {
		w.advance(time.Second)
	}
}
