package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// applyTime is how long a configuration may take to be in force; servers start after that.
const applyTime = 3 * time.Second

// Reloader applies a changed configuration to what runs. One goroutine has it; ask may be called from any.
type Reloader struct {
	cfg      *config.Config // in force
	listen   []string       // of the command line, instead of the file's; empty = none
	g        *actors.Gateway
	server   *downstream.Server // nil = no listener
	security *Security
	bound    []string // what is really listened on, which no reload changes; empty = no listener
	ill      bool     // what the edge was last told could not be read
	level    *slog.LevelVar
	known    *secret.Redactor // hears what is secret in the newest configuration; nil = nobody does
	log      *slog.Logger

	drain atomic.Int64      // shutdown.drain of cfg, for whoever ends the gateway
	asked chan chan<- error // somebody wants the file read now; the answer has room for one
}

// NewReloader returns a Reloader for a gateway that runs with cfg. server may be nil in stdio mode.
func NewReloader(cfg *config.Config, listen []string, g *actors.Gateway, server *downstream.Server, e *Security, level *slog.LevelVar, known *secret.Redactor, log *slog.Logger) *Reloader {
	r := &Reloader{cfg: cfg, listen: listen, g: g, server: server, security: e, level: level, known: known, log: log, asked: make(chan chan<- error)}
	r.drain.Store(int64(cfg.Drain))
	if server != nil {
		r.bound = cfg.Listen
	}
	return r
}

// DrainTime is shutdown.drain of the configuration in force. Safe from any goroutine.
func (r *Reloader) DrainTime() time.Duration { return time.Duration(r.drain.Load()) }

// reload reads the file again; a bad file changes nothing, and the error says why.
func (r *Reloader) reload(ctx context.Context) error {
	if r.cfg.Path == "" {
		return fmt.Errorf("%w: this gateway was started without a file", status.ErrNotReloaded)
	}
	next, report := r.load(ctx)
	for _, warning := range report.Warnings {
		r.log.Warn("configuration", "warning", warning.Error())
	}
	if err := report.Err(); err != nil {
		r.log.Error("the configuration is not reloaded: mend it and save again; the running one stays in force", "err", err)
		r.g.ReloadFailed(err)
		return fmt.Errorf("%w: %w", status.ErrNotReloaded, err)
	}
	r.known.Replace(fromConfiguration, secretsOf(r.cfg, next)...)
	if len(r.listen) > 0 {
		next.Listen = r.listen
	}
	if err := errors.Join(exposes(next, r.bound), disarms(r.cfg, next)); err != nil {
		r.log.Error("the configuration is not reloaded: the running one stays in force", "err", err)
		r.g.ReloadFailed(err)
		return fmt.Errorf("%w: %w", status.ErrNotReloaded, err)
	}
	r.level.Set(levelOf(next.Log))
	if next.Log.Format != r.cfg.Log.Format {
		r.log.Warn("log.format has changed; it takes effect at the next start")
	}
	if r.server != nil {
		r.server.Allow(next.AllowedOrigins, next.Hosts())
		r.server.Keep(next.Forwarded())
	}
	r.cfg = next
	r.drain.Store(int64(next.Drain))
	edgeErr := r.security.apply(next)
	ctx, cancel := context.WithTimeoutCause(context.Background(), applyTime, errors.New("the gateway is busy; it will be in force in a moment"))
	defer cancel()
	err := r.g.Apply(ctx, next)
	if r.ill = edgeErr != nil; r.ill {
		r.g.ReloadFailed(edgeErr)
	}
	return errors.Join(err, edgeErr)
}

// load reads the file when it has settled, and once more if it was written to meanwhile: in the middle of that it may be empty, or only the first half
// of what is meant. One that is written to all the time is taken as it is after a while. It waits before it reads, too, as reading may run programs.
func (r *Reloader) load(ctx context.Context) (next *config.Config, report config.Report) {
	awaitSettled(ctx, r.cfg.Files)
	for look := range looks {
		next, report = config.Load(r.cfg.Path)
		files := r.cfg.Files
		if next != nil {
			files = next.Files
		}
		if left := unsettled(files, look); left <= 0 || !waited(ctx, left) {
			break
		}
	}
	return next, report
}

// reloadCredentials reads keys and certificate again. Those that cannot be read stay as they were, which is logged, and shown in the status.
func (r *Reloader) reloadCredentials() {
	err := r.security.apply(r.cfg)
	switch {
	case err != nil:
		r.g.ReloadFailed(err)
	case r.ill:
		r.g.Reload(r.cfg) // ends what the status says of it
	default:
		r.log.Info("keys and certificate were read again")
	}
	r.ill = err != nil
}

// exposes says why a configuration may not come into force while these addresses are listened on: it may forbid them, and it may not
// name them any more.
func exposes(next *config.Config, bound []string) error {
	for _, address := range bound {
		if err := next.CheckListen(address); err != nil {
			return fmt.Errorf("%s is listened on until the next start: %w", address, err)
		}
	}
	return nil
}

// disarms says why a configuration may not come into force in place of another one while the gateway runs: what decides who may do what, and what has to
// be recorded, would be gone. A file that is being written, or that a full disk has cut off, says the same as one in which that is meant.
func disarms(was, next *config.Config) error {
	var gone []string
	for _, section := range []struct {
		name     string
		was, now bool
	}{{"auth", was.Auth.On(), next.Auth.On()}, {"policy", was.Policy.Present, next.Policy.Present}, {"audit.required", was.Audit.Required, next.Audit.Required || next.Audit.File != ""}} {
		if section.was && !section.now {
			gone = append(gone, section.name)
		}
	}
	if gone == nil {
		return nil
	}
	return fmt.Errorf("%s is not there any more: if that is meant, start the gateway anew", strings.Join(gone, " and "))
}

// Request has the file read by the goroutine that has r, and returns what became of it.
func (r *Reloader) Request(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case r.asked <- reply:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start starts follow: what a configuration refers to may take its time to answer, and whoever waits for signals has none. What it returns waits
// for the end of that, for a second at most.
func (r *Reloader) Start(ctx context.Context) (await func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.follow(ctx)
	}()
	return func() {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		}
	}
}

// follow reloads after every change of a file, and when it is asked to, until ctx ends.
func (r *Reloader) follow(ctx context.Context) {
	listens := r.server != nil
	files := watchAll(r.cfg, listens, r.log)
	defer func() { files.stop() }()
	for {
		files = files.renewed(r.cfg, listens, r.log)
		if files.again {
			awaitSettled(ctx, files.files)
			if files.again = false; r.reload(ctx) != nil { // it has not come to the keys
				r.reloadCredentials()
			}
			continue
		}
		select {
		case <-files.config:
			_ = r.reload(ctx) // it is logged, and shown in the status
		case <-files.credentials:
			awaitSettled(ctx, files.files)
			r.reloadCredentials()
		case reply := <-r.asked:
			reply <- r.reload(ctx)
		case <-ctx.Done():
			return
		}
	}
}
