package access

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/filter"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

func newPolicyCheck() *cobra.Command {
	var flags policyFlags
	var out output.Format
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what each role permits and which keys have it",
		Long: `Show what each role permits and which keys have it. Warnings report roles that no client has, patterns that match nothing in
the catalog, bindings that match no key, and keys with no role, an unknown role or an unknown project.`,
		Example: "  goblin-actor policy check\n  goblin-actor policy check --config goblin.yaml",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			k, err := flags.load(ctx, cmd)
			if err != nil {
				return err
			}
			checked := k.check()
			if out != output.Table {
				raw, err := json.Marshal(checked)
				if err != nil {
					return err
				}
				return out.Write(cmd.OutOrStdout(), raw)
			}
			return checked.print(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// policyCheck is the result of policy check.
type policyCheck struct {
	Mode     string        `json:"mode"`
	Roles    []checkedRole `json:"roles"`
	Warnings []string      `json:"warnings"`
}

type checkedRole struct {
	Role      string   `json:"role"`
	Keys      []string `json:"keys"`
	Local     bool     `json:"local"`
	Tools     int      `json:"tools"` // permitted tools, without the gateway's own
	Prompts   int      `json:"prompts"`
	Resources int      `json:"resources"`
	Templates int      `json:"templates"`
	Projects  []string `json:"projects,omitempty"`
	Rate      string   `json:"rate,omitempty"`
	ToolRate  string   `json:"toolRate,omitempty"`
}

func (k *inspection) check() policyCheck {
	c := policyCheck{Mode: k.cfg.Policy.Mode, Roles: []checkedRole{}, Warnings: []string{}}
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	for _, name := range k.policy.Roles() {
		role, _ := k.policy.Role(name)
		r := checkedRole{Role: name, Projects: role.Projects, Rate: role.Rate, ToolRate: role.ToolRate, Keys: []string{}}
		keys, local := k.holders(name)
		r.Keys, r.Local = append(r.Keys, keys...), local
		for i := range k.items {
			if it := k.items[i]; !it.Internal && k.permits(name, role.Projects, &it) {
				*[]*int{protocol.Tools: &r.Tools, protocol.Prompts: &r.Prompts, protocol.Resources: &r.Resources, protocol.Templates: &r.Templates}[it.Kind]++
			}
		}
		if len(r.Keys) == 0 && !r.Local {
			warn("no key has the role %s %s", name, k.where(name, policy.Rule{}).place())
		}
		for _, rule := range k.policy.Unmatched(name, k.servers(), k.items) {
			warn("role %s: %s matches nothing in the catalog", name, k.where(name, rule))
		}
		c.Roles = append(c.Roles, r)
	}
	for i, b := range k.cfg.Policy.Bind {
		for _, glob := range b.Keys {
			if !slices.ContainsFunc(k.keys, func(key auth.Key) bool { return filter.Glob(glob, key.Name) }) {
				_, line, _ := k.report.Where(fmt.Sprintf("policy.bind[%d]", i))
				warn("the role %s is bound to keys %q, but no key has a matching name (%s:%d)", b.Role, glob, k.cfg.Path, line)
			}
		}
	}
	for _, key := range k.keys {
		for _, role := range key.Roles {
			if _, there := k.policy.Role(namespace.Slug(role)); !there {
				warn("the key %s has the unknown role %s", key.Name, role)
			}
		}
		for _, project := range key.Projects {
			if k.projectOf(namespace.Slug(project)) == nil {
				warn("the key %s has the unknown project %s", key.Name, project)
			}
		}
		if k.policy.Rights(key.Roles, key.Name, false) == policy.NoRoles {
			warn("the key %s has no role, so it may do nothing", key.Name)
		}
	}
	return c
}

// permits reports whether a role permits an item in at least one of the projects to which the role is restricted. No
// projects means no restriction.
func (k *inspection) permits(role string, projects []string, it *policy.Item) bool {
	if len(projects) == 0 {
		projects = []string{""}
	}
	return slices.ContainsFunc(projects, func(project string) bool {
		return policy.Permitted(k.policy.Explain(role, project, it)) && k.inProject(project, it)
	})
}

func (c *policyCheck) print(out, errOut io.Writer) error {
	rows := make([][]string, len(c.Roles))
	for i, r := range c.Roles {
		who := slices.Clone(r.Keys)
		if len(who) > 5 {
			who = append(who[:5], fmt.Sprintf("and %d more", len(r.Keys)-5))
		}
		if r.Local {
			who = append(who, "(unauthenticated)")
		}
		rows[i] = []string{r.Role, fmt.Sprint(r.Tools), fmt.Sprint(r.Prompts), fmt.Sprint(r.Resources), fmt.Sprint(r.Templates), strings.Join(r.Projects, ", "), r.Rate, r.ToolRate,
			terminal.OneLine(strings.Join(who, ", "), 0)}
	}
	if c.Mode == "report" {
		fmt.Fprintln(errOut, "note: the policy's mode is report: nothing is refused; the log shows what would be refused")
	}
	if err := output.PrintTable(out, []string{"ROLE", "TOOLS", "PROMPTS", "RESOURCES", "TEMPLATES", "PROJECTS", "RATE", "TOOLRATE", "WHO"}, rows); err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(errOut, "warning: "+terminal.OneLine(w, 0))
	}
	return nil
}
