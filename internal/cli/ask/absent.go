package ask

import (
	"context"
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
	"goblin-actor/internal/status"
)

// absentTime limits the status request. The command works without its result.
const absentTime = time.Second

// absent returns the servers of the running gateway whose items are unknown, for example because they are starting for
// the first time, failed to start, or need a login. It returns nil with --config, or if the status is unavailable.
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

// absentOf returns the absent servers in the project. If project is "", it returns all absent servers.
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

// tellAbsent prints which servers are missing from a list. server is the only requested server; "" = all.
func (f *gatewayFlags) tellAbsent(ctx context.Context, w io.Writer, server string) {
	var names []string
	hint := "run goblin-actor status to see the reason"
	for _, v := range f.absent(ctx) {
		if server == "" || v.Name == server {
			if v.State == "needs-login" && strings.HasPrefix(v.Hint, status.LoginHint) {
				hint = v.Hint
			}
			names = append(names, fmt.Sprintf("%s (%s)", terminal.OneLine(v.Name, 40), v.State))
		}
	}
	if len(names) == 0 {
		return
	}
	p := terminal.PaletteFor(w)
	fmt.Fprintf(w, "%s not included: %s\n%s %s\n", p.Warn("note:"), terminal.Names(names), p.Good("hint:"), terminal.OneLine(program.Hint(hint), 100))
}

// absentHint explains an unknown tool or prompt whose name starts with the name of an absent server. Otherwise it
// returns "".
func (f *gatewayFlags) absentHint(ctx context.Context, err error) string {
	_, name, found := notFound(err)
	if !found {
		return ""
	}
	for _, v := range f.absent(ctx) {
		if strings.HasPrefix(name, v.Name+"_") {
			why := "server " + terminal.OneLine(v.Name, 0) + " is not ready (" + v.State + ")"
			if v.Reason != "" {
				why += ": " + terminal.OneLine(v.Reason, 200)
			}
			return why + "\nrun goblin-actor doctor " + terminal.OneLine(v.Name, 0) + " to find the cause"
		}
	}
	return ""
}
