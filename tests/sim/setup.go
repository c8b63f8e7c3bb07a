package sim

import (
	"fmt"
	"time"

	"goblin-actor/internal/config"
)

// start creates the servers, the gateway and the clients of the story.
func (w *world) start() {
	w.configure()
	for i, sp := range w.p.Servers {
		w.addServer(i, sp)
	}
	for i, s := range w.servers {
		if s.Members > 0 {
			w.makeGroup(i)
		}
	}
	if w.p.Wide {
		w.count("a wide story")
	}
	w.addNodes()
	w.startNodes()
	w.awaitMembers()
	for i, cp := range w.p.Clients {
		w.addClient(i, cp)
	}
	w.publishPrincipals()
	w.scheduler.afterStep = w.checkStep
}

// configure sets the global keys of the gateway's configuration.
func (w *world) configure() {
	w.config = config.Default()
	w.config.Limits = w.p.Limits
	switch {
	case w.p.OnlyMeta && w.listsMetaTools():
		w.config.MetaTools = "only"
	case !w.listsMetaTools():
		w.config.MetaTools = "false"
	default: // with auto, the gateway would not list its own tools, because servers have so few
		w.config.MetaTools = "all"
	}
	w.config.Projects = w.p.Projects
	if w.p.Authenticated {
		w.config.Auth.Keys = "keys.yaml"
		w.count("an authenticated story")
	}
}

// addServer adds a server and its configuration entry.
func (w *world) addServer(i int, sp ServerParams) {
	s := &server{
		w: w, name: serverName(i), Traits: sp.Traits, modern: sp.Modern, dual: sp.Dual, http: sp.HTTP, replicas: sp.Replicas,
		silent: sp.Silent, honest: sp.Honest, changedAt: map[string]int{}, tools: []string{"a", "b"},
		uris:     []string{fmt.Sprintf("x://s%d/1", i), fmt.Sprintf("x://s%d/2", i)},
		quietURI: fmt.Sprintf("x://s%d/quiet", i),
	}
	w.servers = append(w.servers, s)
	c := config.DefaultServer()
	c.Name, c.Written, c.Order, c.Replicas = s.name, s.name, i, sp.Replicas
	c.Queue, c.MaxConcurrent, c.StartTimeout = w.p.Queue, w.p.Slots, 20*time.Second
	c.Protocol = "legacy"
	if sp.Honest {
		c.Queue, c.MaxConcurrent = config.DefaultServer().Queue, config.DefaultServer().MaxConcurrent
	}
	if sp.Modern {
		c.Protocol = "modern"
	}
	if sp.Dual || sp.Auto {
		c.Protocol = "auto"
	}
	if sp.HTTP {
		for n := range sp.Replicas {
			c.URLs = append(c.URLs, fmt.Sprintf("http://127.0.0.1:%d/mcp", 9000+10*i+n))
		}
		c.Type, c.Isolation, c.Replicas = "http", []string{"class", "shared"}[i%2], 1
		c.Shared = w.p.Bus
	} else {
		c.Command, c.Args = "simulated", []string{c.Name} // the state file has one list for all servers with equal commands, so each server needs its own
	}
	if w.p.Wide {
		sp.writeTo(&c)
	}
	w.config.Servers = append(w.config.Servers, c)
}

// addClient adds a client.
func (w *world) addClient(i int, cp ClientParams) {
	c := &client{
		w: w, name: fmt.Sprintf("c%d", i), modern: cp.Modern, answers: cp.Answers, old: cp.Old, noElicitation: cp.NoElicitation,
		honest: cp.Honest, headerValue: cp.HeaderValue, projectVia: cp.ProjectVia, declares: cp.Declares,
		pending: map[int]*clientRequest{}, questions: map[string]*clientRequest{}, withdrawn: map[string]bool{}, logLines: map[string]bool{},
		reading: map[responseReader]bool{}, subs: map[string]*subscription{}, dropped: map[responseReader]bool{},
	}
	for j := range w.p.Projects {
		if w.p.Projects[j].Name == cp.Project {
			c.project = &w.p.Projects[j]
		}
	}
	if cp.Principal != "" {
		c.principal = w.newPrincipal(cp.Principal)
	}
	for _, i := range cp.KeptAt {
		c.keptAt = append(c.keptAt, w.nodes[i])
	}
	c.connect()
	w.clients = append(w.clients, c)
}

// serverName returns the name of server i.
func serverName(i int) string { return fmt.Sprintf("s%d", i) }

// startNodes starts the gateways with the current configuration.
func (w *world) startNodes() {
	for _, n := range w.nodes {
		n.start()
	}
	w.publishPrincipals()
}
