package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/demo"
	"goblin-actor/protocol"
)

// NewDemo returns the demo command.
func NewDemo() *cobra.Command {
	var listen, version string
	var pageSize int
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Run a built-in demo server",
		Long: `Run a built-in demo server on stdin and stdout until the input ends, or over HTTP until interrupted. Without NAME, list the
demo servers. "serve" without a configuration runs notes and clock. The tools of oracle request user input, sampling and
roots.`,
		Example:   "  goblin-actor demo notes\n  goblin-actor demo clock --http 127.0.0.1:9000\n  goblin-actor demo oracle --protocol 2025-06-18",
		ValidArgs: demo.Names(),
		Args:      command.Args(0, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listDemos(cmd)
			}
			s, err := demo.Named(args[0])
			if err != nil {
				return command.UsageError(`run "goblin-actor demo" to list the demo servers`, "%w", err)
			}
			if version != "" && !protocol.IsLegacy(version) && !protocol.IsModern(version) {
				return command.UsageError("use one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28", "--protocol %q: the demo servers do not support this version", version)
			}
			if pageSize < 1 {
				return command.UsageError("pass 1 or more", "--page-size %d is too small", pageSize)
			}
			s.Protocol, s.PageSize = version, pageSize
			return runDemo(cmd, s, listen)
		},
	}
	cmd.Flags().StringVar(&listen, "http", "", "serve streamable HTTP (/mcp) and HTTP+SSE (/sse) on this loopback address or port; port 0 uses any free one")
	cmd.Flags().StringVar(&version, "protocol", "", "support only this protocol version (default: all from 2024-11-05 to 2026-07-28)")
	cmd.Flags().IntVar(&pageSize, "page-size", 100, "number of items per page in lists")
	return cmd
}

func listDemos(cmd *cobra.Command) error {
	rows := [][]string{}
	for _, name := range demo.Names() {
		rows = append(rows, []string{name, demo.About(name)})
	}
	return output.PrintTable(cmd.OutOrStdout(), []string{"NAME", "ABOUT"}, rows)
}

// runDemo serves until the input ends or a signal arrives. Neither is an error.
func runDemo(cmd *cobra.Command, s *demo.Server, listen string) error {
	ctx, cancel := command.Interruptible(cmd)
	defer cancel()
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})).With("demo", s.Name)
	if listen == "" {
		err := demo.ServeStdio(ctx, s, cmd.InOrStdin(), cmd.OutOrStdout(), log)
		if context.Cause(ctx) == error(command.ErrInterrupted) {
			return nil
		}
		return err
	}
	address, err := loopback(listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return command.Fail(command.ExitFailed, err, "use --http 0 for any free port")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s/mcp\n", l.Addr())
	return demo.ServeHTTP(ctx, s, l, log)
}

// loopback completes a listen address and checks that its host is localhost or a loopback address. Demo servers listen
// on no other, because they have no authentication.
func loopback(address string) (string, error) {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", command.UsageError("pass an address or a port, such as --http 127.0.0.1:9000 or --http 9000", "--http %q: expected an address or a port", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return "", command.UsageError("pass a loopback address, such as --http 127.0.0.1:9000", "--http %q: demo servers listen on loopback addresses only", address)
	}
	return net.JoinHostPort(host, port), nil
}
