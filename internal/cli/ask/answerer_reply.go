package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
)

// elicitation is a question to the user. MCP 2025-11-25, client/elicitation.
type elicitation struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// Answers to an elicitation.
var (
	accepted  = json.RawMessage(`{"action":"accept"}`)
	declined  = json.RawMessage(`{"action":"decline"}`)
	dismissed = json.RawMessage(`{"action":"cancel"}`)
)

// errRejected is the answer to sampling that nobody wants to do. MCP 2025-11-25, client/sampling.
var errRejected = &client.RPCError{Code: client.CodeRejected, Message: "User rejected sampling request"}

// fillIn answers a form: from flags as far as they go, then from the person, else not at all.
func (a *answerer) fillIn(ctx context.Context, ask elicitation) (json.RawMessage, error) {
	f, err := parseForm(ask.Schema)
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	values, faults := a.fromFlags(f)
	unasked := len(values) > 0 || a.yes && !a.decline // somebody wants it answered without a question
	byHand := a.person != nil && (len(faults) > 0 || len(f.missing(values)) > 0 || !unasked)
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
		a.tell(ask.Message, "declined: "+strings.Join(faults, "; "), "")
		return declined, nil
	}
	values = withDefaults(f, values)
	missing := f.missing(values)
	if len(missing) > 0 || !unasked {
		hint := "--yes agrees"
		if len(missing) > 0 {
			hint = "--answer " + strings.Join(missing, "=… --answer ") + "=…"
		}
		a.tell(ask.Message, "declined, as nobody can be asked here", hint)
		return declined, nil
	}
	return accept(f, values), nil
}

func accept(f form, values map[string]json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"action":"accept","content":`), f.content(values)...), '}')
}

// fromFlags collects what flags say of the form's fields, and what is wrong with it.
func (a *answerer) fromFlags(f form) (values map[string]json.RawMessage, faults []string) {
	values = map[string]json.RawMessage{}
	for i := range f {
		one := &f[i]
		value, ok := a.fields[one.name]
		var err error
		if ok {
			err = one.check(value)
		} else if text, given := a.texts[one.name]; given {
			ok = true
			value, err = one.read(text)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("--answer %s: %v", terminal.OneLine(one.name, 40), err))
		} else if ok {
			values[one.name] = value
		}
	}
	return values, faults
}

// withDefaults completes values in place by the form's defaults.
func withDefaults(f form, values map[string]json.RawMessage) map[string]json.RawMessage {
	for i := range f {
		if _, ok := values[f[i].name]; ok {
			continue
		}
		if value, ok := f[i].byDefault(); ok {
			values[f[i].name] = value
		}
	}
	return values
}

// visit agrees to a page only when a person or --yes does. Nothing is ever opened from here.
func (a *answerer) visit(ctx context.Context, ask elicitation) (json.RawMessage, error) {
	u, err := url.Parse(ask.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, &client.RPCError{Code: -32602, Message: "elicitation/create: url: want http or https"}
	}
	switch {
	case a.yes && !a.decline:
		a.tell(ask.Message, "agreed to visit "+u.String(), "")
		return accepted, nil
	case a.person != nil:
		return a.ask(ctx, func(d *questioner) (json.RawMessage, error) {
			d.heading(a.about, ask.Message)
			return d.visit(ctx, u)
		})
	}
	a.tell(ask.Message, "declined to visit "+u.String(), "--yes agrees; nothing is opened either way")
	return declined, nil
}

// sample answers for the model.
func (a *answerer) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	ask, err := parseSampling(params)
	if err != nil {
		return nil, &client.RPCError{Code: -32602, Message: err.Error()}
	}
	if text, ok := a.nextSaid(); ok {
		return spoken(text), nil
	}
	if a.person == nil {
		a.tell(ask.last(), "refused to answer for the model", `--say "…" answers`)
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

// listRoots tells the current directory when somebody is there or has said what to answer, and says so.
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
		fmt.Fprintf(a.errOut, "%s was told these roots: %s\n", terminal.OneLine(a.about, 80), cmp.Or(strings.Join(list, " "), "none (--root DIR tells one)"))
	})
	return json.Marshal(map[string]any{"roots": roots})
}

// ask gives do the terminal, alone. What it returns when ctx has ended goes nowhere.
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

// tell says on stderr what was answered without asking anybody.
func (a *answerer) tell(question, answer, hint string) {
	a.bar.Aside(func() {
		fmt.Fprintf(a.errOut, "%s asks %q: %s\n", terminal.OneLine(a.about, 80), terminal.OneLine(question, 200), terminal.OneLine(answer, 400))
		if hint != "" {
			fmt.Fprintf(a.errOut, "hint: %s\n", terminal.OneLine(hint, 200))
		}
	})
}
