package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/form"
)

// Results of an elicitation request.
var (
	accepted  = json.RawMessage(`{"action":"accept"}`)
	declined  = json.RawMessage(`{"action":"decline"}`)
	dismissed = json.RawMessage(`{"action":"cancel"}`)
)

// errRejected is the response to a declined sampling request. MCP 2025-11-25, client/sampling.
var errRejected = &client.RPCError{Code: client.CodeRejected, Message: "User rejected sampling request"}

// fillIn answers a form from flags or by asking the user. If that is not possible, it declines.
func (a *answerer) fillIn(ctx context.Context, ask form.Elicitation) (json.RawMessage, error) {
	f, err := form.ParseForm(ask.Schema)
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	values, faults := a.fromFlags(f)
	unasked := len(values) > 0 || a.yes && !a.decline // the flags answer the form, so the user is asked only about errors and missing values
	byHand := a.person != nil && (len(faults) > 0 || len(f.Missing(values)) > 0 || !unasked)
	switch {
	case byHand:
		return a.ask(ctx, func(d *questioner) (json.RawMessage, error) {
			d.heading(a.about, ask.Message)
			for _, fault := range faults {
				d.Print("%s\n", fault)
			}
			return d.fillIn(ctx, f, values)
		})
	case len(faults) > 0:
		a.report(ask.Message, "declined: "+strings.Join(faults, "; "), "")
		return declined, nil
	}
	values = withDefaults(f, values)
	missing := f.Missing(values)
	if len(missing) > 0 || !unasked {
		hint := a.yesHint() + " to accept"
		if len(missing) > 0 {
			hint = "use --answer " + strings.Join(missing, "=… --answer ") + "=…"
		}
		a.report(ask.Message, "declined without asking (no terminal, or --decline)", hint)
		return declined, nil
	}
	return accept(f, values), nil
}

func accept(f form.Fields, values map[string]json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"action":"accept","content":`), f.Content(values)...), '}')
}

// fromFlags returns the values that flags set for fields of the form, and the errors in these values.
func (a *answerer) fromFlags(f form.Fields) (values map[string]json.RawMessage, faults []string) {
	values = map[string]json.RawMessage{}
	for i := range f {
		one := &f[i]
		value, ok := a.fields[one.Name]
		var err error
		if ok {
			err = one.Check(value)
		} else if text, given := a.texts[one.Name]; given {
			ok = true
			value, err = one.Read(text)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("--answer %s: %v", terminal.OneLine(one.Name, 40), err))
		} else if ok {
			values[one.Name] = value
		}
	}
	return values, faults
}

// withDefaults adds the form's defaults to values.
func withDefaults(f form.Fields, values map[string]json.RawMessage) map[string]json.RawMessage {
	for i := range f {
		if _, ok := values[f[i].Name]; ok {
			continue
		}
		if value, ok := f[i].ByDefault(); ok {
			values[f[i].Name] = value
		}
	}
	return values
}

// visit agrees to visit a URL only if the user agrees or --yes is set. It never opens the URL.
func (a *answerer) visit(ctx context.Context, ask form.Elicitation) (json.RawMessage, error) {
	u, err := ask.Page()
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	switch {
	case a.yes && !a.decline:
		a.report(ask.Message, "agreed to visit "+u.String(), "")
		return accepted, nil
	case a.person != nil:
		return a.ask(ctx, func(d *questioner) (json.RawMessage, error) {
			d.heading(a.about, ask.Message)
			return d.visit(ctx, u)
		})
	}
	a.report(ask.Message, "declined to visit "+u.String(), a.yesHint()+" to agree; no page is opened")
	return declined, nil
}

// yesHint says to use --yes. --decline would take precedence over it.
func (a *answerer) yesHint() string {
	if a.decline {
		return "use --yes instead of --decline"
	}
	return "use --yes"
}

// sample answers a sampling request from --say or by asking the user. If that is not possible, it declines.
func (a *answerer) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	ask, err := parseSampling(params)
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	if text, ok := a.nextSaid(); ok {
		return spoken(text), nil
	}
	if a.person == nil {
		a.report(ask.last(), "sampling declined", `use --say "…" to respond`)
		return nil, errRejected
	}
	return a.ask(ctx, func(d *questioner) (json.RawMessage, error) { return d.sample(ctx, a.about, ask) })
}

func (a *answerer) nextSaid() (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said >= len(a.say) {
		return "", false
	}
	a.said++
	return a.say[a.said-1], true
}

// listRoots returns the roots given with --root. Without this flag, it returns the current directory if a user or
// another flag answers requests and --decline is not set, otherwise an empty list. It reports the roots on stderr.
func (a *answerer) listRoots() (json.RawMessage, error) {
	list := a.roots
	if len(list) == 0 && !a.decline && (a.person != nil || a.yes || len(a.given)+len(a.say) > 0) {
		here, err := rootURI(".")
		if err != nil {
			return nil, err
		}
		list = []string{here}
	}
	type root struct {
		URI string `json:"uri"`
	}
	roots := []root{}
	for _, uri := range list {
		roots = append(roots, root{uri})
	}
	a.bar.Aside(func() {
		fmt.Fprintf(a.errOut, "roots sent to %s: %s\n", terminal.OneLine(a.about, 80), cmp.Or(strings.Join(list, " "), "none (use --root DIR to send one)"))
	})
	return json.Marshal(map[string]any{"roots": roots})
}

// ask runs do with exclusive use of the terminal. If ctx has ended when do returns, ask returns context.Cause(ctx)
// instead of the result.
func (a *answerer) ask(ctx context.Context, do func(*questioner) (json.RawMessage, error)) (json.RawMessage, error) {
	if err := a.person.Begin(ctx); err != nil {
		return nil, err
	}
	defer a.person.End()
	a.bar.Pause()
	defer a.bar.Resume()
	answer, err := do(a.person)
	if cause := context.Cause(ctx); cause != nil {
		a.person.Print("\n")
		if !errors.Is(cause, command.ErrInterrupted) {
			a.person.Print("%s\n", terminal.Clean(cause.Error()))
		}
		return nil, cause
	}
	return answer, err
}

// report reports on stderr what was answered without asking the user.
func (a *answerer) report(question, answer, hint string) {
	a.bar.Aside(func() {
		fmt.Fprintf(a.errOut, "%s asks %q: %s\n", terminal.OneLine(a.about, 80), terminal.OneLine(question, 200), terminal.OneLine(answer, 400))
		if hint != "" {
			fmt.Fprintf(a.errOut, "hint: %s\n", terminal.OneLine(hint, 200))
		}
	})
}
