package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// target is a server, or one of its tools, that can be enabled and disabled.
type target struct {
	server string
	tool   string // the server's name for the tool; "" = the server itself
	off    bool   // it is disabled now
}

// String names the target in a question.
func (t target) String() string {
	if t.tool != "" {
		return "tool " + plain(t.tool) + " of " + plain(t.server)
	}
	return "server " + plain(t.server)
}

// serverTarget returns a server as a target.
func (a *App) serverTarget(server string) target {
	return target{server: server, off: stateOfServer(a.picture, server) == "disabled"}
}

// toolTarget returns the tool of a row as a target. ok is false if the row is not a tool of a server.
func (a *App) toolTarget(r *Row) (t target, ok bool) {
	if r.Off != "" {
		return target{r.Server, r.Off, true}, true
	}
	if i, is := a.formItem(); is && i.verb == form.Call && !i.item.Internal {
		return target{i.item.Server, i.item.Original, false}, true
	}
	return t, false
}

// switchActs returns the actions that enable and disable a target.
func (a *App) switchActs(t target) []rowAct {
	what := "the server"
	if t.tool != "" {
		what = "the tool"
	}
	acts := make([]rowAct, 2)
	for i, verb := range []status.Verb{status.Enable, status.Disable} {
		act := a.aimed(status.Action{Verb: verb, Server: t.server, Tool: t.tool})
		acts[i] = rowAct{label: string(verb) + " " + what, command: a.commandOf(act), why: a.noSwitch(t, verb), do: func() { a.perform(act) }}
	}
	acts[1].do = a.disabling(t)
	return acts
}

// noSwitch returns why a target cannot be enabled or disabled, or "".
func (a *App) noSwitch(t target, verb status.Verb) string {
	switch members := groupMembers(a.picture, t.server); {
	case a.readOnly:
		return "this console is read-only"
	case a.picture.Config == "":
		return "the gateway runs without a configuration file"
	case t.tool == "" && stateOfServer(a.picture, t.server) == "":
		return "there is no such server"
	case t.tool == "" && len(members) > 0:
		return "it is a group; enable or disable its members: " + plain(strings.Join(members, ", "))
	case t.off && verb == status.Disable:
		return "it is disabled"
	case !t.off && verb == status.Enable:
		return "it is enabled"
	}
	return ""
}

// groupMembers returns the names of a group's members that have connections, in any state, or nil if the server is not a
// group.
func groupMembers(p *Picture, server string) (members []string) {
	for i := range p.Backends {
		if b := &p.Backends[i]; b.Server == server && b.Member != "" && !slices.Contains(members, b.Member) {
			members = append(members, b.Member)
		}
	}
	return members
}

// disabling returns a function that asks whether to disable a target, and disables it if the user agrees.
func (a *App) disabling(t target) func() {
	act := a.aimed(status.Action{Verb: status.Disable, Server: t.server, Tool: t.tool})
	return func() {
		a.ask(fmt.Sprintf("disable %s? %sy/n", t, a.hits(t)), func() { a.perform(act) })
	}
}

// hits returns clauses that say what disabling a target affects, or "" if nothing uses the target.
func (a *App) hits(t target) string {
	p, text := a.picture, ""
	if n := len(p.Sessions); n > 0 {
		text = plural(n, "client session") + " open; "
	}
	running, subscribed := 0, 0
	for i := range p.Servers {
		if s := &p.Servers[i]; s.Name == t.server && t.tool == "" {
			running = s.InFlight
		}
	}
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Server == t.server && t.tool != "" && c.Item == t.tool && form.VerbOf(c.Method) == form.Call {
			running++
		}
	}
	for i := range p.Subscriptions {
		if t.tool == "" && p.Subscriptions[i].Server == t.server {
			subscribed++
		}
	}
	if running > 0 {
		text += plural(running, "call") + " may finish; "
	}
	if subscribed > 0 {
		text += plural(subscribed, "subscription") + " will get no updates; "
	}
	return text
}

// switchCommand returns the command line that enables or disables a target in the gateway's file.
func (a *App) switchCommand(act status.Action) string {
	name := act.Server
	if act.Tool != "" {
		name += "/" + act.Tool
	}
	line := "goblin-actor " + string(act.Verb) + " " + form.Quote(name)
	if file := a.picture.Config; file != "" && file != a.config {
		line += " --config " + form.Quote(file)
	}
	return line
}

// switched returns the message for an Enable or Disable that has changed the configuration file.
func (a *App) switched(act status.Action) string {
	t := target{server: act.Server, tool: act.Tool}
	return string(act.Verb) + "d " + t.String() + " in " + plain(filepath.Base(a.picture.Config))
}
