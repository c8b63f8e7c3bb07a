package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// NewPolicyCommand returns the policy command. Its subcommands change nothing.
func NewPolicyCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "policy",
		Short: "Check roles and explain decisions of the policy",
		Long: `Check the roles of the policy and explain its decisions. The commands use the configuration file and the catalog of the running
gateway. With --config, they use another file and start its servers for the duration of the command.`,
	})
	cmd.AddCommand(newPolicyCheck(), newPolicyExplain())
	return cmd
}

// policyFlags are the flags that select the policy.
type policyFlags struct{ connect, config string }

func (f *policyFlags) add(cmd *cobra.Command) {
	target.ConnectFlag(cmd, &f.connect)
	cmd.Flags().StringVar(&f.config, "config", "", "use the policy of this file and start its servers for the duration of the command")
}

// inspection is a policy with its configuration, the keys, and the items of the servers.
type inspection struct {
	cfg    *config.Config
	report config.Report
	policy *policy.Policy
	keys   []auth.Key
	items  []policy.Item
}

// load reads the policy, the keys and the items.
func (f *policyFlags) load(ctx context.Context, cmd *cobra.Command) (*inspection, error) {
	if f.connect != "" && f.config != "" {
		return nil, command.UsageError("use only one of them", "--connect and --config cannot be combined")
	}
	if f.config == "" {
		source, err := target.DialAdmin(f.connect)
		if err != nil {
			return nil, err
		}
		return inspectRunning(ctx, source, cmd.ErrOrStderr())
	}
	k, err := newInspection(f.config, config.Load, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	items, err := startedItems(ctx, cmd, *k.cfg)
	if err != nil {
		return nil, err
	}
	k.take(items)
	return k, nil
}

// inspectRunning reads the policy and the keys of a running gateway from its files, and asks it for the items. Findings
// of the configuration are written to errOut.
func inspectRunning(ctx context.Context, source status.Source, errOut io.Writer) (*inspection, error) {
	snapshot, err := source.Status(ctx)
	if err != nil {
		return nil, target.Unreachable(err)
	}
	if snapshot.Config == "" {
		return nil, command.Fail(command.ExitFailed, errors.New("the running gateway has no configuration file, so it has no policy"), "specify a configuration with --config")
	}
	items, err := source.Items(ctx, 0)
	if err != nil {
		return nil, target.Unreachable(err)
	}
	k, err := newInspection(snapshot.Config, config.Outline, errOut) // the gateway has started the servers, so the values of variables are not needed
	if err != nil {
		return nil, err
	}
	k.take(items)
	return k, nil
}

// newInspection reads the policy and the keys with load. It has no items yet.
func newInspection(path string, load func(path string) (*config.Config, config.Report), errOut io.Writer) (*inspection, error) {
	k := &inspection{}
	k.cfg, k.report = load(path)
	configfile.PrintFindings(errOut, k.report)
	if k.cfg == nil {
		return nil, &command.Error{Code: command.ExitConfig} // the errors have been printed
	}
	if k.policy = policy.Compile(k.cfg.Policy); k.policy == nil {
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s has no policy, so no role restricts what clients may do", terminal.Clean(path)), "see docs/policy.md for how to write one")
	}
	if k.cfg.Auth.On() {
		var err error
		if k.keys, err = auth.Load(k.cfg.Beside(k.cfg.Auth.Keys)); err != nil && !errors.Is(err, os.ErrNotExist) {
			file, _ := errors.AsType[*auth.FileError](err)
			return nil, command.Fail(command.ExitConfig, err, file.Hint)
		}
	}
	return k, nil
}

// startedItems starts a gateway in this process and returns the items of its servers. The gateway has no policy and no
// audit log, because no item is used and a running gateway may be writing to the log.
func startedItems(ctx context.Context, cmd *cobra.Command, cfg config.Config) (*status.Items, error) {
	cfg.Policy, cfg.Audit = config.Policy{}, config.Audit{}
	known := serving.Redactor(&cfg)
	errOut := known.Writer(cmd.ErrOrStderr())
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelError}))
	g, err := actors.Start(&cfg, actors.Options{Version: program.Version(), Log: log, Secrets: known})
	if err != nil {
		return nil, err
	}
	defer local.Stop(g, errOut)
	if err := local.WaitReady(ctx, g, errOut); err != nil {
		return nil, err
	}
	return g.Items(ctx, 0)
}

func (k *inspection) take(items *status.Items) {
	for kind, list := range [][]status.Item{protocol.Tools: items.Tools, protocol.Prompts: items.Prompts, protocol.Resources: items.Resources, protocol.Templates: items.Templates} {
		for _, i := range list {
			k.items = append(k.items, policy.Item{Kind: protocol.ItemKind(kind), Server: i.Server, Internal: i.Internal, Public: i.Public, Own: i.Original, Other: i.Other, ReadOnly: i.ReadOnly})
		}
	}
}

// servers returns the names of the enabled servers.
func (k *inspection) servers() (names []string) {
	for _, s := range config.Gather(k.cfg).Servers {
		if !s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// ruleRef refers to a rule of a role: its position in the file and its pattern.
type ruleRef struct {
	Rule    string `json:"rule,omitempty"` // "" = the role as a whole
	Pattern string `json:"pattern,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// where returns the position of a role's rule in the configuration.
func (k *inspection) where(role string, rule policy.Rule) ruleRef {
	r, _ := k.policy.Role(role)
	found := ruleRef{Rule: rule.String()}
	if lists := map[string][]string{"servers": r.Servers, "tools.allow": r.Tools.Allow, "tools.deny": r.Tools.Deny, "readOnlyTools": r.ReadOnlyTools, "prompts.allow": r.Prompts.Allow,
		"prompts.deny": r.Prompts.Deny, "resources.allow": r.Resources.Allow, "resources.deny": r.Resources.Deny}; rule.Index >= 0 && rule.Index < len(lists[rule.Key]) {
		found.Pattern = lists[rule.Key][rule.Index]
	}
	path := r.Path()
	for _, sub := range []string{"." + rule.String(), "." + rule.Key, ""} { // a list with one element may be written without brackets, so that only the key has a position
		if file, line, ok := k.report.Where(path + sub); ok && (rule.Key != "" || sub == "") {
			found.File, found.Line = file, line
			return found
		}
	}
	return found
}

// String returns the form `tools.allow[0] "github_*" (goblin.yaml:12)`.
func (r ruleRef) String() string {
	s := r.Rule
	if s == "" {
		s = "the role as a whole"
	}
	if r.Pattern != "" {
		s += fmt.Sprintf(" %q", r.Pattern)
	}
	if r.Line > 0 {
		s += fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	}
	return terminal.OneLine(s, 0)
}

// holders returns the names of the keys that have a role. local reports whether unauthenticated clients have it.
func (k *inspection) holders(role string) (keys []string, local bool) {
	for i := range k.keys {
		if slices.Contains(strings.Split(k.policy.Rights(k.keys[i].Roles, k.keys[i].Name, false), ","), role) {
			keys = append(keys, k.keys[i].Name)
		}
	}
	return keys, slices.Contains(strings.Split(k.policy.Rights(nil, "", true), ","), role)
}
