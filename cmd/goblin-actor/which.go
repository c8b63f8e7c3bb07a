package main

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
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// One rule says which gateway a command means: --connect, else $GOBLIN_CONNECT, else the only one that runs here, else the
// default port. Client commands want its URL, admin commands its socket.

// connectVariable is what stands for --connect where the flag is missing.
const connectVariable = "GOBLIN_CONNECT"

// whichHelp says so in the help of each command.
const whichHelp = " (default: $" + connectVariable + ", the only one that runs here, " + client.DefaultAddress + ")"

func connectFlag(cmd *cobra.Command, connect *string) {
	cmd.Flags().StringVar(connect, "connect", "", "the running gateway: its port, loopback address or admin socket"+whichHelp)
}

// named returns the gateway that the flag or the variable names, and which of the two did; "" = neither.
func named(connect string, getenv func(string) string) (address, by string) {
	if connect != "" {
		return connect, "--connect"
	}
	if address := getenv(connectVariable); address != "" {
		return address, "$" + connectVariable
	}
	return "", ""
}

// endpoint returns the address of the MCP endpoint that a client command means, as client.Dial takes it.
func endpoint(connect string, getenv func(string) string) (string, error) {
	address, by := named(connect, getenv)
	if address != "" {
		if _, err := client.ParseAddress(address); err != nil {
			return "", usageError("like --connect 8730, --connect host:8730 or --connect http://host:8730/mcp", "%s: %w", by, err)
		}
		return address, nil
	}
	live, err := liveSockets(getenv)
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
	local := net.JoinHostPort("127.0.0.1", portOf(socket))
	if conn, err := net.DialTimeout("tcp", local, time.Second); err == nil {
		_ = conn.Close()
		return local
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	if s, err := admin.Fetch(ctx, socket); err == nil && len(s.Listen) > 0 {
		return s.Listen[0]
	}
	return local
}

// adminSocket returns the path of the admin socket that an admin command means.
func adminSocket(connect string, getenv func(string) string) (string, error) {
	connect, by := named(connect, getenv)
	if connect == "" {
		return onlySocket(getenv)
	}
	if strings.HasSuffix(connect, ".sock") || strings.HasPrefix(connect, "/") || strings.HasPrefix(connect, ".") || filepath.IsAbs(connect) {
		return connect, nil
	}
	u, err := client.ParseAddress(connect)
	if err != nil {
		return "", usageError("like --connect 8730 or --connect /run/user/1000/goblin-actor/8730.sock", "%s: %w", by, err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", usageError("forward its admin socket with ssh -L and give the path to --connect", "%s is another machine; its admin socket cannot be asked from here", u.Host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", usageError("like --connect 8730", "%s %q names no port", by, connect)
	}
	path, err := status.SocketPath(port, getenv)
	if err != nil {
		return "", &exitError{exitFailed, err, ""}
	}
	return path, nil
}

// onlySocket returns the admin socket of the only gateway that runs here.
func onlySocket(getenv func(string) string) (string, error) {
	live, err := liveSockets(getenv)
	switch {
	case err != nil:
		return "", err
	case len(live) == 0:
		return "", &exitError{exitUnreachable, errors.New("no gateway runs here: there is no admin socket that answers"), startHint(getenv)}
	case len(live) > 1:
		return "", several(live)
	}
	return live[0], nil
}

// liveSockets returns the admin sockets somebody answers on: a gateway that was killed leaves its file behind.
func liveSockets(getenv func(string) string) ([]string, error) {
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
		names[i] = "--connect " + portOf(path) + "  (" + path + ")"
	}
	return usageError(strings.Join(names, "\n"), "%d gateways run here; say which one", len(live))
}

// portOf is the port that a socket is named by.
func portOf(socket string) string { return strings.TrimSuffix(filepath.Base(socket), ".sock") }

// answers reports whether somebody listens on a socket.
func answers(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// dialAdmin returns the gateway that --connect means.
func dialAdmin(connect string) (status.Source, error) {
	path, err := adminSocket(connect, os.Getenv)
	if err != nil {
		return nil, err
	}
	return admin.Dial(path)
}

// unreachable is the error of a gateway that does not answer on its admin socket.
func unreachable(err error) error {
	return &exitError{exitUnreachable, fmt.Errorf("no gateway answers: %w", err), startHint(os.Getenv)}
}

// startHint is the line that starts a gateway here.
func startHint(getenv func(string) string) string {
	path, ok := config.Find("", getenv)
	if !ok {
		return "start one with \"goblin-actor serve\": without a configuration it shows demo servers"
	}
	return "start one with \"goblin-actor serve\": it takes " + path
}
