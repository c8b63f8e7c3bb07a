package config

import (
	"fmt"
	"strings"
)

// Values of Server.Run that are not names of nodes.
const (
	RunEach = "each"
	RunOne  = "one"
)

// RunsElsewhere reports whether another node of the cluster runs the server.
func (c *Config) RunsElsewhere(s *Server) bool {
	return c.Cluster.Present && s.Run != "" && s.Run != RunEach && s.Run != RunOne && s.Run != c.Cluster.Node
}

// checkRunName checks the form of a server's run, and replaces the name of a node by its slug.
func (d *decoder) checkRunName(s *Server, path string) {
	if !d.written(path) || d.reported[path] {
		return
	}
	s.Run = d.slug(path, s.Run)
}

// checkRun sets the default of run. It reports commands without run, members that other nodes cannot reach, and servers that need records in
// a cluster that has none. Without a cluster, run has no effect: the same file may be used for a gateway that runs alone.
func (d *decoder) checkRun(c *Config) {
	if !c.Cluster.Present {
		d.dropRun(c)
		return
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		at := join("mcpServers", s.Written)
		run := join(at, "run")
		switch {
		case s.Run == "" && len(s.URLs) > 0:
			s.Run = RunEach
		case s.Run == "" && !d.written(run):
			d.complain(at, "run is missing: in a cluster, it says where this command runs",
				"write run: each (a process on every node), run: one (one process at a time; if its node fails, another node starts it) or run: NODE (always on that node)")
		case s.Run == RunOne && !c.Cluster.Records():
			d.complain(run, "one requires voters, which record which node runs the server", "add the names of 1, 3 or 5 nodes to cluster.voters, or write the name of a node")
		case s.Run != RunEach && s.Group == s.Name:
			d.complain(run, "a member with the name of its group requires run: each, because the nodes reach the other members by their names", "rename the member or the group")
		}
		if login := join(join(at, "auth"), "type"); s.Auth.Type == "oauth" && s.Run == RunEach && !c.Cluster.Records() {
			d.complain(d.firstWritten(login, at), "a login that several nodes use requires voters, which store it", "add the names of 1, 3 or 5 nodes to cluster.voters, or write run: NODE, so that one node uses it")
		}
	}
}

// dropRun removes run from all servers of a gateway without cluster, and warns if some of them have it.
func (d *decoder) dropRun(c *Config) {
	var names []string
	path := ""
	for i := range c.Servers {
		s := &c.Servers[i]
		if s.Run == "" {
			continue
		}
		if s.Run = ""; path == "" {
			path = join(join("mcpServers", s.Written), "run")
		}
		names = append(names, s.Name)
	}
	if path == "" {
		return
	}
	o := d.report.origins[path]
	message := "has no effect without the section cluster"
	if others := len(names) - 1; others > 0 {
		message += fmt.Sprintf("; neither does run of %s", clip(strings.Join(names[1:], ", ")))
	}
	d.warn(o.line, o.column, path, message, "ignore this warning if the gateway runs alone on purpose")
}
