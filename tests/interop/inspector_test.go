package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// inspector is the inspector's command line. Each request runs a process for about a second, with its own session. The inspector can
// list and call, but receives no notifications between requests.
type inspector struct {
	url   string
	lists *listsOnce
	ear   *ears
}

// listsOnce caches the gateway's lists. They are the same in every cell, because all cells of the inspector share one gateway.
type listsOnce struct {
	mu    sync.Mutex
	items map[string][]string
}

// errOneRequest is returned for conversations that the inspector's command line cannot hold.
var errOneRequest = errors.New("the inspector's command line makes a single request and exits")

func inspectorDial() func(context.Context, target, answers) (peer, error) {
	lists := &listsOnce{items: map[string][]string{}}
	return func(_ context.Context, to target, _ answers) (peer, error) {
		return &inspector{to.url, lists, newEars()}, nil
	}
}

// run makes one request.
func (p *inspector) run(ctx context.Context, result any, args ...string) error {
	cmd := exec.CommandContext(ctx, "node", append([]string{"node_modules/.bin/mcp-inspector", "--cli", p.url, "--transport", "http"}, args...)...)
	said := &output{}
	cmd.Stderr = said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("inspector: %w: %s%s", err, out, said)
	}
	if err := json.Unmarshal(out, result); err != nil {
		return fmt.Errorf("inspector: %w in %.500s", err, out)
	}
	return nil
}

func (*inspector) server() string  { return "" }
func (*inspector) version() string { return legacyVersion } // the inspector does not print it
func (p *inspector) heard() *ears  { return p.ear }
func (*inspector) close() error    { return nil }

func (*inspector) fault(err error) fault { return fault{0, fmt.Sprint(err)} }

func (p *inspector) list(ctx context.Context, what string) ([]string, error) {
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	if items := p.lists.items[what]; items != nil {
		return items, nil
	}
	method := what + "/list"
	if what == "templates" {
		method = "resources/templates/list"
	}
	var result struct {
		Tools, Prompts               []struct{ Name string }
		Resources, ResourceTemplates []struct{ URI, URITemplate string }
	}
	if err := p.run(ctx, &result, "--method", method); err != nil {
		return nil, err
	}
	items := []string{}
	for _, named := range append(result.Tools, result.Prompts...) {
		items = append(items, named.Name)
	}
	for _, located := range append(result.Resources, result.ResourceTemplates...) {
		items = append(items, located.URI+located.URITemplate)
	}
	p.lists.items[what] = items
	return items, nil
}

func (p *inspector) call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error) {
	if progress != nil {
		return nil, errOneRequest
	}
	line := []string{"--method", "tools/call", "--tool-name", tool}
	for key, value := range args {
		line = append(line, "--tool-arg", fmt.Sprintf("%s=%v", key, value))
	}
	var result struct {
		Content []struct{ Text, URI string }
		IsError bool
	}
	if err := p.run(ctx, &result, line...); err != nil {
		return nil, err
	}
	var pieces []content
	for _, c := range result.Content {
		pieces = append(pieces, content{text: c.Text, uri: c.URI})
	}
	if result.IsError {
		return pieces, fmt.Errorf("isError: %s", text(pieces))
	}
	return pieces, nil
}

func (*inspector) read(context.Context, string) (content, error) { return content{}, errOneRequest }

func (*inspector) prompt(context.Context, string, map[string]string) (string, error) {
	return "", errOneRequest
}

func (*inspector) complete(context.Context, reference, string, string) ([]string, error) {
	return nil, errOneRequest
}
func (*inspector) level(context.Context, string) error  { return errOneRequest }
func (*inspector) listen(context.Context, string) error { return errOneRequest }
