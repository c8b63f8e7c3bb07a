package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/namespace"
)

func newPolicyExplain() *cobra.Command {
	var flags policyFlags
	var out output.Format
	var as, project string
	var roles []string
	cmd := &cobra.Command{
		Use:   "explain --as WHO TOOL|PROMPT|URI [KEY=VALUE…]",
		Short: "Explain whether a principal may use an item",
		Long: `Explain whether a principal may use a tool, prompt or resource, and which rule of which role decides. WHO is the name of an API
key, key:NAME, or local for clients that are not authenticated. --role adds roles to those that WHO has.

Arguments may follow as in a call; roles do not depend on them. The exit code is 0 if the use is permitted, and 5 if it is denied.`,
		Example: "  goblin-actor policy explain --as ci github_create_issue\n  goblin-actor policy explain --as local --role ops k8s/pod_delete name=web-1\n  goblin-actor policy explain --as ann resource://files/file:///srv/notes.txt",
		Args:    command.Args(1, -1, "a tool name, a prompt name or a URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" && len(roles) == 0 {
				return command.UsageError("pass --as local, or --as NAME for an API key", "--as is required")
			}
			if _, err := command.ParsePairs(args[1:]); err != nil {
				return err
			}
			if err := target.CheckProject(cmd, project); err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			k, err := flags.load(ctx, cmd)
			if err != nil {
				return err
			}
			if err := configfile.CheckProject(k.cfg, project); err != nil {
				return err
			}
			who, err := k.principal(as, roles)
			if err != nil {
				return err
			}
			e, err := k.explain(who, project, args[0])
			if err != nil {
				return err
			}
			return e.write(cmd.OutOrStdout(), out)
		},
	}
	flags.add(cmd)
	out.AddFlag(cmd)
	cmd.Flags().StringVar(&as, "as", "", "principal: local, or the name of an API key")
	cmd.Flags().StringSliceVar(&roles, "role", nil, "additional role (repeatable)")
	target.ProjectFlag(cmd, &project)
	cmd.ValidArgsFunction = target.CompleteItems(func(i *status.Items) []status.Item {
		return slices.Concat(i.Tools, i.Prompts, i.Resources, i.Templates)
	})
	_ = cmd.RegisterFlagCompletionFunc("as", completeWho(&flags.config)) // cannot fail: the flag exists
	_ = cmd.RegisterFlagCompletionFunc("role", completeRoles(&flags.config))
	return cmd
}

// Explain explains whether a principal of a running gateway may use an item, as policy explain does: who is the value of
// --as. The text may have several lines.
func Explain(ctx context.Context, source status.Source, who, item string) (string, error) {
	var text, findings strings.Builder
	k, err := inspectRunning(ctx, source, &findings)
	if printed, ok := errors.AsType[*command.Error](err); ok && printed.Err == nil {
		return "", errors.New("the configuration file is not valid now:\n" + findings.String())
	}
	if err != nil {
		return "", err
	}
	principal, err := k.principal(who, nil)
	if err != nil {
		return "", err
	}
	e, err := k.explain(principal, "", item)
	if err != nil {
		return "", err
	}
	e.print(&text)
	return text.String(), nil
}

// principal returns the principal that --as (the parameter as) selects, with additional roles. If there are additional
// roles, --as may be missing or name a key that does not exist yet.
func (k *inspection) principal(as string, roles []string) (*identity.Principal, error) {
	for _, role := range roles {
		if _, there := k.policy.Role(role); !there {
			hint := "use one of: " + strings.Join(k.policy.Roles(), ", ")
			if near := config.Nearest(role, k.policy.Roles()); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, command.UsageError(hint, "unknown role %q", role)
		}
	}
	if as == "" || as == identity.LocalID {
		who := *identity.Local
		who.Rights = k.policy.Rights(roles, "", as != "")
		return &who, nil
	}
	name := strings.TrimPrefix(as, "key:")
	var names []string
	for _, key := range k.keys {
		names = append(names, key.Name)
		if key.Name != name {
			continue
		}
		if key.Expired(time.Now()) {
			return nil, command.Fail(command.ExitPeerError, fmt.Errorf("key %s has expired; it is rejected everywhere", terminal.OneLine(name, 100)), "create a new key with goblin-actor key new")
		}
		return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey, Projects: slugs(key.Projects),
			Rights: k.policy.Rights(append(slices.Clone(key.Roles), roles...), name, false)}, nil
	}
	if len(roles) > 0 { // a key that is yet to be created
		return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey, Rights: k.policy.Rights(roles, name, false)}, nil
	}
	hint := "run goblin-actor key list to see the keys; for a key that does not exist yet, add --role ROLE"
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, command.Fail(command.ExitFailed, fmt.Errorf("unknown key %q", terminal.OneLine(name, 100)), hint)
}

// slugs returns project names in canonical form. nil, which means all projects, stays nil.
func slugs(names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = namespace.Slug(names[i])
	}
	return names
}

// explanation says whether a principal may use an item, and why.
type explanation struct {
	Who       string        `json:"who"`
	Item      string        `json:"item"` // the item's name for clients
	Kind      string        `json:"kind"`
	Server    string        `json:"server"`
	Project   string        `json:"project,omitempty"`
	Permitted bool          `json:"permitted"`
	Reported  bool          `json:"reported,omitempty"` // only the policy denies the use, and its mode is report, so the use is not refused
	Reason    string        `json:"reason,omitempty"`   // set if something other than a role's rule decides, or if the principal has no role
	Roles     []roleVerdict `json:"roles"`
	Rate      string        `json:"rate,omitempty"`
}

type roleVerdict struct {
	Role      string `json:"role"`
	Permitted bool   `json:"permitted"`
	ruleRef
}

// explain evaluates the policy in the same way as the gateway does.
func (k *inspection) explain(who *identity.Principal, project, name string) (*explanation, error) {
	found, err := k.resolve(name)
	if err != nil {
		return nil, err
	}
	e := &explanation{Who: who.ID, Item: found.called, Kind: found.what, Server: found.Server, Project: project, Roles: []roleVerdict{},
		Rate: k.policy.Rate(who.Rights).String()}
	projects := []string{project}
	switch {
	case project == "" && who.Projects != nil: // the union of the key's projects
		projects = who.Projects
	case !who.May(project):
		e.Reason = "the key may not use the project " + project
		return e, nil
	}
	byPolicy := false
	for i, in := range projects {
		verdicts := k.verdicts(found, who.Rights, in)
		e.Reason, byPolicy = k.whyUnlisted(found, who.Rights, in)
		byPolicy = byPolicy || e.Reason == ""
		switch {
		case in != "" && k.projectOf(in) == nil:
			e.Reason, byPolicy = "the key's project "+in+" does not exist", false
		case !k.shows(in, found):
			e.Reason, byPolicy = "it is not part of the project "+in, false
		}
		if e.Permitted = policy.Permitted(verdicts) && e.Reason == ""; !e.Permitted && i < len(projects)-1 {
			continue
		}
		for _, v := range verdicts {
			e.Roles = append(e.Roles, roleVerdict{v.Role, v.Permitted, k.where(v.Role, v.Rule)})
		}
		break
	}
	if !e.Permitted && e.Reason == "" && slices.ContainsFunc(found.uris, filter.Odd) {
		e.Reason = "its server may resolve it to another URI, because it contains dot segments or an encoded slash or backslash; roles with rules for resources do not permit such a URI"
	}
	if who.Rights == policy.NoRoles && byPolicy {
		e.Reason = who.ID + " has no role"
	}
	e.Reported = byPolicy && !e.Permitted && k.policy.Reports()
	return e, nil
}

// write prints the decision. If it is a denial, the returned error only sets the exit code.
func (e *explanation) write(w io.Writer, out output.Format) error {
	if out == output.Table {
		e.print(w)
	} else {
		raw, err := json.Marshal(e)
		if err == nil {
			err = out.Write(w, raw)
		}
		if err != nil {
			return err
		}
	}
	if !e.Permitted {
		return &command.Error{Code: command.ExitPeerError} // the decision has been printed
	}
	return nil
}

func (e *explanation) print(w io.Writer) {
	word := "denied"
	if e.Permitted {
		word = "permitted"
	}
	in := ""
	if e.Project != "" {
		in = " in project " + e.Project
	}
	fmt.Fprintf(w, "%s: %s %s of %s, for %s%s\n", word, e.Kind, terminal.OneLine(e.Item, 0), terminal.OneLine(e.Server, 0), terminal.OneLine(e.Who, 0), in)
	if e.Reason != "" {
		fmt.Fprintf(w, "  %s\n", terminal.OneLine(e.Reason, 0))
	}
	for _, r := range e.Roles {
		word := "does not permit"
		if r.Permitted {
			word = "permits"
		}
		fmt.Fprintf(w, "  role %s %s it: %s\n", r.Role, word, r.ruleRef)
	}
	if e.Permitted && e.Rate != "" {
		fmt.Fprintf(w, "  at a rate of at most %s\n", e.Rate)
	}
	if !e.Permitted && e.Reported {
		fmt.Fprintln(w, "  the policy's mode is report: the use is not refused, but logged")
	}
}

// place returns the position of the rule, for example "(goblin.yaml:12)".
func (r ruleRef) place() string { return fmt.Sprintf("(%s:%d)", r.File, r.Line) }
