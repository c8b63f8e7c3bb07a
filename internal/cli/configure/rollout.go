package configure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/lint"
	"goblin-actor/internal/rollout"
	"goblin-actor/internal/status"
)

// defaultWait is the default of --wait. It covers the default startTimeout and a second attempt.
const defaultWait = 90 * time.Second

// rolloutFlags select the running gateways that should apply an edit, and how long to wait for them.
type rolloutFlags struct {
	connect string
	wait    time.Duration
	failed  bool // the server should be running, but failed for a reason other than a missing login

	out, errOut io.Writer
}

func (f *rolloutFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.connect, "connect", "", "running gateway to notify: port or admin socket (default: $"+target.ConnectVariable+", else every gateway that runs with this file)")
	cmd.Flags().DurationVar(&f.wait, "wait", defaultWait, "maximum time to wait for the server; 0 = do not contact the running gateway")
}

// save writes the configuration, prints done and the path, and waits until the running gateways have applied the change.
func (f *rolloutFlags) save(cmd *cobra.Command, file *config.File, text, done string, c rollout.Change) error {
	if err := configfile.Save(cmd, file, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Clean(done), terminal.Clean(file.Path)); err != nil {
		return err
	}
	return f.follow(cmd, file.Path, c)
}

// follow makes the gateways that run with the file reload it, waits until the change has taken effect, and prints the
// result. With --wait 0 it does nothing. The file stays edited in any case. An error means that a gateway did not apply
// the change, or that the server is not running.
func (f *rolloutFlags) follow(cmd *cobra.Command, path string, c rollout.Change) error {
	f.out, f.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.wait <= 0 {
		return nil
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	gateways, err := target.Gateways(ctx, f.connect)
	if err != nil {
		return err
	}
	c.Resolve(path)
	var with []*target.Gateway
	for _, g := range gateways {
		if g.RunsWith(path) {
			with = append(with, g)
		}
	}
	if len(with) == 0 {
		f.noteNoGateway(gateways, path)
		return nil
	}
	var errs []error
	for _, g := range with {
		prefix := ""
		if len(with) > 1 {
			prefix = g.Name() + ": "
		}
		if err := f.apply(ctx, g, prefix, c); err != nil {
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

// noteNoGateway explains why no running gateway uses the file, and how to start one that does.
func (f *rolloutFlags) noteNoGateway(gateways []*target.Gateway, path string) {
	start := "goblin-actor serve --config " + path
	switch {
	case len(gateways) == 0:
		f.note("no gateway is running", "start one: "+start)
	case len(gateways) > 1:
		f.note(fmt.Sprintf("%d gateways are running, none of them with %s", len(gateways), path), "start one: "+start+" --listen PORT")
	case gateways[0].Status.Config == "":
		f.note(gateways[0].Name()+" runs its demo servers without a configuration file", "stop it with \"goblin-actor drain\" and start it with this file: "+start)
	default:
		used := gateways[0].Status.Config
		f.note(gateways[0].Name()+" uses another file, "+used, "to edit that file, add --config "+used)
	}
}

// note prints information that is not an error.
func (f *rolloutFlags) note(text, hint string) {
	p := terminal.PaletteFor(f.errOut)
	fmt.Fprintf(f.errOut, "%s %s\n%s %s\n", p.Warn("note:"), terminal.Clean(text), p.Good("hint:"), terminal.Clean(program.Hint(hint)))
}

// apply makes one gateway reload its file and waits until the change has taken effect.
func (f *rolloutFlags) apply(ctx context.Context, g *target.Gateway, prefix string, c rollout.Change) error {
	if err := reload(ctx, g); err != nil {
		return err
	}
	awaitCatalog := func() error { return gatewayError(ctx, rollout.AwaitCatalog(ctx, g.Source, g.Status.Catalog.Version)) }
	if c.Tool != "" {
		if err := awaitCatalog(); err != nil {
			return err
		}
		word := "disabled"
		if c.Runs {
			word = "enabled"
		}
		_, err := fmt.Fprintf(f.out, "%s%s/%s: %s\n", prefix, terminal.Clean(c.Server), terminal.Clean(c.Tool), word)
		return err
	}
	line := terminal.NewStatusLine(f.errOut)
	server, err := c.Await(ctx, g.Source, f.wait, func(s *status.Server, waited time.Duration) { line.Show(s.Name+": "+s.State, s.Reason, waited) })
	line.Clear()
	if err = gatewayError(ctx, err); err == nil && !c.Runs {
		err = awaitCatalog()
	}
	switch {
	case err != nil:
		return err
	case c.Runs:
		return f.reportStart(ctx, g, prefix, server, c)
	case server != nil:
		_, err = fmt.Fprintf(f.out, "%s%s: still stopping\n", prefix, terminal.Clean(c.Server))
	default:
		_, err = fmt.Fprintf(f.out, "%s%s: stopped\n", prefix, terminal.Clean(c.Server))
	}
	return err
}

// gatewayError adds an exit code and a hint to the error of a gateway that does not answer. If ctx has ended, it
// returns err unchanged.
func gatewayError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return target.Unreachable(err)
}

// reload makes the gateway read its file.
func reload(ctx context.Context, g *target.Gateway) error {
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	err := g.Source.Act(ctx, status.Action{Verb: status.Reload})
	if refused, ok := errors.AsType[*admin.Refused](err); ok {
		return command.Fail(command.ExitFailed, fmt.Errorf("the running gateway: %w", refused), "correct the file and save it; to list the errors, run goblin-actor config check")
	}
	if err != nil {
		return target.Unreachable(err)
	}
	return nil
}

// reportStart prints the state of a server that should have started. It returns an error if the server has failed,
// waits for a login or is not listed.
func (f *rolloutFlags) reportStart(ctx context.Context, g *target.Gateway, prefix string, server *status.Server, c rollout.Change) error {
	outcome := c.OutcomeOf(server)
	switch outcome {
	case rollout.Unknown:
		return command.Fail(command.ExitFailed, fmt.Errorf("%s%s: the running gateway does not list this server", prefix, c.Server), `run "goblin-actor status" to list its servers`)
	case rollout.Started:
		_, err := fmt.Fprintf(f.out, "%s%s: %s\n", prefix, terminal.Clean(server.Name), output.Offer(server))
		f.noteHidden(server)
		f.hintAtPrefix(ctx, g, server.Name)
		return err
	case rollout.Starting:
		_, err := fmt.Fprintf(f.out, "%s%s: still %s; \"goblin-actor status\" shows the progress\n", prefix, terminal.Clean(server.Name), server.State)
		return err
	}
	f.failed = outcome == rollout.Failed
	why := "(" + server.State + ")"
	if server.Reason != "" {
		why += ": " + terminal.OneLine(server.Reason, 400)
	}
	hint := "run goblin-actor doctor " + server.Name + " to find the cause, or goblin-actor logs " + server.Name + " to see the server's output"
	if server.Hint != "" && server.State != "waiting" {
		hint = server.Hint
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("%s%s is not ready %s", prefix, server.Name, why), hint)
}

// noteHidden reports how many tools of a started server are hidden.
func (f *rolloutFlags) noteHidden(server *status.Server) {
	hidden := 0
	for _, tool := range server.Invalid {
		if tool.Hidden {
			hidden++
		}
	}
	if hidden > 0 {
		f.note(terminal.Count(hidden, "tool")+" hidden because of invalid definitions", "run goblin-actor doctor "+server.Name+" to see what is invalid")
	}
}

// hintAtPrefix suggests omitting the prefix of a server if the public names of most of its tools contain it twice.
func (f *rolloutFlags) hintAtPrefix(ctx context.Context, g *target.Gateway, server string) {
	items, err := g.Source.Items(ctx, 0)
	if err != nil {
		return // the hint is optional
	}
	var names []lint.Named
	for _, tool := range items.Tools {
		if tool.Server == server {
			names = append(names, lint.Named{Own: tool.Original, Public: tool.Public})
		}
	}
	if example := lint.DoubledPrefix(names); example != "" {
		f.note("the tools of "+server+" have names like "+terminal.OneLine(example, 64), `set prefix: "" in the entry of `+server+" to omit the prefix")
	}
}
