package sim

// What clusters do not do yet. Each function restricts the stories of clusters; delete it with its gap.

// knowsLink returns a node at which the client can read the resource to which the result of a call links: another one if the nodes tell
// each other of it.
// Gap: the nodes do not tell each other of resources of processes, of groups and of tenants' connections.
func (a *clientRequest) knowsLink(s *server) *node {
	w := a.client.w
	switch {
	case !w.isCluster():
		return nil
	case w.p.Bus && s.http && !s.isolates() && s.Members == 0:
		w.count("a scene: a resource linked at another node")
		return w.nodes[(a.servedBy().number+1)%len(w.nodes)]
	}
	return a.servedBy()
}
