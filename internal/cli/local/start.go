package local

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/inprocess"
	"goblin-actor/internal/serving"
)

const (
	// ReadyTimeout is the maximum time for eager servers to start. npx may need most of it to download a package.
	ReadyTimeout = 60 * time.Second
	readyStep    = 20 * time.Millisecond // interval between polls of the status
)

// Start starts a gateway with a configuration file in this process, waits until its servers are ready or have failed
// once, and returns a client of it. stop ends the client and the gateway and waits until both have ended. Warnings and
// logs go to errOut.
func Start(ctx context.Context, path string, o client.Options, errOut io.Writer) (c *client.Client, stop func(), err error) {
	cfg, err := configfile.Load(path, errOut)
	if err != nil {
		return nil, nil, err
	}
	if err := configfile.CheckProject(cfg, o.Project); err != nil {
		return nil, nil, err
	}
	known := serving.Redactor(cfg)
	log := slog.New(slog.NewTextHandler(known.Writer(errOut), &slog.HandlerOptions{Level: slog.LevelError}))
	// The gateway has no state file. Its audit log continues the user's log and is signed with the same key.
	g, err := actors.Start(cfg, actors.Options{Version: program.Version(), Log: log, Master: serving.MasterKey(serving.StatePath("", log), log), Secrets: known})
	if err != nil {
		return nil, nil, err
	}
	end := func() { Stop(g, known.Writer(errOut)) }
	if err := WaitReady(ctx, g, known.Writer(errOut)); err != nil {
		end()
		return nil, nil, err
	}
	own, err := inprocess.Dial(ctx, g, cfg.Limits, o, log)
	if err != nil {
		end()
		return nil, nil, err
	}
	return own.Client, func() { own.Close(); end() }, nil
}

// Stop stops a gateway that a command has started. It prints a warning to errOut if anything is still running at the end.
func Stop(g serving.Stopper, errOut io.Writer) {
	if err := serving.Stop(g, 0); err != nil {
		fmt.Fprintf(errOut, "warning: not everything stopped in time: %s\n", terminal.OneLine(err.Error(), 200))
	}
}

// WaitReady waits until every eager server is ready or has failed once, at most ReadyTimeout. It writes warnings to
// errOut about servers that failed or are not ready. It returns an error only if ctx is canceled or the status is
// unavailable.
func WaitReady(ctx context.Context, g *actors.Gateway, errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(readyStep)
	defer tick.Stop()
	for {
		s, err := g.Status(ctx)
		if err != nil {
			return fmt.Errorf("wait for the servers: %w", err)
		}
		if s.Ready {
			for _, v := range s.Servers {
				if v.Reason != "" && v.ReadyCount == 0 {
					fmt.Fprintf(errOut, "warning: server %s is not ready (%s): %s\n", v.Name, v.State, terminal.OneLine(v.Reason, 200))
				}
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err := context.Cause(ctx); err != context.DeadlineExceeded {
				return err
			}
			fmt.Fprintf(errOut, "warning: servers that are not ready after %v: %s\n", ReadyTimeout, terminal.OneLine(strings.Join(s.Waiting, ", "), 200))
			return nil
		}
	}
}
