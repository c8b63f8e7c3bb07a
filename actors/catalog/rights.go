package catalog

import (
	"bytes"
	"hash/maphash"
	"slices"

	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// The view of rights is, like that of a project, the whole catalog with some items hidden: those that the project hides,
// and those that no role permits. So items have the same names for every principal, and a permitted call costs no more
// than without a policy.

// rights are the roles that determine what a view shows.
type rights struct {
	policy *policy.Policy
	set    policy.Set
}

// judged is the set of roles of a policy that permit an entry. It is cached in the entry until the policy changes.
type judged struct {
	policy  *policy.Policy
	permits policy.Set
}

// permits returns the roles that permit an item of the whole catalog. Concurrent callers may both compute the set;
// the results are equal.
func (r *rights) permits(it *item) policy.Set {
	if j := it.entry.judged.Load(); j != nil && j.policy == r.policy {
		return j.permits
	}
	policed := it.entry.PolicyItem()
	j := &judged{r.policy, r.policy.Permits(&policed)}
	it.entry.judged.Store(j)
	return j.permits
}

// PolicyItem returns what the rules of roles refer to.
func (e *Entry) PolicyItem() policy.Item {
	it := e.item
	return policy.Item{Kind: it.kind, Server: it.server.Name, Internal: it.server.Internal, Public: it.public, Own: it.own, Other: it.other, ReadOnly: e.ReadOnly()}
}

// Spelling returns the alternative URI of a resource or template that clients may use, or "".
func (e *Entry) Spelling() string { return e.item.other }

// ReadOnly reports whether the tool's definition declares it read-only.
func (e *Entry) ReadOnly() bool { return e.Kind == protocol.Tools && readOnly(e.item.item) }

// readOnly reports whether a tool's annotations declare it read-only. A duplicate readOnlyHint counts as none. MCP
// 2025-11-25, server/tools, annotations.
func readOnly(item protocol.Item) bool {
	annotations := item.Annotations.Of(item.Raw)
	if len(annotations) == 0 || annotations[0] != '{' || bytes.Count(annotations, []byte("readOnlyHint")) != 1 {
		return false
	}
	return string(rawjson.Member(item.Raw, item.Annotations, "readOnlyHint").Of(item.Raw)) == "true"
}

// admits reports whether the roles permit an unlisted URI.
func (r *rights) admits(server *Server, template string, uris []string) bool {
	return r == nil || r.policy.Admits(r.set, server.Name, server.Internal, template, uris)
}

// buildRights builds the view of what the key's rights permit under the policy. The parameter all is the view without
// these rights: of everything, or of a project. If the policy only reports, buildRights returns a copy of that view, with
// the permitted part as its report.
func (s *Snapshot) buildRights(all *View, k Key, p *policy.Policy) *View {
	r := &rights{p, p.InForce(k.Rights, k.Project)}
	v := s.Nothing()
	if !r.set.Empty() {
		v = s.buildPermitted(all, r, k)
	}
	v.beyond = all
	if !p.Reports() {
		return v
	}
	reported := *all
	reported.report = v
	return &reported
}

func (s *Snapshot) buildPermitted(all *View, r *rights, k Key) *View {
	v := &View{
		snapshot: s, pass: all.pass, scope: &scope{rights: r},
		ordered: all.ordered, names: all.names, resources: all.resources, templates: all.templates, linked: all.linked,
	}
	if all.scope != nil {
		v.scope.rules, v.scope.judge = all.scope.rules, all.scope.judge
	}
	k.Policy = nil // pages depend only on their entries, so those rendered under an older policy are reused
	seen := map[*Server]bool{}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		v.shown[kind] = make(marks, (len(all.ordered[kind])+63)/64)
		var entries []*Entry
		for _, it := range all.ordered[kind] {
			if all.entry(it) != nil && r.permits(it).Meets(r.set) {
				v.shown[kind].add(it.place)
				entries = append(entries, it.entry)
				seen[it.server] = true
			}
		}
		v.lists[kind] = s.derived.lists.following(listKey{k, kind}, entries, !v.pass, s.naming.PageSize)
		v.listMeta(kind)
		v.Generation[kind] = v.digest(kind)
	}
	v.servers = slices.DeleteFunc(slices.Clone(all.servers), func(server *Server) bool { return !seen[server] && !r.policy.Shows(r.set, server.Name) })
	v.findSilent()
	v.instructions = instructions(v.introduction(), v.servers, v.pass)
	return v
}

var digestSeed = maphash.MakeSeed()

// digest returns the generation of a view of rights. It changes if and only if the list has other items, an item has
// changed for clients, or a server of an item has announced a change although its list is equal. It depends only on the
// snapshot and not on earlier requests for the view. So a session that is the first to request the view in one snapshot
// is not notified in the next one unless something has changed.
func (v *View) digest(kind protocol.ItemKind) (sum uint64) {
	var insists []*Server
	for _, e := range v.listed(kind).entries {
		sum = mix(mix(sum, maphash.String(digestSeed, e.Public)), e.since)
		if n := len(insists); n == 0 || insists[n-1] != e.Server {
			insists = append(insists, e.Server)
		}
	}
	if v.snapshot.naming.OnlyMeta {
		return sum
	}
	for _, server := range v.snapshot.servers {
		if slices.Contains(insists, server) {
			sum = mix(sum, v.snapshot.byName[server.Name].announced[kind])
		}
	}
	return sum
}

// mix combines two numbers. The order matters.
func mix(a, b uint64) uint64 { return (a^(b+0x9e3779b97f4a7c15+a<<6+a>>2))*0xff51afd7ed558ccd + 1 }

// changedIn returns the Version in which an item last changed for clients: that of previous if the item is equal there
// (see sameEntries), or else the snapshot's own. Without a policy it returns 0.
func (v *View) changedIn(it *item, previous *Snapshot) uint64 {
	if v.snapshot.naming.Policy == nil {
		return 0
	}
	if previous == nil {
		return v.snapshot.Version
	}
	old := previous.main.byPublicName(it.kind, it.public)
	if old == nil || old.entry == nil || !sameEntries([]*Entry{old.entry}, []*Entry{it.entry}) {
		return v.snapshot.Version
	}
	return old.entry.since
}

// byPublicName returns the item with that public name, or nil.
func (v *View) byPublicName(kind protocol.ItemKind, public string) *item {
	switch kind {
	case protocol.Tools, protocol.Prompts:
		return v.names[kind-protocol.Tools].public[public]
	case protocol.Resources:
		return v.resources.public[public]
	}
	return v.templates.public[public]
}

// limited reports whether the view belongs to a project or to rights and so may hide items. A nil view is unlimited.
func (v *View) limited() bool { return v != nil && v.scope != nil }

// Beyond returns the view without the restrictions of the key's rights, or nil if rights do not restrict v. An item found
// there but not in v is denied.
func (v *View) Beyond() *View { return v.beyond }

// Reported returns the view as it would be if the report-only policy were enforced, or nil if there is nothing to
// report.
func (v *View) Reported() *View { return v.report }

// Trusts reports whether clients of the view may send the server a method that the gateway does not know.
func (v *View) Trusts(server *Server) bool {
	switch {
	case v.scope == nil:
		return true
	case v.scope.parts != nil:
		return slices.ContainsFunc(v.scope.parts, func(part *View) bool { return part.Has(server.Name) && part.Trusts(server) })
	}
	if v.scope.narrows() { // the gateway cannot know which item the method is about
		return false
	}
	return v.scope.rights == nil || v.scope.rights.policy.Trusts(v.scope.rights.set, server.Name)
}

// ToolRate returns the rate limit of a tool for one principal with the view's rights; zero = unlimited.
func (v *View) ToolRate(e *Entry) (rate config.Rate) {
	switch {
	case v.report != nil: // report-only mode: the caller reports calls over the limit and does not refuse them
		return v.report.ToolRate(e)
	case v.scope == nil || e.Kind != protocol.Tools:
		return rate
	case v.scope.parts != nil:
		for _, part := range v.scope.parts {
			if its := part.ToolRate(e); rate.Less(its) && part.showsOwn(e.Kind, e.Server.Name, e.Original) {
				rate = its
			}
		}
		return rate
	case v.scope.rights == nil || !v.scope.rights.policy.RatesTools(v.scope.rights.set):
		return rate
	}
	it := v.snapshot.main.names[0].owned[ownName{e.Server.Name, e.Original}]
	if it == nil || it.entry == nil {
		return rate
	}
	return v.scope.rights.policy.ToolRate(v.scope.rights.set, v.scope.rights.permits(it))
}
