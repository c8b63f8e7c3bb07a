package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
)

// clusterDoc is what doctor reports about this machine as a node of a cluster.
type clusterDoc struct {
	Name   string     `json:"name"`
	Node   string     `json:"node"`
	Listen string     `json:"listen,omitempty"`
	Routes string     `json:"routes,omitempty"`
	Checks []checkDoc `json:"checks"`
}

// Results of a check.
const (
	checkOK      = "ok"
	checkNote    = "note" // worth knowing; nothing is wrong
	checkWarning = "warning"
	checkFailed  = "failed" // the node cannot work in the cluster
)

type checkDoc struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Cause  string `json:"cause,omitempty"`
	Todo   string `json:"todo,omitempty"`
}

// nodeChecks examines this machine as a node of a cluster. Its methods add to doc.
type nodeChecks struct {
	cfg    *config.Config
	report config.Report
	tls    *tls.Config
	doc    clusterDoc
	nodes  []string // nodes that answered with a certificate
}

// checkCluster checks what the section cluster says about this machine, and whether it reaches the other nodes.
func checkCluster(ctx context.Context, cfg *config.Config, report config.Report) clusterDoc {
	c := &nodeChecks{cfg: cfg, report: report, doc: clusterDoc{Name: cfg.Cluster.Name, Node: cfg.Cluster.Node, Checks: []checkDoc{}}}
	c.checkSecretFiles()
	var err error
	if c.tls, err = serving.NodeTLS(cfg); err != nil {
		c.failed("certificate", err.Error(), "the node has no certificate for its connections to other nodes", "correct cluster.tls or cluster.secrets")
		return c.doc
	}
	if c.doc.Listen, c.doc.Routes, err = cfg.Cluster.Addresses(ctx); err != nil {
		c.failed("addresses", err.Error(), "the configuration names no host, and the gateway found no address to use instead", "write cluster: {listen: HOST:8731} with the address by which the other nodes reach this machine")
		return c.doc
	}
	c.checkPort(ctx, "listen", c.doc.Listen)
	if cfg.Cluster.NATS.On() {
		c.checkNATS(ctx)
		return c.doc
	}
	c.checkPort(ctx, "routes", c.doc.Routes)
	c.checkSeeds(ctx)
	c.checkVoters()
	c.checkPlacement()
	return c.doc
}

func (c *nodeChecks) add(result, name, detail, cause, todo string) {
	c.doc.Checks = append(c.doc.Checks, checkDoc{name, result, terminal.OneLine(detail, symptomRunes), cause, todo})
}

func (c *nodeChecks) ok(name, detail string)   { c.add(checkOK, name, detail, "", "") }
func (c *nodeChecks) note(name, detail string) { c.add(checkNote, name, detail, "", "") }

func (c *nodeChecks) warning(name, detail, cause, todo string) {
	c.add(checkWarning, name, detail, cause, todo)
}

func (c *nodeChecks) failed(name, detail, cause, todo string) {
	c.add(checkFailed, name, detail, cause, todo)
}

// checkSecretFiles reports files of secrets that other users can change, and a private key that they can read. A secret that every user can
// read is reported earlier, as an error of the configuration.
func (c *nodeChecks) checkSecretFiles() {
	if runtime.GOOS == "windows" { // the directory controls access
		return
	}
	files := c.report.SecretFiles(c.cfg)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o022 != 0 {
			c.warning("secret", fmt.Sprintf("%s can be changed by other users (mode %04o)", file, info.Mode().Perm()), "a user who replaces the secret controls this node", "run chmod 600 "+file)
		}
	}
	if len(files) > 0 && len(c.doc.Checks) == 0 {
		c.ok("secrets", terminal.Count(len(c.cfg.Cluster.Secrets), "secret")+", from "+strings.Join(baseNames(files), ", "))
	}
	if key := c.cfg.Cluster.TLS.Key; key != "" {
		key = c.cfg.Beside(key)
		if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o044 != 0 {
			c.warning("certificate", "other users can read the private key "+key, "a user who has the key can act as this node", "run chmod 600 "+key)
		}
	}
}

func baseNames(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file)
	}
	return names
}

// checkPort checks that the node can listen on an address, or that it is already running and listens there.
func (c *nodeChecks) checkPort(ctx context.Context, key, address string) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
		c.ok(key, address+" is free")
	case errors.Is(err, syscall.EADDRINUSE):
		if p := c.probe(ctx, address); p.err == nil && p.node == c.cfg.Cluster.Node {
			c.ok(key, address+" is in use by this node")
			return
		}
		c.failed(key, address+" is in use", "another program listens there, or a gateway with another secret or name", "stop it, or choose another port in cluster."+key)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		c.failed(key, err.Error(), "this machine does not have the address", "correct cluster."+key+", or write only the port, such as "+portOf(address)+", to use this machine's address")
	default:
		c.failed(key, err.Error(), "the node cannot listen on this address", "correct cluster."+key)
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':'):] }

// checkVoters reports which voters were found at the seeds' addresses.
func (c *nodeChecks) checkVoters() {
	voters := c.cfg.Cluster.Voters
	if len(voters) == 0 {
		c.note("voters", "none; without voters, the gateway refuses run: one, and logins that several nodes use")
		return
	}
	var absent []string
	for _, voter := range voters {
		if voter != c.cfg.Cluster.Node && !slices.Contains(c.nodes, voter) {
			absent = append(absent, voter)
		}
	}
	if len(absent) == 0 {
		c.ok("voters", strings.Join(voters, ", "))
		return
	}
	c.note("voters", fmt.Sprintf("%s; not seen among the seeds: %s", strings.Join(voters, ", "), strings.Join(absent, ", ")))
}

// checkPlacement names the servers that other nodes run, and which of these nodes were not found at the seeds' addresses.
func (c *nodeChecks) checkPlacement() {
	var servers, absent []string
	for i := range c.cfg.Servers {
		s := &c.cfg.Servers[i]
		if !c.cfg.RunsElsewhere(s) {
			continue
		}
		servers = append(servers, s.Name+" on "+s.Run)
		if !slices.Contains(c.nodes, s.Run) && !slices.Contains(absent, s.Run) {
			absent = append(absent, s.Run)
		}
	}
	switch {
	case len(servers) == 0:
	case len(absent) == 0:
		c.note("run", strings.Join(servers, ", ")+"; run doctor there to test them")
	default:
		c.note("run", fmt.Sprintf("%s; not seen among the seeds: %s", strings.Join(servers, ", "), strings.Join(absent, ", ")))
	}
}

// examineCluster adds the checks of this node to the report. It does nothing if the gateway runs alone, or if the section cluster has errors.
func (d *diagnosis) examineCluster(ctx context.Context) {
	if d.cfg == nil || !d.cfg.Cluster.Present || slices.ContainsFunc(d.report.Faults, func(f *config.Finding) bool { return strings.HasPrefix(f.Path, "cluster") }) {
		return
	}
	doc := checkCluster(ctx, d.cfg, d.report)
	d.doc.Cluster = &doc
	for _, check := range doc.Checks {
		if check.Result == checkFailed {
			d.clusterFailed++
		}
	}
	if d.format != output.Table {
		return
	}
	fmt.Fprintf(d.out, "cluster %s: this is node %s\n", doc.Name, cmp.Or(doc.Node, "?"))
	for _, check := range doc.Checks {
		sign := map[string]string{checkOK: d.paint.Good("✓"), checkNote: d.paint.Warn("–"), checkWarning: d.paint.Warn("!"), checkFailed: d.paint.Bad("✗")}[check.Result]
		fmt.Fprintf(d.out, "%s %s: %s\n", sign, check.Name, terminal.Clean(check.Detail))
		if check.Cause != "" {
			fmt.Fprintf(d.out, "    cause: %s\n", program.Hint(check.Cause))
			d.fix(check.Todo)
		}
	}
}
