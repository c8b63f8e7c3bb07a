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

// applyTime is the maximum time to apply a configuration. Starting the servers is not included.
const applyTime = 3 * time.Second

var errBusy = errors.New("the gateway is busy and will apply the configuration soon")

// Reloader applies a changed configuration to a running gateway. One goroutine uses it; Request, Switch and DrainTime may
// be called from any.
type Reloader struct {
	Applied func(*config.Config) // called with each new configuration before the gateway applies it; set before Start, nil = not called

	cfg               *config.Config // configuration in force
	listen            []string       // addresses of the command line, which override the file's; empty = none
	g                 *actors.Gateway
	server            *downstream.Server // nil = no listener
	security          *Security
	bound             []string // actual listen addresses, which a reload does not change; empty = no listener
	credentialsFailed bool     // the credentials could not be read at the last attempt
	level             *slog.LevelVar
	logFormat         string           // log.format at the start, which a reload does not change
	known             *secret.Redactor // receives the secrets of cfg and of the newest configuration read; may be nil
	log               *slog.Logger

	drain atomic.Int64                   // shutdown.drain of cfg
	asked chan func(ctx context.Context) // work for the goroutine of follow; it does not block for long after its ctx has ended
}

// NewReloader returns a Reloader for a gateway that runs with cfg. server may be nil in stdio mode.
func NewReloader(cfg *config.Config, listen []string, g *actors.Gateway, server *downstream.Server, e *Security, level *slog.LevelVar, known *secret.Redactor, log *slog.Logger) *Reloader {
	r := &Reloader{cfg: cfg, listen: listen, g: g, server: server, security: e, level: level, logFormat: cfg.Log.Format, known: known, log: log, asked: make(chan func(context.Context))}
	r.drain.Store(int64(cfg.Drain))
	if server != nil {
		r.bound = cfg.Listen
	}
	return r
}

// DrainTime returns shutdown.drain of the configuration in force. It is safe for concurrent use.
func (r *Reloader) DrainTime() time.Duration { return time.Duration(r.drain.Load()) }

// reload reads and applies the file. If the file is invalid, or if exposes or disarms returns an error, the
// previous configuration stays in force and reload returns an error. reload also returns an error if the keys or the
// certificate cannot be read, or if applying takes longer than applyTime. In these cases, the new configuration is in
// force or soon will be.
func (r *Reloader) reload(ctx context.Context) error {
	if r.cfg.Path == "" {
		return fmt.Errorf("%w: this gateway was started without a file", status.ErrNotReloaded)
	}
	next, report := r.load(ctx)
	for _, warning := range report.Warnings {
		r.log.Warn("configuration", "warning", warning.Error())
	}
	if err := report.Err(); err != nil {
		r.log.Error("the configuration was rejected: correct the file and save it again; the previous one stays in force", "err", err)
		r.g.ReloadFailed(err)
		return fmt.Errorf("%w: %w", status.ErrNotReloaded, err)
	}
	r.known.Replace(fromConfiguration, secretsOf(r.cfg, next)...)
	if len(r.listen) > 0 {
		next.Listen = r.listen
	}
	if err := errors.Join(exposes(next, r.bound), disarms(r.cfg, next)); err != nil {
		r.log.Error("the configuration was rejected; the previous one stays in force", "err", err)
		r.g.ReloadFailed(err)
		return fmt.Errorf("%w: %w", status.ErrNotReloaded, err)
	}
	r.level.Set(levelOf(next.Log))
	if next.Log.Format != r.cfg.Log.Format && next.Log.Format != r.logFormat {
		r.log.Warn("log.format has changed; it takes effect at the next start")
	}
	if r.server != nil {
		r.server.Allow(next.AllowedOrigins, next.Hosts())
		r.server.SetForwarded(next.Forwarded())
	}
	if r.Applied != nil {
		r.Applied(next)
	}
	r.cfg = next
	r.drain.Store(int64(next.Drain))
	edgeErr := r.security.apply(next)
	ctx, cancel := context.WithTimeoutCause(context.Background(), applyTime, errBusy)
	defer cancel()
	err := r.g.Apply(ctx, next)
	if r.credentialsFailed = edgeErr != nil; r.credentialsFailed {
		r.g.ReloadFailed(edgeErr)
	}
	return errors.Join(err, edgeErr)
}

// load reads the file once it has settled, since reading may run programs. If the file was written during the read,
// the result may be empty or incomplete, so load reads it again. After the maximum number of attempts, it returns
// what it has read last.
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

// Refresh makes the goroutine of follow call change with a copy of the configuration in force, and apply the result. It blocks until that
// is done or ctx ends, and returns the error of the gateway or of ctx.
func (r *Reloader) Refresh(ctx context.Context, change func(*config.Config)) error {
	_, err := r.run(ctx, func(context.Context) error {
		next := *r.cfg
		change(&next)
		r.cfg = &next
		ctx, cancel := context.WithTimeoutCause(context.Background(), applyTime, errBusy)
		defer cancel()
		return r.g.Apply(ctx, &next)
	})
	return err
}

// reloadCredentials reads the keys and the certificate again. If that fails, the previous ones stay in force, and the
// error is in the log and the status.
func (r *Reloader) reloadCredentials() {
	err := r.security.apply(r.cfg)
	switch {
	case err != nil:
		r.g.ReloadFailed(err)
	case r.credentialsFailed:
		r.g.Reload(r.cfg) // clears the error in the status
	default:
		r.log.Info("reloaded keys and certificate")
	}
	r.credentialsFailed = err != nil
}

// exposes returns an error if next forbids listening on one of the addresses in bound. The gateway listens on them until
// its next start, even if next no longer lists them.
func exposes(next *config.Config, bound []string) error {
	for _, address := range bound {
		if err := next.CheckListen(address); err != nil {
			return fmt.Errorf("the gateway listens on %s until the next start: %w", address, err)
		}
	}
	return nil
}

// disarms returns an error if next lacks authentication, the policy or the cluster although was has it, or has no audit.file although
// was has audit.required. A reload must not remove them, because a file that is being written, or was truncated by a
// full disk, lacks them too.
func disarms(was, next *config.Config) error {
	var gone []string
	for _, section := range []struct {
		name     string
		was, now bool
	}{{"auth", was.Auth.On(), next.Auth.On()}, {"policy", was.Policy.Present, next.Policy.Present}, {"cluster", was.Cluster.Present, next.Cluster.Present},
		{"audit.file", was.Audit.Required, next.Audit.Required || next.Audit.File != ""}} {
		if section.was && !section.now {
			gone = append(gone, section.name)
		}
	}
	if gone == nil {
		return nil
	}
	return fmt.Errorf("the new configuration has no %s; restart the gateway if that is intended", strings.Join(gone, " and no "))
}

// Request makes the goroutine of follow reload the file, waits for it, and returns the error of the reload or of ctx.
func (r *Reloader) Request(ctx context.Context) error {
	_, err := r.run(ctx, r.reload)
	return err
}

// run makes the goroutine of follow call do, waits for it, and returns the error of do or of ctx. began is false if ctx ended
// before the goroutine was free. If ctx ends later, do continues.
func (r *Reloader) run(ctx context.Context, do func(ctx context.Context) error) (began bool, err error) {
	reply := make(chan error, 1)
	select {
	case r.asked <- func(ctx context.Context) { reply <- do(ctx) }:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case err := <-reply:
		return true, err
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// Start runs follow in a goroutine, since reading a configuration may take long. The returned function waits up to a
// second for follow to return.
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

// follow reloads after every change of a file, and does the work of run, until ctx ends.
func (r *Reloader) follow(ctx context.Context) {
	listens := r.server != nil
	files := watchAll(r.cfg, listens, r.log)
	defer func() { files.stop() }()
	for {
		files = files.renewed(r.cfg, listens, r.log)
		if files.again {
			awaitSettled(ctx, files.files)
			if files.again = false; r.reload(ctx) != nil { // a reload that rejects the file does not read the keys
				r.reloadCredentials()
			}
			continue
		}
		select {
		case <-files.config:
			_ = r.reload(ctx) // the error is logged and shown in the status
		case <-files.credentials:
			awaitSettled(ctx, files.files)
			r.reloadCredentials()
		case do := <-r.asked:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}
