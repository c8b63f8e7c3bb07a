package tui

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// export returns a use as the text that the pressed key chooses. answer is empty if there is no answer. The text contains no
// API key.
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
	if text == "" {
		return "", errors.New("there is no command for these arguments; press p for the JSON-RPC request")
	}
	return text, nil
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

// exported returns the use that the selected row describes. Arguments are not kept, so those that the item requires are
// unknown.
func (a *App) exported() (form.Use, error) {
	if i, ok := a.formItem(); ok {
		return i.use(), nil
	}
	r := a.view().table.row()
	running, finished := findCall(a.picture, r.ID)
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
		return form.Use{}, errors.New("only tools, prompts, resources and their calls have a command line")
	}
	i.item.Public = name
	for _, item := range items {
		if item.Public == name {
			i.item = item
		}
	}
	return i.use(), nil
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
