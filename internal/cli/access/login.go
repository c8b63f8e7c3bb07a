package access

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/login"
	"goblin-actor/internal/serving"
)

// loginFlags are the flags of login and logout.
type loginFlags struct {
	connect, config, stateDir string
	shown                     target.KeyFlag
	noBrowser, device         bool
	catalog                   bool
	port                      uint16
}

// NewLogin returns the login command.
func NewLogin() *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server",
		Long: `Log in to a server. The command opens a browser at the server's login page. The running gateway stores the login and renews it.

For a server with "as: principal", the login belongs to you: pass your API key. For all other servers the login is shared,
and the command needs access to the gateway's admin socket. With --config, no running gateway is needed: the login is stored
in the state file.`,
		Example: `  goblin-actor login github
  goblin-actor login github --no-browser    # without a browser on this machine: print the URL, paste the result
  goblin-actor login github --device        # print a code to enter on another device`,
		Args:              command.Args(1, 1, "a server name"),
		ValidArgsFunction: target.CompleteServers(&f.connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.noBrowser && f.device {
				return command.UsageError("use only one of them", "--no-browser and --device cannot be combined")
			}
			return f.run(cmd, args[0], f.login)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "print the login URL, and read from stdin the URL to which the browser is redirected")
	cmd.Flags().BoolVar(&f.device, "device", false, "print a code to enter in a browser on another device")
	cmd.Flags().Uint16Var(&f.port, "callback-port", 0, "local port to which the browser is redirected; 0 = 8739, or any free port if 8739 is in use")
	return cmd
}

// NewLogout returns the logout command.
func NewLogout() *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:               "logout SERVER",
		Short:             "Log out of a server",
		Long:              `Log out of a server. The gateway deletes the login and revokes it at the authorization server if possible. Running calls that use the login end.`,
		Example:           "  goblin-actor logout github",
		Args:              command.Args(1, 1, "a server name"),
		ValidArgsFunction: target.CompleteServers(&f.connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], func(ctx context.Context, cmd *cobra.Command, at login.Service, server string) error {
				if err := at.Logout(ctx, login.Request{Server: server, Catalog: f.catalog}); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "logged out of %s\n", terminal.Clean(server))
				return nil
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (f *loginFlags) add(cmd *cobra.Command) {
	target.ConnectFlag(cmd, &f.connect)
	f.shown.AddFlags(cmd)
	cmd.Flags().StringVar(&f.config, "config", "", "work without a running gateway, with this configuration file and its state file")
	cmd.Flags().StringVar(&f.stateDir, "state-dir", "", "with --config: directory of the state file")
	cmd.Flags().BoolVar(&f.catalog, "catalog", false, `for a server with "as: principal": use the login for listing its catalog instead of your own`)
}

// run calls do with the selected gateway, and adds exit codes and hints to errors.
func (f *loginFlags) run(cmd *cobra.Command, server string, do func(context.Context, *cobra.Command, login.Service, string) error) error {
	if f.config != "" && (f.connect != "" || f.shown.Given()) {
		return command.UsageError("omit --config to use the running gateway", "--config cannot be combined with --connect, --key-file and --plain-http")
	}
	ctx, cancel := command.Interruptible(cmd)
	defer cancel()
	at, stop, err := f.gateway(ctx, cmd, server)
	if err != nil {
		return err
	}
	defer stop()
	err = do(ctx, cmd, at, server)
	var refused *login.Refused
	var gone *login.UnreachableError
	var h interface{ Hint() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &gone):
		return target.Unreachable(err)
	case errors.As(err, &refused):
		return command.Fail(command.ExitPeerError, refused, cmp.Or(refused.Hint, `run "goblin-actor status" to see the state of the servers`))
	case errors.As(err, &h):
		return command.Fail(command.ExitFailed, err, h.Hint())
	}
	return err
}

// gateway returns the gateway that performs the login: with --config one in this process, with a key the running one
// over HTTP, otherwise the running one through its admin socket. The caller must call stop.
func (f *loginFlags) gateway(ctx context.Context, cmd *cobra.Command, server string) (at login.Service, stop func(), err error) {
	if f.config != "" {
		return startForLogin(ctx, f, server, cmd.ErrOrStderr())
	}
	key, from, err := f.shown.Read(os.Getenv, cmd.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	if key != "" {
		address, err := target.Endpoint(f.connect, os.Getenv)
		if err != nil {
			return nil, nil, err
		}
		u, err := client.ParseAddress(address)
		if err != nil {
			return nil, nil, err
		}
		if err := f.shown.CheckTransport(from, u); err != nil {
			return nil, nil, err
		}
		base := u.Scheme + "://" + u.Host + "/login/api/"
		return login.NewClient(base, key), func() {}, nil
	}
	path, err := target.AdminSocket(f.connect, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	at, err = serving.SocketLogins(path)
	return at, func() {}, err
}

// login logs in to a server with the browser, with a URL that the user pastes, or with a device code.
func (f *loginFlags) login(ctx context.Context, cmd *cobra.Command, at login.Service, server string) error {
	request := login.Request{Server: server, Catalog: f.catalog, Device: f.device}
	by := f.byBrowser
	switch {
	case f.device:
		by = f.byDevice
	case f.noBrowser:
		by = f.byPaste
	}
	if err := by(ctx, cmd, at, request); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s\n", terminal.Clean(server))
	return nil
}

func (*loginFlags) byDevice(ctx context.Context, cmd *cobra.Command, at login.Service, request login.Request) error {
	begun, err := at.Begin(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Open %s\nand enter %s\n", terminal.Clean(begun.URL), terminal.Clean(begun.UserCode))
	return at.Finish(ctx, login.Answer{Login: begun.Login, State: begun.State})
}

func (f *loginFlags) byBrowser(ctx context.Context, cmd *cobra.Command, at login.Service, request login.Request) error {
	err := login.ByBrowser(ctx, at, request, f.port, func(page string) {
		fmt.Fprintf(cmd.OutOrStdout(), "Opening %s\n", terminal.Clean(page))
		if err := login.OpenPage(ctx, page); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: cannot open a browser (%v); open the URL yourself, or use --no-browser or --device\n", err)
		}
	})
	if errors.Is(err, login.ErrNotBack) {
		return command.Fail(command.ExitFailed, err, "try again; if this machine has no browser, use --no-browser or --device")
	}
	return err
}

// byPaste logs in with a browser on another machine. The user pastes the URL to which it was redirected.
func (f *loginFlags) byPaste(ctx context.Context, cmd *cobra.Command, at login.Service, request login.Request) error {
	back, err := login.ListenCallback(f.port) // only its URL is needed
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	back.Close()
	request.Redirect = back.URL
	begun, err := at.Begin(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Open this URL in any browser and log in:\n%s\nAt the end, the browser fails to open a page at %s?…. Paste the full URL of that page here:\n", terminal.Clean(begun.URL), back.URL)
	line, err := readLine(ctx, bufio.NewReader(cmd.InOrStdin()))
	if err != nil {
		return err
	}
	pasted, err := url.Parse(strings.TrimSpace(line))
	if err != nil || pasted.RawQuery == "" {
		return command.UsageError("copy the full URL from the browser's address bar", "the pasted text is not the URL of the page")
	}
	return at.Finish(ctx, begun.AnswerOf(pasted.Query()))
}

// readLine reads a line. If ctx ends first, it returns context.Cause(ctx).
func readLine(ctx context.Context, r *bufio.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	lines := make(chan read, 1)
	go func() {
		line, err := r.ReadString('\n')
		lines <- read{line, err}
	}()
	select {
	case l := <-lines:
		if l.line == "" && l.err != nil {
			return "", fmt.Errorf("no URL was pasted: %w", l.err)
		}
		return l.line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
