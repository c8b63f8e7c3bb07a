package actors

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/store"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/status"
)

// Audit is the audit log; what is recorded while there is none goes nowhere.
func (g *Gateway) Audit() *audit.Log { return g.audit }

// startAudit opens the audit log, if there is to be one.
func (g *Gateway) startAudit(cfg *config.Config, o Options) error {
	g.audit = audit.New(audit.Options{Keys: func() (*audit.Keys, error) { return auditKeys(o) }, Log: g.log, Cut: o.Secrets.Cut})
	if err := g.audit.Apply(settingsOf(cfg)); err != nil {
		return err
	}
	g.audit.Record(audit.Record{Event: audit.EventStart, Detail: o.Version})
	return nil
}

// auditKeys are made from the master key. Without a place for one they are those of this life of the process.
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
		return nil, fmt.Errorf("find the key of its signatures: %w", err)
	}
	return audit.NewKeys(master.Key(masterkey.Audit)), nil
}

// endAudit completes the audit log, after everybody who tells it something has ended.
func (g *Gateway) endAudit() error {
	g.audit.Record(audit.Record{Event: audit.EventStop})
	err := g.audit.Close()
	if markErr := store.NoteAuditMark(g.state, g.audit.Mark()); markErr != nil && err == nil {
		err = markErr
	}
	if err != nil {
		return fmt.Errorf("complete audit log: %w", err)
	}
	return nil
}

// withAudit is the picture with how the audit log is. Others may have the same picture.
func (g *Gateway) withAudit(s *status.Snapshot) *status.Snapshot {
	state := g.audit.State()
	if state == nil {
		return s
	}
	with := *s
	with.Audit = (*status.Audit)(state)
	return &with
}

// settingsOf are the settings of the audit log.
func settingsOf(cfg *config.Config) audit.Settings {
	a := cfg.Audit
	return audit.Settings{File: cfg.AuditPath(), Both: a.When == "both", Sync: a.Sync, Required: a.Required, Size: a.Rotate.Size, Age: a.Rotate.Age, Keep: a.Rotate.Keep}
}

// Acts about the audit log.
type (
	auditSettings   struct{ settings audit.Settings }
	auditRemembered struct{ mark audit.Mark }
	auditReloaded   struct{ detail string }
)

// auditApplied: new settings are in force, or cannot be had; those before stay in force then.
type auditApplied struct{ err error }

func (g *gateway) auditAct(self kernel.Self, act any) {
	log := g.audit
	switch a := act.(type) {
	case auditSettings:
		self.Go(func(context.Context) any { return auditApplied{log.Apply(a.settings)} })
	case auditRemembered:
		self.Go(func(context.Context) any {
			log.Remembered(a.mark)
			return nil
		})
	case auditReloaded:
		log.Record(audit.Record{Event: audit.EventReload, Outcome: "ok", Detail: a.detail})
	}
}

// reloadAudit records what a reload has changed, and puts the new settings in force.
func (s *state) reloadAudit(told []string, out []kernel.Effect) []kernel.Effect {
	return s.applyAudit(append(out, kernel.Act(auditReloaded{strings.Join(told, "; ")})))
}

// applyAudit puts the settings of the configuration in force, unless others are being put in force: then it is their turn after those.
func (s *state) applyAudit(out []kernel.Effect) []kernel.Effect {
	next := settingsOf(s.config)
	if s.auditing || next == s.audit {
		return out
	}
	s.auditing, s.audit = true, next
	return append(out, kernel.Act(auditSettings{next}))
}

// auditApplied says when an audit log cannot be had, and goes on with what has been reloaded meanwhile.
func (s *state) auditApplied(m auditApplied, out []kernel.Effect) []kernel.Effect {
	s.auditing = false
	if m.err != nil {
		out = append(out, kernel.Log(slog.LevelError, "the audit log stays as it was before the reload", "err", m.err))
	}
	return s.applied(s.applyAudit(out))
}

// remembered tells the audit log which of its lines the state file knows of.
func (*state) remembered(m message.StateLoaded, out []kernel.Effect) []kernel.Effect {
	if m.Audit.N == 0 {
		return out
	}
	return append(out, kernel.Act(auditRemembered{m.Audit}))
}
