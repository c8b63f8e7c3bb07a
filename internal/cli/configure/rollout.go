package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/actors/message"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/lint"
	"goblin-actor/internal/status"
)

const (
	appliedStep = 100 * time.Millisecond // how often a server that starts is looked at
	appliedWait = 90 * time.Second       // default of --wait: startTimeout, and time for a second attempt
	leavingTime = 5 * time.Second        // a server of the same name may be on its way out for so long
	publishTime = time.Second            // a catalog that changes is published within so long
)

// wish is what the running gateway is to make of a file that was edited.
type wish struct {
	server string
	runs   bool   // it is to start; else it goes
	lazy   bool   // startup: it runs when somebody calls it; know finds out
	tool   string // of the server, which stays as it is; "" = the server itself is meant
}

// applying says what the running gateway makes of a file that was edited.
type applying struct {
	connect string
	wait    time.Duration
	failed  bool // the server was to start and failed; a login does not help

	out, errOut io.Writer
}

func (a *applying) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.connect, "connect", "", "the running gateway to ask afterwards: its port or admin socket (default: $"+target.ConnectVariable+", those that run with this file)")
	cmd.Flags().DurationVar(&a.wait, "wait", appliedWait, "how long to wait until the server is there; 0 does not ask the running gateway at all")
}

// follow has the gateways that run with the file read it, waits until they have done what was wished, and says what became of it.
// The file is edited whatever comes; an error says that the server is not there.
func (a *applying) follow(cmd *cobra.Command, path string, w wish) error {
	a.out, a.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if a.wait <= 0 {
		return nil
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	gateways, err := target.Gateways(ctx, a.connect)
	if err != nil {
		return err
	}
	w.know(path)
	var with []*target.Gateway
	for _, g := range gateways {
		if g.RunsWith(path) {
			with = append(with, g)
		}
	}
	if len(with) == 0 {
		a.elsewhere(gateways, path)
		return nil
	}
	var errs []error
	for _, g := range with {
		prefix := ""
		if len(with) > 1 {
			prefix = g.Name() + ": "
		}
		if err := a.apply(ctx, g, prefix, w); err != nil {
			errs = append(errs, err)
		}
	}
	if context.Cause(ctx) != nil && errors.Is(context.Cause(ctx), error(command.ErrInterrupted)) {
		return command.ErrInterruptedQuietly
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// know looks up in the file what a server that is to run is called there, and whether it runs before somebody calls it.
func (w *wish) know(path string) {
	cfg, _ := config.Outline(path)
	if cfg == nil || !w.runs {
		return
	}
	if i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == w.server }); i >= 0 {
		w.lazy = cfg.Servers[i].Startup == "lazy"
		w.server = cmp.Or(cfg.Servers[i].Group, w.server) // the members of a group are one server, called after it
	}
}

// elsewhere says why no running gateway takes the file, and how one would.
func (a *applying) elsewhere(gateways []*target.Gateway, path string) {
	start := "goblin-actor serve --config " + path
	switch {
	case len(gateways) == 0:
		a.note("no gateway runs here", "start one: "+start)
	case len(gateways) > 1:
		a.note(fmt.Sprintf("%d gateways run here, none of them with %s", len(gateways), path), "start one: "+start+" --listen PORT")
	case gateways[0].Status.Config == "":
		a.note(gateways[0].Name()+" shows its demo servers and reads no file", "end it with \"goblin-actor drain\" and start it with this one: "+start)
	default:
		used := gateways[0].Status.Config
		a.note(gateways[0].Name()+" uses another file, "+used, "--config "+used+" edits that one")
	}
}

// note is something to know that is no fault.
func (a *applying) note(text, hint string) {
	p := terminal.PaletteFor(a.errOut)
	fmt.Fprintf(a.errOut, "%s %s\n%s %s\n", p.Warn("note:"), terminal.Clean(text), p.Good("hint:"), terminal.Clean(program.Hint(hint)))
}

// apply has one gateway read its file and waits for what was wished.
func (a *applying) apply(ctx context.Context, g *target.Gateway, prefix string, w wish) error {
	if err := reloadFile(ctx, g); err != nil {
		return err
	}
	if w.tool != "" {
		if err := published(ctx, g); err != nil {
			return err
		}
		word := "off"
		if w.runs {
			word = "on"
		}
		_, err := fmt.Fprintf(a.out, "%s%s/%s: %s now\n", prefix, terminal.Clean(w.server), terminal.Clean(w.tool), word)
		return err
	}
	server, err := a.await(ctx, g.Source, w)
	if err == nil && !w.runs {
		err = published(ctx, g)
	}
	switch {
	case err != nil:
		return err
	case w.runs:
		return a.became(ctx, g, prefix, server, w)
	case server != nil:
		_, err = fmt.Fprintf(a.out, "%s%s: its running calls may finish, then it goes\n", prefix, terminal.Clean(w.server))
	default:
		_, err = fmt.Fprintf(a.out, "%s%s: gone\n", prefix, terminal.Clean(w.server))
	}
	return err
}

// published waits until the catalog that clients see is another than before, or until it would be by now.
func published(ctx context.Context, g *target.Gateway) error {
	for began := time.Now(); time.Since(began) < publishTime; {
		s, err := g.Source.Status(ctx)
		if err != nil {
			return target.Unreachable(err)
		}
		if s.Catalog.Version != g.Status.Catalog.Version {
			return nil
		}
		select {
		case <-time.After(appliedStep / 2):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// reloadFile has the file read; Refused means that it was, and is not in force.
func reloadFile(ctx context.Context, g *target.Gateway) error {
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	err := g.Source.Act(ctx, status.Action{Verb: status.Reload})
	if refused, ok := errors.AsType[*admin.Refused](err); ok {
		return command.Fail(command.ExitFailed, fmt.Errorf("the running gateway: %w", refused), "mend the file and save it; goblin-actor config check finds mistakes")
	}
	if err != nil {
		return target.Unreachable(err)
	}
	return nil
}

// await looks at the server until it is what was wished, or has failed, or the time is over. It returns the server as it is
// then; nil = there is none.
func (a *applying) await(ctx context.Context, source status.Source, w wish) (*status.Server, error) {
	began, limit := time.Now(), a.wait
	if !w.runs {
		limit = min(limit, leavingTime)
	}
	var there time.Time // since when it is: what it offers is told and published a moment later
	line := terminal.NewStatusLine(a.errOut)
	defer line.Clear()
	tick := time.NewTicker(appliedStep)
	defer tick.Stop()
	for {
		s, err := source.Status(ctx)
		if err != nil {
			return nil, target.Unreachable(err)
		}
		server := serverNamed(s, w.server)
		waited := time.Since(began)
		settling := false
		if w.runs && server != nil && isThere(server) && (output.OffersNothing(server) || slices.Contains(s.Waiting, server.Name)) {
			if there.IsZero() {
				there = time.Now()
			}
			settling = time.Since(there) < publishTime
		}
		if w.runs && !settling && arrived(server, w.lazy, waited) || !w.runs && (server == nil || server.State == string(message.Disabled)) {
			if !w.runs {
				server = nil
			}
			return server, nil
		}
		if waited > limit {
			return server, nil
		}
		if w.runs && server != nil {
			line.Show(server.Name+": "+server.State, server.Reason, waited)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// serverNamed finds a server in the picture: one that is on its way out may have the name of its successor, so the last counts
// that is not.
func serverNamed(s *status.Snapshot, name string) *status.Server {
	var found *status.Server
	for i := range s.Servers {
		if s.Servers[i].Name == name && (found == nil || found.State == string(message.Draining) || found.State == string(message.Stopped)) {
			found = &s.Servers[i]
		}
	}
	if found == nil {
		return s.Member(name)
	}
	return found
}

// isThere tells whether the server takes calls: one that is lazy does before it runs.
func isThere(server *status.Server) bool {
	return server.State == string(message.Ready) || server.State == string(message.Idle)
}

// arrived tells whether waiting longer changes nothing.
func arrived(server *status.Server, lazy bool, waited time.Duration) bool {
	if server == nil {
		return false
	}
	switch message.Phase(server.State) {
	case message.Ready:
		return server.Settled
	case message.Misconfigured, message.NeedsLogin, message.Disabled:
		return true
	case message.Draining, message.Stopped:
		return waited > leavingTime
	case message.Waiting:
		return server.Settled
	case message.Idle: // else its turn to start comes
		return lazy && server.Settled
	}
	return server.FailedFirst
}

// became says what has become of a server that was to start.
func (a *applying) became(ctx context.Context, g *target.Gateway, prefix string, server *status.Server, w wish) error {
	if server == nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s%s: the running gateway does not know it", prefix, w.server), `"goblin-actor status" shows what it runs`)
	}
	switch phase := message.Phase(server.State); phase {
	case message.Ready, message.Idle, message.Connecting, message.Handshaking, message.Syncing:
		if phase == message.Ready || phase == message.Idle && w.lazy {
			_, err := fmt.Fprintf(a.out, "%s%s: %s\n", prefix, terminal.Clean(server.Name), output.Offer(server))
			a.noteHidden(server)
			a.hintAtPrefix(ctx, g, server.Name)
			return err
		}
		if !server.FailedFirst {
			_, err := fmt.Fprintf(a.out, "%s%s: still %s; \"goblin-actor status\" shows how it goes on\n", prefix, terminal.Clean(server.Name), server.State)
			return err
		}
	}
	a.failed = message.Phase(server.State) != message.NeedsLogin
	why := server.State
	if server.Reason != "" {
		why += ": " + terminal.OneLine(server.Reason, 400)
	}
	hint := "goblin-actor doctor " + server.Name + " says what to do; goblin-actor logs " + server.Name + " what it wrote"
	if server.Hint != "" && server.State != string(message.Waiting) {
		hint = server.Hint
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("%s%s is %s", prefix, server.Name, why), hint)
}

// noteHidden says how many tools of a server that has started are hidden.
func (a *applying) noteHidden(server *status.Server) {
	hidden := 0
	for _, tool := range server.Invalid {
		if tool.Hidden {
			hidden++
		}
	}
	if hidden > 0 {
		a.note(terminal.Count(hidden, "tool")+" hidden because of an invalid definition", "goblin-actor doctor "+server.Name+" says what is invalid")
	}
}

// hintAtPrefix names a tool of a server that has started if its public name says the prefix twice.
func (a *applying) hintAtPrefix(ctx context.Context, g *target.Gateway, server string) {
	items, err := g.Source.Items(ctx, 0)
	if err != nil {
		return // a hint is not worth an error
	}
	var names []lint.Named
	for _, tool := range items.Tools {
		if tool.Server == server {
			names = append(names, lint.Named{Own: tool.Original, Public: tool.Public})
		}
	}
	if example := lint.DoubledPrefix(names); example != "" {
		a.note("its tools have names like "+terminal.OneLine(example, 64), `prefix: "" in the entry of `+server+" leaves the prefix out")
	}
}
