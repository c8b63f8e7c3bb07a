package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/client"
	"goblin-actor/internal/status"
)

// statusTime is how long a gateway may take to tell how it is.
const statusTime = 10 * time.Second

func newStatus() *cobra.Command {
	var connect string
	var watch bool
	var out format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how a running gateway is",
		Long: `Show how a running gateway is: its servers, what they offer and what is going on. Exit code 0 whenever it answers.

It asks the gateway's admin socket: that of the port --connect names, the socket --connect is the path of, or the
only one there is.`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := adminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := interruptible(cmd)
			defer cancel()
			if watch {
				return watchStatus(ctx, cmd.OutOrStdout(), path, out)
			}
			return showStatus(ctx, cmd.OutOrStdout(), path, out)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every second, until interrupted")
	cmd.Flags().StringVar(&connect, "connect", "", "the gateway: its port, loopback address or admin socket (default: the only one there is)")
	out.add(cmd)
	return cmd
}

// showStatus prints the state of the gateway behind the socket once.
func showStatus(ctx context.Context, w io.Writer, path string, out format) error {
	ctx, stop := context.WithTimeout(ctx, statusTime)
	defer stop()
	snapshot, err := admin.Fetch(ctx, path)
	if err != nil {
		if errors.Is(context.Cause(ctx), error(errInterrupted)) {
			return errInterrupted
		}
		return &exitError{exitUnreachable, fmt.Errorf("no gateway answers: %w", err), `start one with "goblin-actor serve"`}
	}
	if out == formatTable {
		return printStatus(w, snapshot)
	}
	raw, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	return out.raw(w, raw)
}

// watchStatus prints it every second: over the last one on a terminal, below it elsewhere. A gateway that goes away is
// waited for.
func watchStatus(ctx context.Context, w io.Writer, path string, out format) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var page strings.Builder
		if err := showStatus(ctx, &page, path, out); err != nil {
			if errors.Is(err, error(errInterrupted)) {
				return err
			}
			fmt.Fprintf(&page, "%s\n", oneLine(err.Error(), 200))
		}
		if isTerminal(w) {
			fmt.Fprint(w, "\x1b[H\x1b[2J")
		}
		if _, err := io.WriteString(w, page.String()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errInterrupted
		}
	}
}

// adminSocket returns the path of the admin socket that --connect means.
func adminSocket(connect string, getenv func(string) string) (string, error) {
	if connect == "" {
		return onlySocket(getenv)
	}
	if strings.HasSuffix(connect, ".sock") || strings.HasPrefix(connect, "/") || strings.HasPrefix(connect, ".") || filepath.IsAbs(connect) {
		return connect, nil
	}
	u, err := client.ParseAddress(connect)
	if err != nil {
		return "", usageError("like --connect 8730 or --connect /run/user/1000/goblin-actor/8730.sock", "--connect: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", usageError("forward its admin socket with ssh -L and give the path to --connect", "%s is another machine; its admin socket cannot be asked from here", u.Host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", usageError("like --connect 8730", "--connect %q names no port", connect)
	}
	path, err := status.SocketPath(port, getenv)
	if err != nil {
		return "", &exitError{exitFailed, err, ""}
	}
	return path, nil
}

// onlySocket returns the admin socket of the only gateway that runs here.
func onlySocket(getenv func(string) string) (string, error) {
	all, err := status.Sockets(getenv)
	if err != nil {
		return "", err
	}
	var live []string
	for _, path := range all {
		if answers(path) {
			live = append(live, path)
		}
	}
	switch len(live) {
	case 0:
		return "", &exitError{exitUnreachable, errors.New("no gateway runs here: there is no admin socket that answers"), `start one with "goblin-actor serve"`}
	case 1:
		return live[0], nil
	}
	names := make([]string, len(live))
	for i, path := range live {
		names[i] = "--connect " + strings.TrimSuffix(filepath.Base(path), ".sock") + "  (" + path + ")"
	}
	return "", usageError(strings.Join(names, "\n"), "%d gateways run here; say which one", len(live))
}

// answers reports whether somebody listens on a socket: a gateway that was killed leaves its file behind.
func answers(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// printStatus prints a snapshot for people: what matters first, then the servers, then what is to be done.
func printStatus(w io.Writer, s *status.Snapshot) error {
	p := paletteFor(w)
	var b strings.Builder
	fmt.Fprintf(&b, "goblin-actor %s on %s, up %s, %s\n", oneLine(s.Version, 40), oneLine(strings.Join(s.Listen, ", "), 0),
		s.Now.Sub(s.Started).Round(time.Second), readiness(s, p))
	fmt.Fprintf(&b, "catalog version %d: %s, %s, %s, %s\n", s.Catalog.Version, count(s.Catalog.Tools, "tool"),
		count(s.Catalog.Prompts, "prompt"), count(s.Catalog.Resources, "resource"), count(s.Catalog.Templates, "template"))
	fmt.Fprintf(&b, "%s, %s in flight\n", count(len(s.Sessions), "session"), count(len(s.Calls), "call"))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(s.Servers) == 0 {
		_, err := io.WriteString(w, "no servers\n")
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	rows := [][]string{}
	for _, v := range s.Servers {
		rows = append(rows, []string{
			oneLine(v.Name, 0), v.State, fmt.Sprintf("%d/%d", v.ReadyCount, v.Replicas), strconv.Itoa(v.Tools), strconv.Itoa(v.Prompts),
			strconv.Itoa(v.Resources), strconv.Itoa(v.Templates), strconv.Itoa(v.InFlight - v.Parked), strconv.Itoa(v.Parked),
			strconv.Itoa(v.Queued), serverReason(v, s.Now),
		})
	}
	head := []string{"SERVER", "STATE", "READY", "TOOLS", "PROMPTS", "RESOURCES", "TEMPLATES", "RUNNING", "PARKED", "QUEUED", "REASON"}
	if err := table(w, head, rows); err != nil {
		return err
	}
	for _, v := range s.Servers {
		if v.Hint != "" {
			if _, err := fmt.Fprintf(w, "%s %s: %s\n", p.good("hint:"), oneLine(v.Name, 0), oneLine(v.Hint, 0)); err != nil {
				return err
			}
		}
	}
	return nil
}

func readiness(s *status.Snapshot, p palette) string {
	switch {
	case s.Draining:
		return p.warn("draining")
	case s.Ready && len(s.Failed) == 0:
		return p.good("ready")
	case s.Ready:
		return p.warn("ready, but without " + oneLine(strings.Join(s.Failed, ", "), 200))
	}
	return p.warn("starting, waits for " + oneLine(strings.Join(s.Waiting, ", "), 200))
}

// serverReason says why a server is as it is, and when it is tried again.
func serverReason(v status.Server, now time.Time) string {
	reason := oneLine(v.Reason, maxCell)
	if v.NextAttempt.After(now) {
		reason += fmt.Sprintf(" (again in %s)", v.NextAttempt.Sub(now).Round(time.Second/10))
	}
	return strings.TrimSpace(reason)
}

// count says how many there are of a thing.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
