package ask

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
)

// The hint for OVERLOADED matches the cause that the message names.
func TestOverloadedHintFitsItsCause(t *testing.T) {
	for message, want := range map[string]string{
		"the audit log cannot be written, and calls are refused without it (audit.required)": "audit log cannot be written",
		"too many calls in flight for this client (limits.maxInFlightPerClient)":             "limits.maxInFlightPerClient",
		"too many sessions, and all are in use (limits.maxSessions); try again later":        "limits.maxSessions",
		"the gateway's buffers are full (limits.maxBufferedBytes); the call was not sent":    "limits.maxBufferedBytes",
		"too many subscriptions in this session":                                             "cancel some subscriptions",
		"something else":                                                                     "try again later",
	} {
		err := failed(&client.RPCError{Code: -31010, Message: message, Data: []byte(`{"code":"OVERLOADED"}`)})
		if e, ok := errors.AsType[*command.Error](err); !ok || !strings.Contains(e.Hint, want) || strings.Contains(e.Hint, "of this client run") {
			t.Errorf("%s: hint %q, want one with %q", message, e.Hint, want)
		}
	}
}

// The hint is derived from the error's message. Therefore each message of an OVERLOADED error in the source that
// mentions limits must name a key of the configuration in parentheses.
func TestOverloadedMessagesNameTheirLimit(t *testing.T) {
	keys := map[string]bool{}
	for field := range reflect.TypeFor[config.Limits]().Fields() {
		keys["limits."+field.Tag.Get("key")] = true
	}
	limits, audits, subscriptions := 0, 0, 0
	for _, message := range overloadedMessages(t) {
		hint := overloadedHint(&client.RPCError{Message: message, Data: []byte(`{"code":"OVERLOADED"}`)})
		limit := limitNamed().FindStringSubmatch(message)
		switch {
		case limit != nil:
			limits++
			if !keys[limit[1]] || !strings.Contains(hint, " "+limit[1]+" ") {
				t.Errorf("%q: hint %q; is %s a key of the configuration?", message, hint, limit[1])
			}
		case strings.Contains(message, "limits"):
			t.Errorf("%q does not name the limit as (limits.KEY)", message)
		case strings.Contains(message, "audit"):
			audits++
			if !strings.Contains(hint, "audit log") {
				t.Errorf("%q: hint %q", message, hint)
			}
		case strings.Contains(message, "subscri"):
			subscriptions++
			if !strings.Contains(hint, "cancel some subscriptions") {
				t.Errorf("%q: hint %q", message, hint)
			}
		}
	}
	if limits < 8 || audits == 0 || subscriptions == 0 {
		t.Errorf("found %d messages about limits, %d about the audit log and %d about subscriptions: was the source restructured?", limits, audits, subscriptions)
	}
}

// overloadedMessages returns the message of each composite literal in the source that has a field with the value
// protocol.Overloaded. If a message consists of several string literals, they are joined.
func overloadedMessages(t *testing.T) []string {
	t.Helper()
	var messages []string
	inspect := func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		overloaded, message := false, ""
		for _, element := range literal.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if name, ok := field.Value.(*ast.SelectorExpr); ok && name.Sel.Name == "Overloaded" {
				overloaded = true
			}
			if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Message" {
				message = literalText(field.Value)
			}
		}
		if overloaded && message != "" {
			messages = append(messages, message)
		}
		return true
	}
	for _, dir := range []string{"actors", "internal/auth", "protocol/downstream"} {
		err := filepath.WalkDir(filepath.Join("../../..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				ast.Inspect(file, inspect)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

// literalText returns the text of the string literals in an expression.
func literalText(e ast.Expr) string {
	text := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			part, _ := strconv.Unquote(literal.Value)
			text += part
		}
		return true
	})
	return text
}
