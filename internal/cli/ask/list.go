package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// NewList returns the list command.
func NewList() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:     "list",
		Short:   "List tools, prompts, resources, templates or servers",
		Example: "  goblin-actor list tools\n  goblin-actor list resources -o json --connect 8731",
	})
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		cmd.AddCommand(newListKind(kind))
	}
	cmd.AddCommand(newListServers())
	return cmd
}

func newListKind(kind protocol.ItemKind) *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	about := kind.String()
	if kind == protocol.Templates {
		about = "resource templates"
	}
	cmd := &cobra.Command{
		Use:               kind.String() + " [SERVER]",
		Short:             "List the " + about + " of all servers or of one",
		Args:              command.Args(0, 1, "a server name"),
		ValidArgsFunction: target.CompleteServers(&gateway.connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				items, err := c.List(ctx, kind)
				if err != nil {
					return err
				}
				if len(args) > 0 {
					if items, err = itemsOf(items, args[0]); err != nil {
						return err
					}
				}
				if out != output.Table {
					return out.Write(cmd.OutOrStdout(), join(items))
				}
				defer gateway.tellAbsent(ctx, cmd.ErrOrStderr(), strings.Join(args, ""))
				return printItems(cmd.OutOrStdout(), kind, items)
			})
		},
	}
	gateway.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// itemsOf returns the items of one server. If there are none and the name of another server is similar, it returns an
// error. Otherwise the result may be empty, because the server is unknown or offers no items of this kind.
func itemsOf(items []protocol.Item, server string) ([]protocol.Item, error) {
	var names []string
	var of []protocol.Item
	for _, item := range items {
		name := serverOf(item)
		if name == server {
			of = append(of, item)
		} else if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if near := config.Nearest(server, names); len(of) == 0 && near != "" {
		return nil, target.UnknownServer(server, names)
	}
	return of, nil
}

// join returns the items as one JSON array.
func join(items []protocol.Item) []byte {
	raw := make([][]byte, len(items))
	for i := range items {
		raw[i] = items[i].Raw
	}
	return slices.Concat([]byte("["), bytes.Join(raw, []byte(",")), []byte("]"))
}

func printItems(w io.Writer, kind protocol.ItemKind, items []protocol.Item) error {
	if len(items) == 0 {
		_, err := fmt.Fprintf(w, "no %s\n", kind)
		return err
	}
	head := []string{"NAME", "SERVER", "DESCRIPTION"}
	if kind == protocol.Resources || kind == protocol.Templates {
		head = []string{"URI", "NAME", "TYPE", "SERVER", "DESCRIPTION"}
	}
	rows := make([][]string, len(items))
	for i, item := range items {
		about := terminal.OneLine(cmp.Or(field(item, item.Description), field(item, item.Title)), output.MaxCell)
		name, server := terminal.OneLine(field(item, item.Name), 0), terminal.OneLine(serverOf(item), 0)
		switch kind {
		case protocol.Resources:
			rows[i] = []string{terminal.OneLine(field(item, item.URI), 0), name, terminal.OneLine(field(item, item.MIMEType), 40), server, about}
		case protocol.Templates:
			rows[i] = []string{terminal.OneLine(field(item, item.URITemplate), 0), name, terminal.OneLine(field(item, item.MIMEType), 40), server, about}
		default:
			rows[i] = []string{name, server, about}
		}
	}
	return output.PrintTable(w, head, rows)
}

// field returns the string in a member of an item, or "" if the member is absent or not a string.
func field(item protocol.Item, span rawjson.Span) string {
	s, _ := rawjson.Unquote(span.Of(item.Raw))
	return s
}

// meta returns the string in a member of an item's _meta, or "" if the member is absent or not a string.
func meta(item protocol.Item, key string) string {
	if !item.Meta.Present() {
		return ""
	}
	s, _ := rawjson.Unquote(rawjson.Member(item.Raw, item.Meta, key).Of(item.Raw))
	return s
}

// serverOf returns the server that owns an item, or "" if the peer is not a goblin-actor gateway.
func serverOf(item protocol.Item) string { return meta(item, "goblin-actor/server") }

func newListServers() *cobra.Command {
	var gateway gatewayFlags
	var out output.Format
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the servers in the catalog with the number of items of each",
		Long:  "List the servers in the catalog with the number of items of each. \"goblin-actor status\" also lists servers without items.",
		Args:  command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return gateway.answered(cmd, func(ctx context.Context, c *client.Client) error {
				servers, err := listServers(ctx, c)
				if err != nil {
					return err
				}
				if out == output.Table {
					defer gateway.tellAbsent(ctx, cmd.ErrOrStderr(), "")
				}
				return printServers(cmd.OutOrStdout(), out, servers)
			})
		},
	}
	gateway.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// offers holds the number of a server's items of each kind.
type offers struct {
	Name      string `json:"name"`
	Tools     int    `json:"tools"`
	Prompts   int    `json:"prompts"`
	Resources int    `json:"resources"`
	Templates int    `json:"templates"`
}

// listServers counts the items of each server. The result is sorted by name.
func listServers(ctx context.Context, c *client.Client) ([]offers, error) {
	servers := map[string]*offers{}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		items, err := c.List(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			name := serverOf(item)
			s := servers[name]
			if s == nil {
				s = &offers{Name: name}
				servers[name] = s
			}
			*[]*int{&s.Tools, &s.Prompts, &s.Resources, &s.Templates}[kind]++
		}
	}
	list := []offers{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		list = append(list, *servers[name])
	}
	return list, nil
}

func printServers(w io.Writer, out output.Format, servers []offers) error {
	if out != output.Table {
		raw, err := json.Marshal(servers)
		if err != nil {
			return err
		}
		return out.Write(w, raw)
	}
	if len(servers) == 0 {
		_, err := fmt.Fprintln(w, "no servers")
		return err
	}
	rows := [][]string{}
	for _, s := range servers {
		rows = append(rows, []string{
			cmp.Or(terminal.OneLine(s.Name, 0), "(unnamed)"),
			strconv.Itoa(s.Tools), strconv.Itoa(s.Prompts), strconv.Itoa(s.Resources), strconv.Itoa(s.Templates),
		})
	}
	return output.PrintTable(w, []string{"SERVER", "TOOLS", "PROMPTS", "RESOURCES", "TEMPLATES"}, rows)
}
