package config

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/namespace"
)

const (
	maxNodeName = 63 // characters, as in a label of a DNS name
	maxNATSURLs = 16
)

const (
	nameHint      = "use letters, digits and -, at most 63 characters"
	newSecretHint = "create one, give it to every node, and write secrets: \"${file:cluster.secret}\":\n(umask 077; goblin-actor cluster secret >cluster.secret)"
)

// checkCluster checks the section cluster, and replaces names by slugs and addresses by complete ones.
func (d *decoder) checkCluster(c *Config) {
	if !c.Cluster.Present {
		return
	}
	k := &c.Cluster
	d.checkClusterNames(k)
	d.checkClusterSecrets(k)
	d.checkVoters(k)
	d.checkNATS(k)
	d.checkNodeAddresses(c)
	d.checkSeeds(k)
	d.checkNodeTLS(k)
}

// checkNodeTLS checks the section tls.
func (d *decoder) checkNodeTLS(k *Cluster) {
	const path = "cluster.tls"
	set := k.TLS
	if (set.Cert == "" || set.Key == "" || set.CA == "") && (set.Cert != "" || set.Key != "" || set.CA != "" || len(set.Nodes) > 0) {
		d.complain(path, "cert, key and ca must be set together", "write tls: {cert: node.crt, key: node.key, ca: ca.crt}, or remove the section to use certificates made from the secret")
	}
	if len(set.Nodes) > maxSeeds {
		d.complain(path+".nodes", fmt.Sprintf("more than %d names", maxSeeds), "list the nodes only")
	}
	for i, name := range set.Nodes {
		if name == "" || strings.ContainsAny(name, "*/ ") {
			d.complain(d.itemPath(path+".nodes", i), "not a name or an address", "write the name of a node as it is in its certificate, without wildcards")
		}
	}
	if set.On() && k.NATS.On() && len(set.Nodes) == 0 {
		d.complain(path, "nodes is missing, so the certificates of the other nodes would be refused", "list the names of the nodes: nodes: [NAME, NAME]")
	}
}

// missing reports a key that the section cluster needs.
func (d *decoder) missing(key, message, hint string) {
	if path := "cluster." + key; !d.reported[path] {
		o := d.report.origins[d.firstWritten(path, "cluster")]
		d.fault(o.line, o.column, path, message, hint)
	}
}

// slug returns the slug of a name in the section cluster. It reports an empty or long name, and warns if a name that is written in the file is
// not a slug.
func (d *decoder) slug(path, name string) string {
	slug := namespace.Slug(name)
	o := d.report.origins[path]
	switch {
	case name == "":
		d.complain(path, "empty name", nameHint)
	case len(slug) > maxNodeName:
		d.complain(path, fmt.Sprintf("a name must not exceed %d characters", maxNodeName), nameHint)
	case slug != name && len(o.refs) == 0 && o.line > 0 && !d.reported[path]:
		d.warn(o.line, o.column, path, fmt.Sprintf("renamed to %q", slug), "names consist of lower-case letters, digits and -")
	}
	return slug
}

// nodeName is like slug, for names of nodes.
func (d *decoder) nodeName(path, name string) string {
	slug := d.slug(path, name)
	if slug == RunEach || slug == RunOne {
		d.complain(path, fmt.Sprintf("a node cannot have the name %q, because it is a value of run", slug), "choose another name")
	}
	return slug
}

func (d *decoder) checkClusterNames(k *Cluster) {
	k.Name = d.slug("cluster.name", k.Name)
	if k.Node != "" {
		k.Node = d.nodeName("cluster.node", k.Node)
		return
	}
	host, err := os.Hostname()
	switch label, _, _ := strings.Cut(host, "."); {
	case err != nil, host == "", strings.EqualFold(label, "localhost"):
		d.missing("node", "this machine has no host name that could be the name of the node", "write node: NAME, or node: \"${NAME}\" with a variable that differs on each machine")
	case len(namespace.Slug(host)) > maxNodeName:
		d.missing("node", fmt.Sprintf("the host name of this machine, which names the node, exceeds %d characters", maxNodeName), "write node: NAME, or node: \"${NAME}\" with a variable that differs on each machine")
	default:
		k.Node = namespace.Slug(host)
	}
}

// checkClusterSecrets reports secrets that cannot be used. It does not check secrets that were not looked up.
func (d *decoder) checkClusterSecrets(k *Cluster) {
	const path = "cluster.secrets"
	if d.reported[path] {
		return
	}
	for i := range k.Secrets {
		at := d.itemPath(path, i)
		o := d.report.origins[at]
		if slices.ContainsFunc(o.refs, func(r reference) bool { return !r.set }) || d.reported[at] {
			return
		}
		if !onlyReference(o.written) {
			d.complain(at, "the secret is part of this file", "write a reference and nothing else, such as ${file:cluster.secret}, to a secret that you create with goblin-actor cluster secret")
			return
		}
		if _, err := cluster.NewSecrets(k.Secrets[:i+1]); err != nil {
			hint := "remove the secrets that no node lists first any more"
			if len(k.Secrets[i]) < cluster.MinSecret {
				hint = newSecretHint
			}
			d.complain(at, err.Error(), hint)
			return
		}
	}
	if len(k.Secrets) == 0 {
		d.missing("secrets", "no secret given", newSecretHint)
	}
}

// onlyReference reports whether s is one reference without other text and without a default.
func onlyReference(s string) bool {
	e := expand(s, sources{env: func(string) (string, bool) { return "", false }, look: func(string, string) (string, error) { return "", nil }})
	return len(e.refs) == 1 && e.text == ""
}

// SecretFiles returns the files that cluster.secrets refers to. r is the Report that came with c.
func (r Report) SecretFiles(c *Config) (files []string) {
	look := func(kind, what string) (string, error) {
		if kind == fromFile {
			files = append(files, c.Beside(what))
		}
		return "", nil
	}
	for i := range c.Cluster.Secrets {
		at := place{path: "cluster.secrets"}
		o, ok := r.origins[at.item(i).path]
		if !ok {
			o = r.origins[at.path]
		}
		expand(o.written, sources{env: func(string) (string, bool) { return "", true }, look: look})
	}
	return files
}

func (d *decoder) checkVoters(k *Cluster) {
	const path = "cluster.voters"
	for i, name := range k.Voters {
		at := d.itemPath(path, i)
		k.Voters[i] = d.nodeName(at, name)
		if slices.Contains(k.Voters[:i], k.Voters[i]) {
			d.complain(at, "this name is listed twice", "remove one")
		}
	}
	switch n := len(k.Voters); {
	case n > 5:
		d.complain(path, fmt.Sprintf("%d voters; at most 5 are possible, because each write waits for more than half of them", n), "list 1, 3 or 5 nodes; the others use what these store")
	case n > 0 && n%2 == 0:
		d.complain(path, fmt.Sprintf("%d voters tolerate no more failures than %d, because more than half of them must be running", n, n-1), "list 1, 3 or 5 nodes")
	}
}

// checkNATS checks the section nats, and reports the keys that it replaces.
func (d *decoder) checkNATS(k *Cluster) {
	const path = "cluster.nats"
	if !k.NATS.On() {
		if k.NATS.Credentials != "" {
			d.complain(path, "credentials without a url", "write nats: {url: \"tls://HOST:4222\", credentials: nats.creds}")
		}
		return
	}
	key := path + ".urls"
	if d.written(path + ".url") {
		key = path + ".url"
	}
	if len(k.NATS.URLs) > maxNATSURLs {
		d.complain(key, fmt.Sprintf("more than %d URLs", maxNATSURLs), "list a few; the servers name the others")
	}
	for i, address := range k.NATS.URLs {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			d.complain(d.itemPath(key, i), "not the URL of a NATS server", "write nats://host:4222 or tls://host:4222")
		}
	}
	for _, other := range []struct {
		key string
		set bool
	}{
		{"routes", d.written("cluster.routes") && k.Routes != ""}, {"seeds", len(k.Seeds) > 0}, {"voters", len(k.Voters) > 0},
	} {
		if other.set {
			d.complain("cluster."+other.key, "the external NATS server under nats replaces it", "remove "+other.key+", or remove nats to use the NATS server inside the gateways")
		}
	}
}
