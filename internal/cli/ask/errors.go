package ask

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/form"
	"goblin-actor/internal/pattern"
	"goblin-actor/protocol"
)

// failed adds an exit code and a hint to an error of the client. It returns a *command.Error unchanged.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*command.Error](err); ok {
		return err
	}
	if rpc, ok := errors.AsType[*client.RPCError](err); ok {
		return command.Fail(command.ExitPeerError, rpc, cmp.Or(pagesOf(rpc), problemsOf(rpc), overloadedHint(rpc), rpcHints[rpc.Name()], codeHints[rpc.Code]))
	}
	switch {
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, context.DeadlineExceeded):
		return command.Fail(command.ExitUnreachable, err, unreachableHint(err))
	case errors.Is(err, client.ErrSessionLost):
		return command.Fail(command.ExitFailed, err, "try again")
	}
	return err
}

// unreachableHint returns the hint for a gateway that cannot be reached. A TLS error shows that a gateway is running.
func unreachableHint(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use the host name in the gateway's certificate: --connect https://NAME:PORT"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "add the certificate, or the CA that issued it, to the system's trust store; on Linux, SSL_CERT_FILE=FILE also works"
	}
	if strings.Contains(err.Error(), protocol.SpeaksHTTPS) {
		return "use the host name in the gateway's certificate: --connect https://NAME:PORT, or set GOBLIN_CONNECT"
	}
	return target.StartHint(os.Getenv) + "\nuse --connect ADDR for another gateway, or --config FILE to start one for this command"
}

// pagesOf lists the pages that the server requires the user to visit before it executes the call, one per line. It
// returns "" for other errors. MCP 2025-11-25, client/elicitation, URL elicitation required.
func pagesOf(rpc *client.RPCError) string {
	var data struct {
		Elicitations []form.Elicitation `json:"elicitations"`
	}
	if rpc.Code != -32042 || json.Unmarshal(rpc.Data, &data) != nil {
		return ""
	}
	var lines []string
	for _, e := range data.Elicitations[:min(len(data.Elicitations), 10)] {
		lines = append(lines, "visit "+terminal.OneLine(e.URL, 1000)+" if you trust it, then repeat the call: "+terminal.OneLine(e.Message, 200))
	}
	return strings.Join(lines, "\n")
}

// limitNamed matches the configuration key with which a message names the limit that was reached.
var limitNamed = pattern.Lazy(`\((limits\.[A-Za-z]+)\)`)

// overloadedHint returns the hint for OVERLOADED. It depends on the limit that the message names. overloadedHint
// returns "" for other errors.
func overloadedHint(rpc *client.RPCError) string {
	limit := limitNamed().FindStringSubmatch(rpc.Message)
	switch {
	case rpc.Name() != "OVERLOADED":
		return ""
	case strings.Contains(rpc.Message, "(audit.required)"):
		return `run "goblin-actor status" to see why the audit log cannot be written; calls resume once it can`
	case limit != nil:
		return "try again later, or raise " + limit[1] + " in the gateway's configuration"
	case strings.Contains(rpc.Message, "subscriptions"):
		return "cancel some subscriptions, then subscribe again"
	}
	return "try again later"
}

// rpcHints are hints for errors of the gateway, by code name.
var rpcHints = map[string]string{
	"NEEDS_LOGIN":           `run "goblin-actor login SERVER" to log in`,
	"TOOL_NOT_FOUND":        `run "goblin-actor list tools" to see the tools`,
	"PROMPT_NOT_FOUND":      `run "goblin-actor list prompts" to see the prompts`,
	"RESOURCE_NOT_FOUND":    `run "goblin-actor list resources" and "goblin-actor list templates" to see the resources`,
	"AMBIGUOUS_URI":         `run "goblin-actor list resources" to see the full URIs`,
	"SERVER_UNAVAILABLE":    `run "goblin-actor status" to see the reason and the next attempt`,
	"NO_BACKENDS_AVAILABLE": `run "goblin-actor status" to see the reason`,
	"BACKEND_DISCONNECTED":  `before you repeat the call, check whether it was executed; run "goblin-actor status" to see the server's state`,
	"NODE_LOST":             "before you repeat the call, check whether it was executed",
	"QUEUE_FULL":            "try again later; too many calls are queued for this server",
	"QUEUE_TIMEOUT":         `run "goblin-actor status" to see whether the server is starting or has too many calls, then try again`,
	"TIMEOUT":               "raise `timeout` and `maxTimeout` in the configuration if the server needs more time",
	"SHUTTING_DOWN":         "try again when the gateway is running again",
	"UNKNOWN_PROJECT":       "define the project under `projects` in the gateway's configuration",
	"UNAUTHENTICATED":       "pass an API key with --key-file FILE or $GOBLIN_KEY; to create one, run goblin-actor key new NAME on the gateway's machine",
	"RATE_LIMITED":          "try again after the time in the message",
	"MESSAGE_TOO_LARGE":     "send less, or raise `limits.maxMessageBytes` in the gateway's configuration; a server may have a lower limit",
}

// codeHints are hints for errors of servers, by code number. These errors have no code name.
var codeHints = map[int]string{
	-32002: rpcHints["RESOURCE_NOT_FOUND"],
	-32601: `run "goblin-actor list servers" to see what each server offers`,
	-32602: `run "goblin-actor list tools -o json" or "list prompts -o json" to see the arguments`,
}
