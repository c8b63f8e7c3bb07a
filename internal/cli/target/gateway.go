package target

import (
	"context"
	"os"
	"strings"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// Gateway is a gateway running on this machine.
type Gateway struct {
	Source status.Source
	Status *status.Snapshot
	socket string
}

// Name returns a description of the gateway for messages.
func (g *Gateway) Name() string {
	if len(g.Status.Listen) > 0 {
		return "the gateway on " + terminal.OneLine(strings.Join(g.Status.Listen, ", "), 200)
	}
	return "the gateway of " + g.socket
}

// RunsWith reports whether the gateway uses the configuration file path.
func (g *Gateway) RunsWith(path string) bool { return program.SameFile(g.Status.Config, path) }

// Gateways returns the gateway that connect or $GOBLIN_CONNECT names, otherwise all gateways running on this machine.
// It omits gateways that do not answer, unless one was named: then it returns an error.
func Gateways(ctx context.Context, connect string) ([]*Gateway, error) {
	var sockets []string
	address, _ := named(connect, os.Getenv)
	if address != "" {
		socket, err := AdminSocket(address, os.Getenv)
		if err != nil {
			return nil, err
		}
		sockets = []string{socket}
	} else {
		sockets, _ = LiveSockets(os.Getenv) // without a directory for sockets no gateway runs
	}
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var list []*Gateway
	for _, socket := range sockets {
		source, err := admin.Dial(socket)
		var s *status.Snapshot
		if err == nil {
			s, err = source.Status(ctx)
		}
		switch {
		case err == nil:
			list = append(list, &Gateway{Source: source, Status: s, socket: socket})
		case address != "":
			return nil, Unreachable(err)
		}
	}
	return list, nil
}
