package access

import (
	"fmt"
	"slices"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// policyTarget is what a name on the command line refers to: an item, or a URI that is not listed.
type policyTarget struct {
	policy.Item
	called   string       // the item's name for clients
	what     string       // tool, prompt, resource, resource template, unlisted resource
	template string       // for an unlisted URI: the matching template in the form that clients see; "" = none
	uris     []string     // for an unlisted URI: the forms in which clients may write it; nil = the item is listed
	promise  *policy.Item // the matching template as an item; nil = none
}

var whatKinds = [...]string{protocol.Tools: "tool", protocol.Prompts: "prompt", protocol.Resources: "resource", protocol.Templates: "resource template"}

// resolve finds an item by its name for clients, by SERVER/NAME, SERVER:NAME or its prefixed URI, or by the name that
// its server uses if this is unique. Otherwise it resolves name as an unlisted URI.
func (k *inspection) resolve(name string) (*policyTarget, error) {
	var own []policy.Item
	var names []string
	for _, it := range k.items {
		names = append(names, it.Public)
		switch {
		case it.Public == name, it.Other == name && name != "", it.Server+"/"+it.Own == name, it.Server+":"+it.Own == name, namespace.PrefixURI(it.Server, it.Own) == name:
			return &policyTarget{Item: it, called: it.Public, what: whatKinds[it.Kind]}, nil
		case it.Own == name:
			own = append(own, it)
		}
	}
	switch len(own) {
	case 0:
	case 1:
		return &policyTarget{Item: own[0], called: own[0].Public, what: whatKinds[own[0].Kind]}, nil
	default:
		var several []string
		for _, it := range own[:min(len(own), 10)] {
			several = append(several, it.Public)
		}
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%d items are called %q by their servers", len(own), terminal.OneLine(name, 200)), "choose one of: "+terminal.OneLine(strings.Join(several, ", "), 0))
	}
	if m := k.resolveURI(name); m != nil {
		return m, nil
	}
	hint := "run \"goblin-actor list tools\", \"list prompts\" or \"list resources\" to see the items"
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + terminal.OneLine(near, 0) + "?"
	}
	return nil, command.Fail(command.ExitFailed, fmt.Errorf("no item is called %q", terminal.OneLine(name, 200)), hint)
}

// resolveURI returns the target for an unlisted URI: one that matches a template, or one whose prefix names a server.
// It returns nil if the URI is neither.
func (k *inspection) resolveURI(uri string) *policyTarget {
	server, own, ok := namespace.SplitPrefixURI(uri)
	if ok && !slices.Contains(k.servers(), server) {
		return nil
	}
	for _, it := range k.items {
		if it.Kind != protocol.Templates || ok && it.Server != server {
			continue
		}
		original := own
		if !ok {
			original = uri
		}
		if t, err := namespace.ParseTemplate(it.Own); err == nil && t.Match(original) {
			m := unlisted(it.Server, original, namespace.PrefixURI(it.Server, it.Own))
			m.promise = &it
			return m
		}
	}
	if ok {
		return unlisted(server, own, "")
	}
	return nil
}

func unlisted(server, own, template string) *policyTarget {
	public := namespace.PrefixURI(server, own)
	return &policyTarget{Item: policy.Item{Kind: protocol.Resources, Server: server, Own: own, Public: public}, called: public, what: "unlisted resource", template: template, uris: []string{public}}
}

func (k *inspection) verdicts(m *policyTarget, rights, project string) []policy.Verdict {
	if m.uris != nil {
		return k.policy.ExplainURI(rights, project, m.Server, m.template, m.uris)
	}
	return k.policy.Explain(rights, project, &m.Item)
}

// shows reports whether the target is visible in a project.
func (k *inspection) shows(project string, m *policyTarget) bool {
	if m.uris == nil {
		return k.inProject(project, &m.Item)
	}
	rules, server := k.projectOf(project), k.serverOf(m.Server)
	return rules == nil || catalog.ShowsURI(*rules, server, m.template, m.uris)
}

// whyUnlisted returns why an unlisted URI is refused even if the roles permit the URI, or "" if there is no such
// reason. byPolicy means that the policy refuses it.
func (k *inspection) whyUnlisted(m *policyTarget, rights, project string) (reason string, byPolicy bool) {
	switch unlisted := k.cfg.Resources.Unlisted; {
	case m.uris == nil:
	case m.promise == nil && unlisted != "mentioned" && unlisted != "forward":
		return "it is not listed and matches no template, and resources.unlisted refuses such URIs", false
	case m.promise != nil && !k.inProject(project, m.promise):
		return "its template, " + m.promise.Public + ", is not part of the project " + project, false
	case m.promise != nil && !policy.Permitted(k.policy.Explain(rights, project, m.promise)):
		return "its template, " + m.promise.Public + ", is not permitted", true
	}
	return "", false
}

// inProject reports whether an item is visible in a project. An unknown or empty project restricts nothing.
func (k *inspection) inProject(project string, it *policy.Item) bool {
	rules := k.projectOf(project)
	return rules == nil || catalog.Shows(*rules, k.serverOf(it.Server), it)
}

func (k *inspection) projectOf(name string) *config.Project {
	for i := range k.cfg.Projects {
		if k.cfg.Projects[i].Name == name {
			return &k.cfg.Projects[i]
		}
	}
	return nil
}

func (k *inspection) serverOf(name string) config.Server {
	for _, s := range config.Gather(k.cfg).Servers {
		if s.Name == name {
			return s
		}
	}
	return config.Server{Name: name}
}
