package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// A command uses the gateway that --connect names, otherwise the one that $GOBLIN_CONNECT names, otherwise the only one
// running on this machine, otherwise the one on the default port. Client commands need its URL, admin commands its
// socket. Admin commands do not use the default port.

// ConnectVariable is the environment variable used if --connect is missing.
const ConnectVariable = "GOBLIN_CONNECT"

// WhichHelp describes in the help of client commands which gateway they use.
const WhichHelp = " (default: $" + ConnectVariable + ", else the only gateway running here, else " + client.DefaultAddress + ")"

// ConnectFlag adds --connect to a command that uses the admin socket.
func ConnectFlag(cmd *cobra.Command, connect *string) {
	cmd.Flags().StringVar(connect, "connect", "", "running gateway: port, loopback address or admin socket (default: $"+ConnectVariable+", else the only gateway running here)")
}

// named returns the gateway that the flag or the variable names, and the name of that flag or variable. It returns ""
// if neither is set.
func named(connect string, getenv func(string) string) (address, by string) {
	if connect != "" {
		return connect, "--connect"
	}
	if address := getenv(ConnectVariable); address != "" {
		return address, "$" + ConnectVariable
	}
	return "", ""
}

// Endpoint returns the address of the MCP endpoint for a client command, in the form that client.Dial accepts.
func Endpoint(connect string, getenv func(string) string) (string, error) {
	address, by := named(connect, getenv)
	if address != "" {
		if _, err := client.ParseAddress(address); err != nil {
			return "", command.UsageError("pass a port, an address or a URL: --connect 8730, --connect host:8730 or --connect http://host:8730/mcp", "%s: %w", by, err)
		}
		return address, nil
	}
	live, err := LiveSockets(getenv)
	switch {
	case err != nil || len(live) == 0:
		return client.DefaultAddress, nil // no gateway runs, or it has no socket; if the request fails, the error names the address
	case len(live) > 1:
		return "", several(live)
	}
	return addressOf(live[0]), nil
}

// addressOf returns the address on which the gateway of an admin socket accepts clients: 127.0.0.1 with the socket's
// port if a connection succeeds, otherwise the first address that the gateway reports.
func addressOf(socket string) string {
	local := net.JoinHostPort("127.0.0.1", Port(socket))
	if conn, err := net.DialTimeout("tcp", local, time.Second); err == nil {
		_ = conn.Close()
		return local
	}
	ctx, cancel := context.WithTimeout(context.Background(), RequestTimeout)
	defer cancel()
	if s, err := admin.Fetch(ctx, socket); err == nil && len(s.Listen) > 0 {
		return s.Listen[0]
	}
	return local
}

// AdminSocket returns the path of the admin socket for an admin command. If connect includes the value of --node, the result is the address
// that admin.AddressOf makes of the path and the node.
func AdminSocket(connect string, getenv func(string) string) (string, error) {
	connect, node := admin.SplitAddress(connect)
	path, err := socketOf(connect, getenv)
	return admin.AddressOf(path, node), err
}

func socketOf(connect string, getenv func(string) string) (string, error) {
	connect, by := named(connect, getenv)
	if connect == "" {
		return onlySocket(getenv)
	}
	if strings.HasSuffix(connect, ".sock") || strings.HasPrefix(connect, "/") || strings.HasPrefix(connect, ".") || filepath.IsAbs(connect) {
		return connect, nil
	}
	u, err := client.ParseAddress(connect)
	if err != nil {
		return "", command.UsageError("pass a port or the path of a socket: --connect 8730 or --connect /run/user/1000/goblin-actor/8730.sock", "%s: %w", by, err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", command.UsageError("forward its admin socket to a local path with ssh -L, and pass the local path to --connect", "%s is another machine; its admin socket is not reachable from here", u.Host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", command.UsageError("add the port, for example --connect 8730", "%s %q has no port", by, connect)
	}
	path, err := status.SocketPath(port, getenv)
	if err != nil {
		return "", command.Fail(command.ExitFailed, err, "")
	}
	return path, nil
}

// onlySocket returns the admin socket of the only gateway running on this machine.
func onlySocket(getenv func(string) string) (string, error) {
	live, err := LiveSockets(getenv)
	switch {
	case err != nil:
		return "", err
	case len(live) == 0:
		return "", command.Fail(command.ExitUnreachable, errors.New("no gateway is running on this machine: no admin socket answers"), StartHint(getenv))
	case len(live) > 1:
		return "", several(live)
	}
	return live[0], nil
}

// LiveSockets returns the admin sockets that accept a connection. A killed gateway leaves its socket file behind.
func LiveSockets(getenv func(string) string) ([]string, error) {
	all, err := status.Sockets(getenv)
	if err != nil {
		return nil, err
	}
	var live []string
	for _, path := range all {
		if answers(path) {
			live = append(live, path)
		}
	}
	return live, nil
}

// several returns the error for a command that cannot choose among several running gateways.
func several(live []string) error {
	names := make([]string, len(live))
	for i, path := range live {
		names[i] = "--connect " + Port(path) + "  (" + path + ")"
	}
	return command.UsageError(strings.Join(names, "\n"), "%d gateways are running on this machine; specify one", len(live))
}

// Port returns the port in the name of a socket file.
func Port(socket string) string { return strings.TrimSuffix(filepath.Base(socket), ".sock") }

// answers reports whether a process listens on the socket.
func answers(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// DialAdmin returns the admin interface of the gateway that connect names; see AdminSocket.
func DialAdmin(connect string) (status.Source, error) {
	path, err := AdminSocket(connect, os.Getenv)
	if err != nil {
		return nil, err
	}
	return admin.Dial(path)
}

// Unreachable returns the error for a gateway that does not answer on its admin socket.
func Unreachable(err error) error {
	return command.Fail(command.ExitUnreachable, fmt.Errorf("no gateway answers: %w", err), StartHint(os.Getenv))
}

// StartHint explains how to start a gateway here.
func StartHint(getenv func(string) string) string {
	path, ok := config.Find("", getenv)
	if !ok {
		return "start one with \"goblin-actor serve\"; without a configuration it runs demo servers"
	}
	return "start one with \"goblin-actor serve\"; it uses " + path
}

// UnknownServer returns the error for a server name that is not in names.
func UnknownServer(name string, names []string) error {
	hint := terminal.UseOneOf(names)
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("no server %q", name), hint)
}

// RequestTimeout limits a request to the admin socket.
const RequestTimeout = 10 * time.Second
