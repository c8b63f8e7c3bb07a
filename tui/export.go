package tui

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// export returns a use as the text that the pressed key chooses, or an error if the use cannot be written that way. answer is
// empty if there is no answer. The text contains no API key.
func (a *App) export(key rune, u form.Use, answer []byte) (text string, err error) {
	switch key {
	case 'l':
		text = u.CommandLine()
	case 'p':
		text = u.JSONRPC()
	case 'u':
		text = u.Curl(gatewayURL(a.picture))
	case 't':
		text = u.Archive(answer)
	}
	switch {
	case text != "":
		return text, nil
	case key == 'p':
		return "", errors.New("there is no JSON-RPC request, because the arguments are not valid JSON")
	}
	return "", errors.New("there is no command for these arguments; press p for the JSON-RPC request")
}

// gatewayURL returns the URL of the first TCP address at which the gateway listens, or the default URL if there is none.
func gatewayURL(p *Picture) string {
	scheme := "http://"
	if p.TLS {
		scheme = "https://"
	}
	for _, address := range p.Listen {
		host, port, err := net.SplitHostPort(address)
		if err != nil || plain(address) != address {
			continue
		}
		switch host {
		case "", "0.0.0.0":
			host = "127.0.0.1"
		case "::":
			host = "::1"
		}
		return scheme + net.JoinHostPort(host, port) + "/mcp"
	}
	return scheme + "127.0.0.1:8730/mcp"
}

// exported returns the use that the selected row describes, or the call whose page is shown, with its answer. Of a call
// whose payloads are not kept, the arguments that the item requires are unknown, and answer is empty.
func (a *App) exported() (u form.Use, answer []byte, err error) {
	if i, ok := a.formItem(); ok {
		return i.use(), nil, nil
	}
	v := a.view()
	key := v.table.row().ID
	if v.kind == callKind {
		key = v.call
	}
	running, finished := findCall(a.picture, key)
	method, name := "", ""
	switch {
	case running != nil:
		method, name = running.Method, cmp.Or(running.Public, running.Item)
	case finished != nil:
		method, name = finished.Method, cmp.Or(finished.Public, finished.Item)
	}
	var items []status.Item
	i := formItem{verb: form.VerbOf(method)}
	switch i.verb {
	case form.Call:
		items = a.picture.Items.Tools
	case form.Prompt:
		items = a.picture.Items.Prompts
	case form.Read:
	default:
		return form.Use{}, nil, errors.New("only tools, prompts, resources and their calls have a command line")
	}
	i.item.Public = name
	for _, item := range items {
		if item.Public == name {
			i.item = item
		}
	}
	u = i.use()
	if v.kind == callKind {
		answer = addKept(&u, a.picture, v.scope)
	}
	return u, answer, nil
}

// addKept sets the arguments of u to those of the call whose page is shown, if they are kept completely, and returns its
// answer if that is. Secrets in both are hidden.
func addKept(u *form.Use, p *Picture, of scope) (answer []byte) {
	if keepingOf(p, of.server) == nil || len(p.Payloads) != 1 || len(p.Payloads[0].Payloads) != 1 {
		return nil
	}
	c := &p.Payloads[0].Payloads[0]
	if c.Call != callID(p, of.call) {
		return nil
	}
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if !c.Request.Cut && json.Unmarshal([]byte(c.Request.Text), &params) == nil && params.Name == u.Name {
		u.Arguments, u.Unknown = params.Arguments, nil
	}
	if c.Answer.Cut || c.Ended.IsZero() {
		return nil
	}
	return []byte(c.Answer.Text)
}

// use returns the use of an item without values for its arguments. Unknown lists the required arguments, or only "…" if the
// definition is truncated or invalid.
func (i *formItem) use() form.Use {
	u := form.Use{Verb: i.verb, Name: i.item.Public}
	if i.verb == form.Read {
		return u
	}
	parse := form.ToolInputs
	if i.verb == form.Prompt {
		parse = form.PromptInputs
	}
	if !json.Valid([]byte(i.item.Raw)) {
		u.Unknown = []string{"…"}
		return u
	}
	in, err := parse([]byte(i.item.Raw))
	if u.Schema, u.Unknown = in.Schema, in.Required(); err != nil {
		u.Unknown = []string{"…"}
	}
	return u
}
