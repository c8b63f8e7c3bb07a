package actors

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/store"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/status"
)

// Audit returns the audit log. It is never nil; without a configured log, records are discarded.
func (g *Gateway) Audit() *audit.Log { return g.audit }

// startAudit creates the audit log, opens its file if one is configured, and records the start.
func (g *Gateway) startAudit(cfg *config.Config, o Options) error {
	g.audit = audit.New(audit.Options{Keys: func() (*audit.Keys, error) { return auditKeys(o) }, Log: g.log, Redact: o.Secrets.Cut, Node: o.Cluster.nodeName()})
	g.shareArguments()
	if err := g.audit.Apply(auditSettingsOf(cfg)); err != nil {
		return err
	}
	g.audit.Record(audit.Record{Event: audit.EventStart, Detail: o.Version})
	return nil
}

// auditKeys returns the signing keys, derived from the master key. If o has neither Master nor State, the keys are random and valid
// only for this process.
func auditKeys(o Options) (*audit.Keys, error) {
	find := o.Master
	switch {
	case find != nil:
	case o.State == "":
		var secret [32]byte
		_, _ = rand.Read(secret[:]) // never fails
		return audit.NewKeys(secret), nil
	default:
		find = func() (*masterkey.Master, error) {
			return masterkey.Load(masterkey.Options{Dir: filepath.Dir(o.State), Log: o.Log})
		}
	}
	master, err := find()
	if err != nil {
		return nil, fmt.Errorf("load the audit log's signing key: %w", err)
	}
	return audit.NewKeys(master.Key(masterkey.Audit)), nil
}

// endAudit records the stop, closes the audit log and notes its last line in the state file. Stop calls it last, after it has
// stopped the actors that write to the log and to the state file.
func (g *Gateway) endAudit() error {
	g.audit.Record(audit.Record{Event: audit.EventStop})
	err := g.audit.Close()
	if markErr := store.NoteAuditMark(g.state, g.audit.Mark()); markErr != nil && err == nil {
		err = markErr
	}
	if err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}

// withAudit returns s with the state of the audit log. It does not modify s, which other callers may share.
func (g *Gateway) withAudit(s *status.Snapshot) *status.Snapshot {
	state := g.audit.State()
	if state == nil {
		return s
	}
	with := *s
	with.Audit = (*status.Audit)(state)
	return &with
}

// auditSettingsOf returns the settings of the audit log.
func auditSettingsOf(cfg *config.Config) audit.Settings {
	a := cfg.Audit
	return audit.Settings{File: cfg.AuditPath(), Both: a.When == "both", Sync: a.Sync, Required: a.Required, Size: a.Rotate.Size, Age: a.Rotate.Age, Keep: a.Rotate.Keep}
}

// Effects that concern the audit log.
type (
	applyAudit      struct{ settings audit.Settings }
	auditMarkLoaded struct{ mark audit.Mark } // the newest line recorded in the state file
	auditReloaded   struct{ detail string }
)

// auditApplied is the result of applyAudit. If err is set, the previous settings stay in force.
type auditApplied struct{ err error }

// auditReload applies changed settings of the audit log, one change at a time.
type auditReload struct {
	settings audit.Settings // in force
	tried    audit.Settings // the newest that were passed to applyAudit
	applying bool
}

// apply applies the settings next if they differ from those in force. While other settings are being applied, it does
// nothing: auditApplied calls it again.
func (a *auditReload) apply(next audit.Settings, out []kernel.Effect) []kernel.Effect {
	if a.applying || next == a.settings {
		return out
	}
	a.applying, a.tried = true, next
	return append(out, kernel.Act(applyAudit{next}))
}

// auditApplied logs a failure, then applies the settings of a reload that has arrived in the meantime. Settings that could not be
// applied are tried again at the next reload.
func (s *state) auditApplied(m auditApplied, out []kernel.Effect) []kernel.Effect {
	s.audit.applying = false
	if m.err != nil {
		out = append(out, kernel.Log(slog.LevelError, "audit log settings were not applied; the previous settings stay in force until the next reload", "err", m.err))
	} else {
		s.audit.settings = s.audit.tried
	}
	if next := auditSettingsOf(s.config); next != s.audit.tried {
		out = s.audit.apply(next, out)
	}
	return s.reloads.complete(s.audit.applying, out)
}

func (g *gateway) auditAct(self kernel.Self, act any) {
	log := g.audit
	switch a := act.(type) {
	case applyAudit:
		self.Go(func(context.Context) any { return auditApplied{log.Apply(a.settings)} })
	case auditMarkLoaded:
		self.Go(func(context.Context) any {
			log.CheckMark(a.mark)
			return nil
		})
	case tellCheckpoint:
		g.tellCheckpoint()
	case auditReloaded:
		log.Record(audit.Record{Event: audit.EventReload, Outcome: "ok", Detail: a.detail})
	}
}
