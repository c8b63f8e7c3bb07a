package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/client"
	"goblin-actor/internal/inprocess"
)

const (
	readyTime = 60 * time.Second      // the eager servers may take so long to start (npx downloads)
	readyStep = 20 * time.Millisecond // how often it is looked at
)

// startInProcess starts a gateway from a configuration file in this process, waits until its servers are there or
// have failed once, and returns a client of it. stop ends both and waits for that. Warnings and logs go to errOut.
func startInProcess(ctx context.Context, path string, o client.Options, errOut io.Writer) (c *client.Client, stop func(), err error) {
	cfg, err := loadConfig(path, errOut)
	if err != nil {
		return nil, nil, err
	}
	if err := inProject(cfg, o.Project); err != nil {
		return nil, nil, err
	}
	known := knownOf(cfg)
	log := slog.New(slog.NewTextHandler(known.Writer(errOut), &slog.HandlerOptions{Level: slog.LevelError}))
	// It keeps no state, but its audit log goes on with that of all other gateways of this user, and is signed with their key.
	g, err := actors.Start(cfg, actors.Options{Version: buildVersion(), Log: log, Master: masterOf(statePath("", log), log), Secrets: known})
	if err != nil {
		return nil, nil, err
	}
	end := func() {
		if err := stopGateway(g, 0); err != nil {
			log.Warn("not everything ended in time", "err", err)
		}
	}
	if err := waitReady(ctx, g, known.Writer(errOut)); err != nil {
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

// waitReady waits until every eager server is there or has failed once; of those that failed it tells on errOut.
func waitReady(ctx context.Context, g *actors.Gateway, errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
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
					fmt.Fprintf(errOut, "warning: server %s is %s: %s\n", v.Name, v.State, oneLine(v.Reason, 200))
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
			fmt.Fprintf(errOut, "warning: after %v still not there: %s\n", readyTime, oneLine(strings.Join(s.Waiting, ", "), 200))
			return nil
		}
	}
}
