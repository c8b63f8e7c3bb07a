package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"goblin-actor/internal/config"
)

// asTheyWere is how many stories have nothing of what is drawn here, so that they stay those they were before there was so much to
// configure; of the others a quarter.
const asTheyWere = 24

// Traits are what a server is besides, in a wide story. Those of the zero value are the gateway's defaults.
type Traits struct {
	Lazy        bool
	IdleStop    time.Duration // of a lazy one
	Again       bool          // retry.inFlight: idempotent
	LeastBusy   bool
	Isolation   string // session or principal; "" = neither
	Forwards    bool   // a header of the client's is forwarded
	MaxBackends int    // of a server whose connections are not for everybody
	Members     int    // so many entries, one namespace; 0 = it is no group
}

// The header that some servers are sent of their clients', and the values that clients have of it. Two may have the same.
const tokenHeader = "X-User"

var tokens = []string{"", "alpha", "beta"}

// widen draws what only wide stories have.
func (p *Params) widen() {
	r := rand.New(rand.NewPCG(p.Seed, 7))
	if p.Seed <= asTheyWere || r.IntN(4) == 0 {
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
	p.Remembers = r.IntN(2) == 0
	for i := range p.Clients {
		c := &p.Clients[i]
		if c.Honest {
			continue
		}
		c.Token = tokens[r.IntN(len(tokens))]
		if len(p.Projects) > 0 && i > 0 && r.IntN(2) == 0 {
			c.Project, c.Carrier = p.Projects[r.IntN(len(p.Projects))].Name, []string{"path", "header", "meta"}[r.IntN(3)]
		}
	}
}

func drawTraits(r *rand.Rand, http bool) (t Traits) {
	t.Lazy = r.IntN(3) == 0
	t.IdleStop = []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}[r.IntN(3)]
	t.Again, t.LeastBusy = r.IntN(2) == 0, r.IntN(3) == 0
	t.Isolation = []string{"", "", "session", "principal"}[r.IntN(4)]
	t.Forwards = http && r.IntN(3) == 0
	t.MaxBackends = 2 + r.IntN(12)
	t.Members = []int{0, 0, 0, 2, 3}[r.IntN(5)]
	return t
}

// drawProjects makes two: one of servers, one of names.
func (p *Params) drawProjects(r *rand.Rand) {
	some := config.Project{Name: "some", Servers: []string{nameOf(r.IntN(len(p.Servers)))}}
	if r.IntN(2) == 0 {
		some.Tools.Deny = []string{"*_b"}
	}
	if r.IntN(2) == 0 {
		some.Resources.Deny = []string{"*/2"}
	}
	named := config.Project{Name: "named", Tools: config.Filter{Allow: []string{nameOf(r.IntN(len(p.Servers))) + "_*", "goblin_?e*"}, Deny: []string{"*_extra"}}}
	p.Projects = []config.Project{some, named}
}

// entries are the places of a server in the configuration: one, or one for each member of a group.
func (w *world) entries(cfg *config.Config, i int) (at []int) {
	for j, c := range cfg.Servers {
		if c.Name == w.servers[i].name || c.Group == w.servers[i].name {
			at = append(at, j)
		}
	}
	return at
}

// configured writes the traits of a server into its entry.
func (t Traits) configured(c *config.Server) {
	c.Args = []string{c.Name}
	if t.Lazy {
		c.Startup, c.IdleStop = "lazy", t.IdleStop
	}
	if t.Again {
		c.Retry.InFlight = "idempotent"
	}
	if t.LeastBusy {
		c.Balance = "least-busy"
	}
	if t.Isolation != "" {
		c.Isolation = t.Isolation
	}
	if t.Forwards {
		c.ForwardHeaders = []config.ForwardHeader{{From: tokenHeader, To: tokenHeader}}
	}
	if t.isolates() {
		c.MaxBackends = t.MaxBackends
	}
}

// isolates reports whether the server's connections are not for everybody.
func (t Traits) isolates() bool { return t.Isolation != "" || t.Forwards }

// group makes a group of the server's first entry and others behind all that there are. They have one replica each.
func (w *world) group(i int) {
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

// wander has a client send another value of the header that is forwarded, now and then.
func (c *client) wander() {
	if c.w.crng.IntN(20) == 0 {
		c.w.count("a client that sends another header")
		c.token = tokens[c.w.crng.IntN(len(tokens))]
	}
}

// sleeps reports whether the server is one that is stopped when nobody wants anything of it.
func (s *server) sleeps() bool { return s.Lazy }

// awake has the lazy servers started, so that what has changed while they were stopped is known.
func (w *world) awake() {
	some := w.someone(func(*client) bool { return true })
	for _, s := range w.servers {
		if s.sleeps() && len(some) > 0 {
			some[0].send("resources/read", s.uris[0], `,"uri":"`+s.uris[0]+`"`)
		}
	}
	if slices.ContainsFunc(w.servers, (*server).sleeps) {
		w.pass(time.Second)
	}
}
