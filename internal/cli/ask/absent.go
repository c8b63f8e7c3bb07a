package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/status"
)

// absentTime is for the picture that is looked at; a command that asks for something else does not wait longer.
const absentTime = time.Second

// absent returns the servers that the running gateway has and of whose offer it knows nothing: they are starting for the first
// time, or cannot. Nil when that cannot be found out, which is no fault of a command that asks for something else.
func (f *gatewayFlags) absent(ctx context.Context) []status.Server {
	if f.config != "" {
		return nil
	}
	socket, err := target.AdminSocket(f.address, os.Getenv)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, absentTime)
	defer cancel()
	source, err := admin.Dial(socket)
	if err != nil {
		return nil
	}
	s, err := source.Status(ctx)
	if err != nil {
		return nil
	}
	return absentOf(s, f.project)
}

// absentOf are those among the servers that a project shows; "" = all.
func absentOf(s *status.Snapshot, project string) []status.Server {
	var out []status.Server
	for _, v := range s.Servers {
		switch message.Phase(v.State) {
		case message.Ready, message.Disabled, message.Draining, message.Stopped:
			continue
		}
		shown := project == "" || slices.ContainsFunc(s.Projects, func(p status.Project) bool {
			return p.Name == project && slices.Contains(p.Servers, v.Name)
		})
		if shown && v.OffersNothing() && v.CachedSince.IsZero() {
			out = append(out, v)
		}
	}
	return out
}

// tellAbsent says which servers a list is without, so that nobody takes it for the whole. server is the only one that was
// asked for; "" = all.
func (f *gatewayFlags) tellAbsent(ctx context.Context, w io.Writer, server string) {
	var names []string
	hint := "goblin-actor status says why"
	for _, v := range f.absent(ctx) {
		if server == "" || v.Name == server {
			if v.State == "needs-login" && strings.HasPrefix(v.Hint, "log in: ") {
				hint = v.Hint
			}
			names = append(names, fmt.Sprintf("%s (%s)", terminal.OneLine(v.Name, 40), v.State))
		}
	}
	if len(names) == 0 {
		return
	}
	p := terminal.PaletteFor(w)
	fmt.Fprintf(w, "%s it is without %s\n%s %s\n", p.Warn("note:"), terminal.Names(names), p.Good("hint:"), terminal.OneLine(program.Hint(hint), 100))
}

// absentHint says of a tool or prompt that nobody knows why the server that its name begins with is not there; "" when err is
// something else, or there is none.
func (f *gatewayFlags) absentHint(ctx context.Context, err error) string {
	rpc, ok := errors.AsType[*client.RPCError](err)
	if !ok || rpc.Name() != "TOOL_NOT_FOUND" && rpc.Name() != "PROMPT_NOT_FOUND" {
		return ""
	}
	_, name, _ := strings.Cut(rpc.Message, " not found: ")
	for _, v := range f.absent(ctx) {
		if strings.HasPrefix(name, v.Name+"_") {
			why := terminal.OneLine(v.Name, 0) + " is " + v.State
			if v.Reason != "" {
				why += ": " + terminal.OneLine(v.Reason, 200)
			}
			return why + "\ngoblin-actor doctor " + terminal.OneLine(v.Name, 0) + " says what to do"
		}
	}
	return ""
}
