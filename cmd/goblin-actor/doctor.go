package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// newDoctor returns the command that tries every server of a configuration.
func newDoctor() *cobra.Command {
	var path string
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Try every server of the configuration and say what is wrong",
		Long: `Try every server of the configuration: is its program there, does it start, does its URL answer, does it
shake hands, in which version of the protocol, what does it offer? For each fault: what was seen, why, what to do.

It needs no running gateway: it starts the servers itself, and ends them. Exit code 1 if anything is wrong.`,
		Example: `  goblin-actor doctor
  goblin-actor doctor --config claude_desktop_config.json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return doctor(cmd, path, patience) },
	}
	cmd.Flags().StringVar(&path, "config", "", "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	cmd.Flags().DurationVar(&patience, "timeout", readyTime, "how long the servers may take to start")
	return cmd
}

func doctor(cmd *cobra.Command, path string, patience time.Duration) error {
	cfg, report, err := loadReport(path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if cfg == nil {
		return &exitError{exitFailed, errors.New("no configuration found"), "name one with --config; goblin-actor serve runs the demo servers without any"}
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n", clean(cfg.Path), count(len(cfg.Servers), "server"))
	ctx, stop := interruptible(cmd)
	defer stop()
	g, err := actors.Start(cfg, actors.Options{Version: buildVersion(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	snapshot, err := examine(ctx, g, patience)
	if stopErr := stopGateway(g, 0); err == nil && stopErr != nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	if ill := diagnose(out, cfg, report, snapshot); ill > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %s not well", ill, count(len(snapshot.Servers), "server"))}
	}
	return nil
}

// examine waits until every server is ready or has failed once, or patience is over.
func examine(ctx context.Context, g *actors.Gateway, patience time.Duration) (*status.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(readyStep)
	defer tick.Stop()
	var last *status.Snapshot
	for {
		s, err := g.Status(ctx)
		if err == nil {
			last = s
		}
		if err == nil && s.Ready {
			return s, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) || last == nil {
				return nil, cause
			}
			return last, nil
		}
	}
}

// diagnose prints a line a server and, for those that are not well, what was seen, why and what to do.
func diagnose(out io.Writer, cfg *config.Config, report config.Report, s *status.Snapshot) (ill int) {
	p := paletteFor(out)
	for _, server := range s.Servers {
		backends := backendsOf(s, server.Name)
		switch {
		case server.State == "disabled":
			fmt.Fprintf(out, "%s %s: disabled\n", p.warn("–"), oneLine(server.Name, 0))
		case server.State == "ready":
			fmt.Fprintf(out, "%s %s: ready, protocol %s over %s; %s, %s, %s, %s\n", p.good("✓"), oneLine(server.Name, 0),
				cmp.Or(backends.Protocol, "?"), cmp.Or(backends.Transport, "?"), count(server.Tools, "tool"), count(server.Prompts, "prompt"),
				count(server.Resources, "resource"), count(server.Templates, "template"))
			if server.Reason != "" {
				fmt.Fprintf(out, "    %s %s; it is asked again\n", p.warn("!"), oneLine(server.Reason, 300))
			}
			if backends.Noise > 0 {
				fmt.Fprintf(out, "    %s it printed %s on stdout that are no messages; they are skipped, but its log belongs on stderr\n", p.warn("!"), count(backends.Noise, "line"))
			}
		default:
			ill++
			cause, todo := explain(report.CommandLine(configOf(cfg, server.Name)), server)
			fmt.Fprintf(out, "%s %s: %s: %s\n    cause: %s\n    to do: %s\n", p.bad("✗"), oneLine(server.Name, 0), server.State,
				oneLine(cmp.Or(server.Reason, "it has not answered yet"), 300), cause, todo)
			for _, line := range slices.Compact(slices.Clone(backends.Stderr)) { // every start says the same
				fmt.Fprintf(out, "    stderr: %s\n", oneLine(line, 200))
			}
		}
	}
	return ill
}

// backendsOf returns the first backend of a server, or a zero one.
func backendsOf(s *status.Snapshot, server string) status.Backend {
	for _, b := range s.Backends {
		if b.Server == server {
			return b
		}
	}
	return status.Backend{}
}

func configOf(cfg *config.Config, name string) config.Server {
	for _, server := range cfg.Servers {
		if server.Name == name {
			return server
		}
	}
	return config.Server{}
}

// explain says why a server is not well and what a person can do, by what was seen. command is its command line as it may
// be shown.
func explain(command []string, seen status.Server) (cause, todo string) {
	reason := strings.ToLower(seen.Reason)
	program := oneLine(command[0], 80)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(reason, word) {
				return true
			}
		}
		return false
	}
	switch {
	case seen.State == "misconfigured":
		return "its configuration cannot be carried out", "goblin-actor config check names the line; set the variable, or give a default as ${NAME:-value}"
	case has("not found on path", "no such file", "executable file not found"):
		return "the program " + program + " is not there", "install it, or write its whole path into command; a gateway started by a desktop program has a shorter PATH than your shell"
	case seen.State == "needs-login" || has("http status 401", "http status 403"):
		return "the server wants to know who is calling", "put a token into headers: {Authorization: \"Bearer ${TOKEN}\"}"
	case has("permission denied"):
		return "the program may not be run", "chmod +x, or name the interpreter as command and the script in args"
	case has("connection refused", "no such host", "network is unreachable", "i/o timeout", "dial "):
		return "nobody answers at its URL", "start that server, mend url, or look whether a proxy or firewall is in between"
	case has("certificate", "tls", "x509"):
		return "its certificate is not trusted", "mend the certificate, or add its authority to the system's"
	case has("could not be listed"):
		return "it runs, but does not say what it offers", "look at its own log; the gateway goes on asking"
	case has("starttimeout", "not ready within"):
		return "it runs, but did not finish its handshake and lists in time", "raise startTimeout (a first npx download takes long), and run the command by hand: does it wait for input or print to stdout?"
	case has("protocol version"):
		return "no version of the protocol in common", "update the server, or set protocol: to a version both know"
	case has("exit status", "signal", "exited", "closed its stdout"):
		return "the program ended by itself", "run it by hand: " + oneLine(shellWords(command, runtime.GOOS), 200) + "; its last words are below"
	case has("http status 5"):
		return "the server, or a proxy before it, is in trouble", "look at its own log; the gateway goes on trying"
	case has("http status 404", "http status 405"):
		return "there is no MCP endpoint at that URL", "look up the path (often /mcp or /sse), or set type: sse for an old server"
	case seen.Reason == "":
		return "it has not answered in the time given", "give it more with --timeout; a first npx download takes long"
	}
	return "see what it said", "run it by hand, or look at its log"
}

// shellPlain are the characters that no shell reads anything into.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// shellWords writes words of a configuration so that the shell of the system takes them as the gateway does: variables
// stand for what they hold, all else as it is.
func shellWords(words []string, system string) string {
	written := make([]string, len(words))
	for i, word := range words {
		refers := config.Refers(word)
		if !refers || system == "windows" {
			word = strings.ReplaceAll(word, "$$", "$")
		}
		switch {
		case refers && system != "windows":
			written[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$$", `\$`, "${", "${", "$", `\$`).Replace(word) + `"`
		case word != "" && strings.Trim(word, shellPlain) == "":
			written[i] = word
		case system == "windows":
			written[i] = `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
		default:
			written[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(written, " ")
}
