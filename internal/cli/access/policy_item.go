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

// meaning is what a name on the command line means: an item, or a URI that nobody lists.
type meaning struct {
	policy.Item
	called   string       // as clients call it
	what     string       // tool, prompt, resource, resource template, unlisted resource
	template string       // of a URI that nobody lists: what promises it, as clients see it
	uris     []string     // likewise: its spellings; nil = it is listed
	promise  *policy.Item // that template; nil = nothing promises it
}

var whatKinds = [...]string{protocol.Tools: "tool", protocol.Prompts: "prompt", protocol.Resources: "resource", protocol.Templates: "resource template"}

// means finds what a name means: by the name clients use, by server/name, or by the name that one server alone has.
func (k *known) means(name string) (*meaning, error) {
	var own []policy.Item
	var names []string
	for _, it := range k.items {
		names = append(names, it.Public)
		switch {
		case it.Public == name, it.Other == name && name != "", it.Server+"/"+it.Own == name, it.Server+":"+it.Own == name, namespace.PrefixURI(it.Server, it.Own) == name:
			return &meaning{Item: it, called: it.Public, what: whatKinds[it.Kind]}, nil
		case it.Own == name:
			own = append(own, it)
		}
	}
	switch len(own) {
	case 0:
	case 1:
		return &meaning{Item: own[0], called: own[0].Public, what: whatKinds[own[0].Kind]}, nil
	default:
		var several []string
		for _, it := range own[:min(len(own), 10)] {
			several = append(several, it.Public)
		}
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%d servers have %q", len(own), terminal.OneLine(name, 200)), "say which: "+terminal.OneLine(strings.Join(several, ", "), 0))
	}
	if m := k.promised(name); m != nil {
		return m, nil
	}
	hint := "goblin-actor list tools shows what there is"
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + terminal.OneLine(near, 0) + "?"
	}
	return nil, command.Fail(command.ExitFailed, fmt.Errorf("nothing is called %q", terminal.OneLine(name, 200)), hint)
}

// promised finds what a URI means that nobody lists: an expansion of a template, or one that names its server.
func (k *known) promised(uri string) *meaning {
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

func unlisted(server, own, template string) *meaning {
	public := namespace.PrefixURI(server, own)
	return &meaning{Item: policy.Item{Kind: protocol.Resources, Server: server, Own: own, Public: public}, called: public, what: "unlisted resource", template: template, uris: []string{public}}
}

func (k *known) verdicts(m *meaning, rights, project string) []policy.Verdict {
	if m.uris != nil {
		return k.policy.ExplainURI(rights, project, m.Server, m.template, m.uris)
	}
	return k.policy.Explain(rights, project, &m.Item)
}

// shows reports whether a project shows it.
func (k *known) shows(project string, m *meaning) bool {
	if m.uris == nil {
		return k.inProject(project, &m.Item)
	}
	rules, server := k.projectOf(project), k.serverOf(m.Server)
	return rules == nil || catalog.ShowsURI(*rules, server, m.template, m.uris)
}

// unasked says why a URI that its server does not list leads nowhere, whatever roles say of it; "" = it leads to its server.
func (k *known) unasked(m *meaning, rights, project string) string {
	switch unlisted := k.cfg.Resources.Unlisted; {
	case m.uris == nil:
	case m.promise == nil && unlisted != "mentioned" && unlisted != "forward":
		return "no list and no template promises it, and resources.unlisted refuses what nothing promises"
	case m.promise != nil && (!policy.Permitted(k.policy.Explain(rights, project, m.promise)) || !k.inProject(project, m.promise)):
		return "the template that it follows, " + m.promise.Public + ", is not permitted"
	}
	return ""
}

// inProject reports whether a project shows an item; "" = there is none to narrow it.
func (k *known) inProject(project string, it *policy.Item) bool {
	rules := k.projectOf(project)
	return rules == nil || catalog.Shows(*rules, k.serverOf(it.Server), it)
}

func (k *known) projectOf(name string) *config.Project {
	for i := range k.cfg.Projects {
		if k.cfg.Projects[i].Name == name {
			return &k.cfg.Projects[i]
		}
	}
	return nil
}

func (k *known) serverOf(name string) config.Server {
	for _, s := range config.Gather(k.cfg).Servers {
		if s.Name == name {
			return s
		}
	}
	return config.Server{Name: name}
}
