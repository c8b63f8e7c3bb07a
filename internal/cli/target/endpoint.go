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

// One rule says which gateway a command means: --connect, else $GOBLIN_CONNECT, else the only one that runs here, else the
// default port. Client commands want its URL, admin commands its socket.

// ConnectVariable is what stands for --connect where the flag is missing.
const ConnectVariable = "GOBLIN_CONNECT"

// WhichHelp says so in the help of each command.
const WhichHelp = " (default: $" + ConnectVariable + ", the only one that runs here, " + client.DefaultAddress + ")"

func ConnectFlag(cmd *cobra.Command, connect *string) {
	cmd.Flags().StringVar(connect, "connect", "", "the running gateway: its port, loopback address or admin socket"+WhichHelp)
}

// named returns the gateway that the flag or the variable names, and which of the two did; "" = neither.
func named(connect string, getenv func(string) string) (address, by string) {
	if connect != "" {
		return connect, "--connect"
	}
	if address := getenv(ConnectVariable); address != "" {
		return address, "$" + ConnectVariable
	}
	return "", ""
}

// Endpoint returns the address of the MCP endpoint that a client command means, as client.Dial takes it.
func Endpoint(connect string, getenv func(string) string) (string, error) {
	address, by := named(connect, getenv)
	if address != "" {
		if _, err := client.ParseAddress(address); err != nil {
			return "", command.UsageError("like --connect 8730, --connect host:8730 or --connect http://host:8730/mcp", "%s: %w", by, err)
		}
		return address, nil
	}
	live, err := LiveSockets(getenv)
	switch {
	case err != nil || len(live) == 0:
		return client.DefaultAddress, nil // one without a socket, or nobody: then the error names the address
	case len(live) > 1:
		return "", several(live)
	}
	return reachedAt(live[0]), nil
}

// reachedAt returns where the gateway behind an admin socket takes clients: its port of this machine, or what it says itself.
func reachedAt(socket string) string {
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

// AdminSocket returns the path of the admin socket that an admin command means.
func AdminSocket(connect string, getenv func(string) string) (string, error) {
	connect, by := named(connect, getenv)
	if connect == "" {
		return onlySocket(getenv)
	}
	if strings.HasSuffix(connect, ".sock") || strings.HasPrefix(connect, "/") || strings.HasPrefix(connect, ".") || filepath.IsAbs(connect) {
		return connect, nil
	}
	u, err := client.ParseAddress(connect)
	if err != nil {
		return "", command.UsageError("like --connect 8730 or --connect /run/user/1000/goblin-actor/8730.sock", "%s: %w", by, err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", command.UsageError("forward its admin socket with ssh -L and give the path to --connect", "%s is another machine; its admin socket cannot be asked from here", u.Host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", command.UsageError("like --connect 8730", "%s %q names no port", by, connect)
	}
	path, err := status.SocketPath(port, getenv)
	if err != nil {
		return "", command.Fail(command.ExitFailed, err, "")
	}
	return path, nil
}

// onlySocket returns the admin socket of the only gateway that runs here.
func onlySocket(getenv func(string) string) (string, error) {
	live, err := LiveSockets(getenv)
	switch {
	case err != nil:
		return "", err
	case len(live) == 0:
		return "", command.Fail(command.ExitUnreachable, errors.New("no gateway runs here: there is no admin socket that answers"), StartHint(getenv))
	case len(live) > 1:
		return "", several(live)
	}
	return live[0], nil
}

// LiveSockets returns the admin sockets somebody answers on: a gateway that was killed leaves its file behind.
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

// several is the error of a command that could mean any of them.
func several(live []string) error {
	names := make([]string, len(live))
	for i, path := range live {
		names[i] = "--connect " + Port(path) + "  (" + path + ")"
	}
	return command.UsageError(strings.Join(names, "\n"), "%d gateways run here; say which one", len(live))
}

// Port is the port that a socket is named by.
func Port(socket string) string { return strings.TrimSuffix(filepath.Base(socket), ".sock") }

// answers reports whether somebody listens on a socket.
func answers(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// DialAdmin returns the gateway that --connect means.
func DialAdmin(connect string) (status.Source, error) {
	path, err := AdminSocket(connect, os.Getenv)
	if err != nil {
		return nil, err
	}
	return admin.Dial(path)
}

// Unreachable is the error of a gateway that does not answer on its admin socket.
func Unreachable(err error) error {
	return command.Fail(command.ExitUnreachable, fmt.Errorf("no gateway answers: %w", err), StartHint(os.Getenv))
}

// StartHint is the line that starts a gateway here.
func StartHint(getenv func(string) string) string {
	path, ok := config.Find("", getenv)
	if !ok {
		return "start one with \"goblin-actor serve\": without a configuration it shows demo servers"
	}
	return "start one with \"goblin-actor serve\": it takes " + path
}

// UnknownServer is the error of a name that is none of those.
func UnknownServer(name string, names []string) error {
	hint := "there are " + terminal.Names(names)
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("no server %q", name), hint)
}

// RequestTimeout is how long a gateway may take to tell how it is.
const RequestTimeout = 10 * time.Second
