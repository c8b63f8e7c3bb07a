package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// NewDescribe returns the describe command.
func NewDescribe() *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	cmd := &cobra.Command{
		Use:   "describe TOOL|PROMPT|URI",
		Short: "Print the definition of a tool, prompt, resource or resource template",
		Long: `Print the definition of a tool, prompt, resource or resource template. Use its public name, SERVER/NAME or SERVER:NAME. If no other
item has the same name at its server, NAME alone is sufficient. -o json and -o yaml print the definition as the gateway
lists it.`,
		Example: "  goblin-actor describe files_read_text_file\n  goblin-actor describe resource://notes/note:///welcome -o json",
		Args:    command.Args(1, 1, "a tool name, a prompt name or a URI"),
		ValidArgsFunction: target.CompleteItems(func(i *status.Items) []status.Item {
			return slices.Concat(i.Tools, i.Prompts, i.Resources, i.Templates)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				found, err := findDescribed(ctx, c, args[0])
				if err != nil {
					return err
				}
				if out != output.Table {
					return out.Write(cmd.OutOrStdout(), found.item.Raw)
				}
				return printDefinition(cmd.OutOrStdout(), found)
			})
		},
	}
	gateway.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// described is a listed item and its kind.
type described struct {
	kind protocol.ItemKind
	item protocol.Item
}

// public returns the name, URI or template text that clients use.
func (d described) public() string {
	switch d.kind {
	case protocol.Resources:
		return field(d.item, d.item.URI)
	case protocol.Templates:
		return field(d.item, d.item.URITemplate)
	}
	return field(d.item, d.item.Name)
}

// match returns how well a name matches the item: 2 for the public name, 1 for the name that the server uses, alone or
// as SERVER/NAME or SERVER:NAME, and for the alternative spelling of a URI, 0 for no match.
func (d described) match(name string) int {
	own, server := meta(d.item, "goblin-actor/name"), serverOf(d.item)
	switch {
	case d.public() == name:
		return 2
	case own != "" && (own == name || name == server+"/"+own || name == server+":"+own), name == meta(d.item, "goblin-actor/id") && name != "":
		return 1
	}
	return 0
}

// whyHidden calls the gateway's describe_tool to learn why a tool is not listed. It returns "" if the gateway gives no
// reason.
func whyHidden(ctx context.Context, c *client.Client, name string) string {
	args, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return ""
	}
	raw, err := c.Call(ctx, "goblin_describe_tool", args, nil)
	if err != nil {
		return ""
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if json.Unmarshal(raw, &result) != nil || !result.IsError || len(result.Content) == 0 {
		return ""
	}
	_, why, found := strings.Cut(result.Content[0].Text, "(server ")
	if !found {
		return ""
	}
	return "server " + strings.TrimSuffix(why, ")")
}

// findDescribed finds an item in all lists by its public name, otherwise by another name that match accepts, if only
// one item has it.
func findDescribed(ctx context.Context, c *client.Client, name string) (described, error) {
	best := map[int][]described{}
	var names []string
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		items, err := c.List(ctx, kind)
		if err != nil {
			return described{}, err
		}
		for _, item := range items {
			d := described{kind, item}
			if fit := d.match(name); fit > 0 {
				best[fit] = append(best[fit], d)
			}
			if public := d.public(); len(public) <= meantBytes && len(names) < meantNames {
				names = append(names, public)
			}
		}
	}
	if found := cmp.Or(len(best[2]), -len(best[1])); found > 0 {
		return best[2][0], nil // the first kind in the lists, if a tool and a prompt have the same name
	} else if found == -1 {
		return best[1][0], nil
	} else if found < 0 {
		var publics []string
		for _, d := range best[1] {
			publics = append(publics, d.public())
		}
		return described{}, command.Fail(command.ExitFailed, fmt.Errorf("%d items are called %q by their servers", len(publics), terminal.OneLine(name, meantBytes)), "specify one: "+terminal.Names(publics))
	}
	if why := whyHidden(ctx, c, name); why != "" {
		return described{}, command.Fail(command.ExitFailed, fmt.Errorf("%q is not listed: %s", terminal.OneLine(name, meantBytes), terminal.OneLine(why, 0)), "run goblin-actor doctor to see all hidden tools; set tools: {invalid: show} to offer them unchanged")
	}
	hint := `run "goblin-actor list tools", "list prompts" or "list resources" to see the items`
	if near := config.Nearest(name, names); near != "" && len(name) <= meantBytes {
		hint = "did you mean " + terminal.OneLine(near, meantBytes) + "?"
	}
	return described{}, command.Fail(command.ExitFailed, fmt.Errorf("no item named %q", terminal.OneLine(name, meantBytes)), hint)
}

// definition is the part of an item that describe shows besides its names.
type definition struct {
	Title        string                     `json:"title"`
	Description  string                     `json:"description"`
	MIMEType     string                     `json:"mimeType"`
	Size         json.Number                `json:"size"`
	InputSchema  json.RawMessage            `json:"inputSchema"`
	OutputSchema json.RawMessage            `json:"outputSchema"`
	Annotations  map[string]json.RawMessage `json:"annotations"`
	Arguments    []promptArgument           `json:"arguments"`
}

// promptArgument is an argument that a prompt declares.
type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// readDefinition decodes the parts of an item that are valid. faults describes the errors in the others.
func readDefinition(raw []byte) (def definition, faults []string) {
	var members map[string]json.RawMessage
	if err := decode.JSON(raw, "the definition", &members); err != nil {
		return def, []string{err.Error()}
	}
	for _, one := range []struct {
		key string
		to  any
	}{{"title", &def.Title}, {"description", &def.Description}, {"mimeType", &def.MIMEType}, {"size", &def.Size}, {"inputSchema", &def.InputSchema},
		{"outputSchema", &def.OutputSchema}, {"annotations", &def.Annotations}, {"arguments", &def.Arguments}} {
		value, ok := members[one.key]
		if !ok || string(value) == "null" {
			continue
		}
		if err := decode.JSON(value, one.key+" in the definition", one.to); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return def, faults
}

// printDefinition prints an item for users. Text from the server is indented, so that it cannot imitate the command's
// own output.
func printDefinition(w io.Writer, d described) error {
	def, faults := readDefinition(d.item.Raw)
	input, err := form.ParseSchema(def.InputSchema)
	if err != nil {
		faults = append(faults, err.Error())
	}
	p := terminal.PaletteFor(w)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.Bold(terminal.OneLine(d.public(), 0)))
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-16s %s\n", key+":", terminal.OneLine(value, 0))
		}
	}
	line("kind", strings.TrimSuffix(d.kind.String(), "s"))
	line("server", serverOf(d.item))
	line("original name", meta(d.item, "goblin-actor/name"))
	line("title", def.Title)
	if d.kind >= protocol.Resources {
		line("name", field(d.item, d.item.Name))
	}
	line("type", def.MIMEType)
	line("size", def.Size.String())
	for _, key := range slices.Sorted(maps.Keys(def.Annotations)) {
		line(terminal.OneLine(key, 40), string(def.Annotations[key]))
	}
	if def.Description != "" {
		b.WriteString("description:\n" + terminal.Indent(def.Description))
	}
	switch d.kind {
	case protocol.Tools:
		if err == nil {
			writeArguments(&b, input)
		}
		if len(def.OutputSchema) > 0 {
			b.WriteString("returns structured content; -o json shows the schema\n")
		}
	case protocol.Prompts:
		for i, arg := range def.Arguments {
			if i == 0 {
				b.WriteString("arguments:\n")
			}
			writeArgument(&b, 1, arg.Name, "text", arg.Required, arg.Description)
		}
	}
	if why := meta(d.item, "goblin-actor/fault"); why != "" {
		faults = append(faults, why)
	}
	for _, fault := range faults {
		line("invalid", fault)
	}
	_, err = io.WriteString(w, b.String())
	return err
}
