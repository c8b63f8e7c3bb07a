package ask

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/client"
)

// gatewayFlags are the flags that select the gateway of a client command.
type gatewayFlags struct {
	connect string // --connect
	config  string // --config: start a gateway in this process
	project string // --project; "" = all items
	address string // address of the running gateway; set by check
	shown   target.KeyFlag
	key     string // the key that shown selects; set by check

	asked *answerer // nil = the command does not answer requests of servers
}

func (f *gatewayFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.connect, "connect", "", "running gateway: URL, host:port or port"+target.WhichHelp)
	cmd.Flags().StringVar(&f.config, "config", "", "start a gateway from this file for the duration of the command")
	target.ProjectFlag(cmd, &f.project)
	f.shown.AddFlags(cmd)
}

// check validates the flags and finds the gateway.
func (f *gatewayFlags) check(cmd *cobra.Command) error {
	if err := target.CheckProject(cmd, f.project); err != nil {
		return err
	}
	if f.connect != "" && f.config != "" {
		return command.UsageError("use only one of them", "--connect and --config cannot be combined")
	}
	if f.config != "" {
		return nil
	}
	address, err := target.Endpoint(f.connect, os.Getenv)
	if f.address = address; err != nil {
		return err
	}
	at, err := client.EndpointOf(address, f.project)
	if err != nil {
		return command.UsageError("omit --project or the path", "%w", err)
	}
	f.key, err = f.shown.ForGateway(at, os.Getenv, cmd.ErrOrStderr())
	return err
}

// open connects to the running gateway or starts one in this process. The caller must call stop when done.
func (f *gatewayFlags) open(ctx context.Context, cmd *cobra.Command) (c *client.Client, stop func(), err error) {
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	if f.config != "" {
		return local.Start(ctx, f.config, f.options(ctx), cmd.ErrOrStderr())
	}
	c, err = f.dial(ctx, f.options(ctx))
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// dial connects to the running gateway.
func (f *gatewayFlags) dial(ctx context.Context, o client.Options) (*client.Client, error) {
	c, err := client.Dial(ctx, f.address, o)
	return c, failed(err)
}

// options returns the client's options.
func (f *gatewayFlags) options(ctx context.Context) client.Options {
	o := client.Options{Name: "goblin-actor", Version: program.Version()}
	if f.asked != nil {
		o = f.asked.options(ctx)
	}
	o.Project, o.Key = f.project, f.key
	return o
}

// answered runs do with a client of the gateway, and adds exit codes and hints to its errors.
func (f *gatewayFlags) answered(cmd *cobra.Command, do func(ctx context.Context, c *client.Client) error) error {
	ctx, cancel := command.Interruptible(cmd)
	defer cancel()
	c, stop, err := f.open(ctx, cmd)
	if err != nil {
		return err
	}
	defer stop()
	err = do(ctx, c)
	if hint := cmp.Or(meant(ctx, c, err), f.absentHint(ctx, err)); hint != "" {
		return command.Fail(command.ExitPeerError, err, hint)
	}
	return failed(err)
}
