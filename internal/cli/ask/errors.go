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
	"goblin-actor/internal/pattern"
)

// failed gives an error of the client its exit code and a hint.
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

// unreachableHint is what one can do about a gateway that cannot be talked to. One that wants TLS otherwise than it was asked is there.
func unreachableHint(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "name it as its certificate does: --connect https://NAME:PORT"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "have the system trust the certificate or its authority; on Linux SSL_CERT_FILE=FILE does"
	}
	if strings.Contains(err.Error(), "speaks HTTPS") { // the gateway's own answer
		return "name it as its certificate does: --connect https://NAME:PORT, or GOBLIN_CONNECT"
	}
	return target.StartHint(os.Getenv) + "\nname another with --connect ADDR, or give --config FILE to start one for this command"
}

// pagesOf names the pages a server wants visited before it carries out the call, each in a line; "" = it wants none.
// MCP 2025-11-25, client/elicitation, URL elicitation required.
func pagesOf(rpc *client.RPCError) string {
	var data struct {
		Elicitations []elicitation `json:"elicitations"`
	}
	if rpc.Code != -32042 || json.Unmarshal(rpc.Data, &data) != nil {
		return ""
	}
	var lines []string
	for _, e := range data.Elicitations[:min(len(data.Elicitations), 10)] {
		lines = append(lines, "visit "+terminal.OneLine(e.URL, 1000)+" if you trust it, then call again: "+terminal.OneLine(e.Message, 200))
	}
	return strings.Join(lines, "\n")
}

// limitNamed matches the configuration key that a message names as the limit that was reached.
var limitNamed = pattern.Lazy(`\((limits\.[A-Za-z]+)\)`)

// overloadedHint is the hint for OVERLOADED, which has several causes; the message names the one at hand. "" = another error.
func overloadedHint(rpc *client.RPCError) string {
	limit := limitNamed().FindStringSubmatch(rpc.Message)
	switch {
	case rpc.Name() != "OVERLOADED":
		return ""
	case strings.Contains(rpc.Message, "(audit.required)"):
		return `"goblin-actor status" shows why the audit log cannot be written, for example because the disk is full; calls go on once it can`
	case limit != nil:
		return limit[1] + " in the gateway's configuration is the limit; try again when less is in progress, or raise it"
	case strings.Contains(rpc.Message, "subscriptions"):
		return "end some of them, then subscribe again"
	}
	return "the message names what there is too much of; try again later"
}

// rpcHints are what one can do about an error of the gateway, by its name.
var rpcHints = map[string]string{
	"NEEDS_LOGIN":           `"goblin-actor login SERVER" logs in from the shell, where the server has a login`,
	"TOOL_NOT_FOUND":        `"goblin-actor list tools" shows what there is`,
	"PROMPT_NOT_FOUND":      `"goblin-actor list prompts" shows what there is`,
	"RESOURCE_NOT_FOUND":    `"goblin-actor list resources" and "goblin-actor list templates" show what there is`,
	"AMBIGUOUS_URI":         `"goblin-actor list resources" shows the full URIs`,
	"SERVER_UNAVAILABLE":    `"goblin-actor status" shows why, and when it is tried again`,
	"NO_BACKENDS_AVAILABLE": `"goblin-actor status" shows why`,
	"BACKEND_DISCONNECTED":  `the call may have been executed; "goblin-actor status" shows the server`,
	"QUEUE_FULL":            "too many calls wait for this server; try again",
	"QUEUE_TIMEOUT":         `"goblin-actor status" shows whether the server still starts or has too many calls; try again`,
	"TIMEOUT":               "the server took too long; its timeout and maxTimeout are set in the configuration",
	"SHUTTING_DOWN":         "the gateway is going down; try again when it is back",
	"UNKNOWN_PROJECT":       "projects are written under projects: in the gateway's configuration",
	"UNAUTHENTICATED":       "give an API key with --key-file FILE or $GOBLIN_KEY; on the gateway's machine, goblin-actor key new NAME makes one",
	"RATE_LIMITED":          "too many requests in a short time; try again when the message says",
	"MESSAGE_TOO_LARGE":     "the gateway takes messages up to limits.maxMessageBytes of its configuration; a server may take less",
}

// codeHints are what one can do about an error of a server, which has a number only.
var codeHints = map[int]string{
	-32002: rpcHints["RESOURCE_NOT_FOUND"],
	-32601: "the server does not know this method",
	-32602: `"goblin-actor list tools -o json" and "list prompts -o json" show what each one takes`,
}
