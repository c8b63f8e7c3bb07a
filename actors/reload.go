package actors

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
)

// reloads holds the state that a reload is compared with, and the callers that wait for a reload.
type reloads struct {
	source  *config.Config      // the configuration in force as written, before config.Gather
	policy  *policy.Policy      // of the configuration in force; nil if it has none
	start   *config.Config      // the configuration the gateway was started with
	secrets secret.Values       // of the configuration in force and the previous one
	fault   *status.ConfigFault // why a newer configuration was rejected; replaced, but never modified

	continuing        int                      // reloadWithPolicy messages that have not arrived yet; later reloads must not overtake them
	rightsUnderPolicy bool                     // the newest rights of local clients are those of a policy
	localRights       uint64                   // key of the confirmation that the local clients' new rights wait for; 0 = none
	waiters           map[uint64]*reloadWaiter // by number
	lastWaiter        uint64                   // number of the newest waiter
	registryFailed    bool                     // the registry has failed permanently: clients will see no more changes
}

func newReloads(cfg *config.Config) reloads {
	p := policy.Compile(cfg.Policy)
	return reloads{source: cfg, policy: p, rightsUnderPolicy: p != nil, start: cfg, secrets: cfg.Secrets, waiters: map[uint64]*reloadWaiter{}}
}

// rejected records that a newer configuration was rejected. It keeps the time of the first rejection.
func (r *reloads) rejected(now time.Time, reason string) {
	since := now
	if r.fault != nil {
		since = r.fault.Since
	}
	r.fault = &status.ConfigFault{Since: since, Reason: reason}
}

func (s *state) stepReload(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Reload:
		next := config.Gather(m.Config).Policy
		if reflect.DeepEqual(next, s.config.Policy) && s.reloads.continuing == 0 { // an equal policy must not change the views
			return s.reload(m, s.reloads.policy, out)
		}
		s.reloads.continuing++
		p := policy.Compile(next)
		if p != nil {
			s.reloads.rightsUnderPolicy, s.reloads.localRights = true, 0
			out = append(out, kernel.Act(admitLocal{p}))
		}
		return append(out, kernel.Tell(s.self, reloadWithPolicy{m, p}))
	case reloadWithPolicy:
		s.reloads.continuing--
		return s.reload(m.Reload, m.policy, out)
	case message.ReloadFailed:
		s.reloads.rejected(now, m.Reason)
	case message.AwaitPublished:
		return s.await(m.Done, s.newWaiter(m.Done), out)
	case message.ConfirmResult:
		s.reloads.confirmed(m.Key)
		if m.Key == s.reloads.localRights {
			out = s.sendLocalRights(out)
		}
		return s.reloads.complete(s.audit.applying, out)
	}
	return out
}

// reloadWithPolicy continues a reload that changes the policy. A session receives the new catalog and the new rights in
// two messages. While it has only one of them, its view must equal the old view or the new one, or else its client
// would be notified twice. Rights under a policy filter a catalog without a policy correctly. A catalog with a policy,
// however, shows nothing to a client whose rights were determined without one. Therefore a new policy's rights are sent
// before its catalog: this message follows message.Principals through the gateway's mailbox. When the policy is
// removed, the rights follow the catalog; see sendLocalRights.
type reloadWithPolicy struct {
	message.Reload
	policy *policy.Policy
}

// reload applies what differs between the configuration in force and the new one. p is the new policy.
func (s *state) reload(m message.Reload, p *policy.Policy, out []kernel.Effect) []kernel.Effect {
	next, waiter := config.Gather(m.Config), s.newWaiter(m.Done)
	changes, described := config.Diff(s.config, next), config.Describe(s.reloads.source, m.Config)
	out = s.reloads.warnOfStart(s.config, next, out)
	was := s.naming(s.config)
	s.reloads.policy = p
	if now := s.naming(next); now != was || !reflect.DeepEqual(next.Projects, s.config.Projects) {
		out = append(out, kernel.Tell(s.registry, message.CatalogNaming{Naming: now, Projects: next.Projects}))
	}
	if p == nil && s.reloads.rightsUnderPolicy && s.reloads.continuing == 0 { // a later reload may have admitted clients under its policy
		s.reloads.rightsUnderPolicy = false
		out = s.admitLocalLater(append(out, kernel.Act(admitLocal{nil})))
	}
	out = s.changeLimits(next.Limits, out)
	out = s.changePayloads(next, changes.Removed, out)
	s.config, s.reloads.source = next, m.Config
	out = s.starts.grant(next.Limits.StartsAtOnce, out)
	out = s.changeServers(changes, waiter, out)
	out = append(out, kernel.Act(auditReloaded{strings.Join(described, "; ")}), kernel.Act(resealLogins{}))
	out = s.audit.apply(auditSettingsOf(s.config), out)
	out = s.reloads.accepted(changes, described, out)
	return s.await(m.Done, waiter, out)
}

// warnOfStart warns about each changed setting that takes effect only at the next start, unless it has again the value that the
// gateway was started with.
func (r *reloads) warnOfStart(was, next *config.Config, out []kernel.Effect) []kernel.Effect {
	pending := func(equal func(a, b *config.Config) bool) bool { return !equal(was, next) && !equal(r.start, next) }
	for _, setting := range []struct {
		text  string
		equal func(a, b *config.Config) bool
	}{
		{"listen has changed; it takes effect at the next start", func(a, b *config.Config) bool { return slices.Equal(a.Listen, b.Listen) }},
		{"egress has changed; it takes effect at the next start", func(a, b *config.Config) bool { return slices.Equal(a.Egress.Allow, b.Egress.Allow) }},
		{"cluster has changed; it takes effect at the next start, except for its secrets and tls", func(a, b *config.Config) bool { return a.Cluster.SameStart(b.Cluster) }},
		{"telemetry has changed; it takes effect at the next start", func(a, b *config.Config) bool { return a.Telemetry == b.Telemetry }},
		{"limits.maxMessageBytes and limits.maxBufferedBytes take effect at the next start", func(a, b *config.Config) bool {
			return a.Limits.MaxMessageBytes == b.Limits.MaxMessageBytes && a.Limits.MaxBufferedBytes == b.Limits.MaxBufferedBytes
		}},
	} {
		if pending(setting.equal) {
			out = append(out, kernel.Log(slog.LevelWarn, setting.text))
		}
	}
	return out
}

// changeServers starts, stops and reconfigures the servers that have changed.
func (s *state) changeServers(changes config.Changes, waiter *reloadWaiter, out []kernel.Effect) []kernel.Effect {
	for _, server := range changes.Removed {
		out = s.removeServer(server.Name, out)
	}
	for _, server := range changes.Added {
		out = s.startServer(server, out)
	}
	for _, server := range changes.Transport {
		out = s.changeServer(server, true, waiter, out)
	}
	for _, server := range changes.CatalogOnly {
		out = s.changeServer(server, false, waiter, out)
	}
	return out
}

// changeLimits passes changed limits on to the actors that enforce them. Limits on the sizes of messages and buffers
// take effect only at the next start.
func (s *state) changeLimits(next config.Limits, out []kernel.Effect) []kernel.Effect {
	if next == s.config.Limits {
		return out
	}
	m := message.NewLimits{Limits: next}
	return s.stateless.tell(m, s.sessions.tell(m, s.servers.tell(m, out)))
}

// accepted logs what a reload has changed. If nothing has changed, it logs at debug level, unless an earlier version of the file
// was rejected.
func (r *reloads) accepted(changes config.Changes, described []string, out []kernel.Effect) []kernel.Effect {
	wasRejected := r.fault != nil
	r.fault = nil
	if changes.Empty() && !wasRejected {
		return append(out, kernel.Log(slog.LevelDebug, "configuration reread; nothing has changed"))
	}
	var args []any
	for _, part := range []struct {
		key   string
		words []string
	}{{"added", names(changes.Added)}, {"removed", names(changes.Removed)}, {"changed", described}} {
		if len(part.words) > 0 {
			args = append(args, part.key, strings.Join(part.words, "; "))
		}
	}
	return append(out, kernel.Log(slog.LevelInfo, status.LogReloaded, args...))
}

func names(servers []config.Server) []string {
	list := make([]string, 0, len(servers))
	for _, server := range servers {
		list = append(list, server.Name)
	}
	return list
}
