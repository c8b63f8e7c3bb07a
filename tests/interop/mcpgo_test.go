package interop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is mcp-go's client.
type mcpGo struct {
	client   *client.Client
	name     string
	change   chan struct{}
	progress chan map[string]any
	tokens   int
}

func dialMCPGo(ctx context.Context, c *client.Client) (peer, error) {
	p := &mcpGo{client: c, change: make(chan struct{}, 1), progress: make(chan map[string]any, 1000)}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case "notifications/resources/list_changed":
			select {
			case p.change <- struct{}{}:
			default:
			}
		case "notifications/progress":
			p.progress <- n.Params.AdditionalFields
		}
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1"}
	result, err := c.Initialize(ctx, hello)
	if err != nil {
		return nil, err
	}
	p.name = result.ServerInfo.Name
	return p, nil
}

func mcpGoOverHTTP(ctx context.Context, url string) (peer, error) {
	//lint:ignore SA1019 the GET stream of the versions before 2026-07-28 is what is tried here
	c, err := client.NewStreamableHttpClient(url, transport.WithContinuousListening())
	if err != nil {
		return nil, err
	}
	return dialMCPGo(ctx, c)
}

func mcpGoOverStdio(ctx context.Context, cmd *exec.Cmd) (peer, error) {
	t := transport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:],
		transport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }))
	return dialMCPGo(ctx, client.NewClient(t))
}

func (p *mcpGo) server() string           { return p.name }
func (p *mcpGo) changed() <-chan struct{} { return p.change }
func (p *mcpGo) close() error             { return p.client.Close() }

// fault turns the SDK's sentinels back into codes.
func (p *mcpGo) fault(err error) fault {
	for sentinel, code := range map[error]int{mcp.ErrInvalidParams: -32602, mcp.ErrResourceNotFound: -32002, mcp.ErrMethodNotFound: -32601} {
		if errors.Is(err, sentinel) {
			return fault{code, err.Error()}
		}
	}
	return fault{0, fmt.Sprint(err)}
}

func (p *mcpGo) list(ctx context.Context, what string) (names []string, failed error) {
	switch what {
	case "tools":
		r, err := p.client.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, item := range r.Tools {
			names = append(names, item.Name)
		}
	case "prompts":
		r, err := p.client.ListPrompts(ctx, mcp.ListPromptsRequest{})
		if err != nil {
			return nil, err
		}
		for _, item := range r.Prompts {
			names = append(names, item.Name)
		}
	case "resources":
		r, err := p.client.ListResources(ctx, mcp.ListResourcesRequest{})
		if err != nil {
			return nil, err
		}
		for _, item := range r.Resources {
			names = append(names, item.URI)
		}
	case "templates":
		r, err := p.client.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return nil, err
		}
		for _, item := range r.ResourceTemplates {
			names = append(names, item.URITemplate.Raw())
		}
	}
	return names, nil
}

func (p *mcpGo) call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, args
	if progress == nil {
		return p.send(ctx, request)
	}
	p.tokens++
	token := fmt.Sprintf("token-%d", p.tokens)
	request.Params.Meta = &mcp.Meta{ProgressToken: token}
	type answer struct {
		pieces []content
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		pieces, err := p.send(ctx, request)
		answered <- answer{pieces, err}
	}()
	for {
		select {
		case note := <-p.progress:
			if v, ok := note["progress"].(float64); ok && note["progressToken"] == token {
				progress(v)
			}
		case a := <-answered:
			return a.pieces, a.err
		}
	}
}

func (p *mcpGo) send(ctx context.Context, request mcp.CallToolRequest) ([]content, error) {
	result, err := p.client.CallTool(ctx, request)
	if err != nil {
		return nil, err
	}
	var pieces []content
	for _, c := range result.Content {
		switch c := c.(type) {
		case mcp.TextContent:
			pieces = append(pieces, content{text: c.Text})
		case mcp.ResourceLink:
			pieces = append(pieces, content{uri: c.URI})
		}
	}
	if result.IsError {
		return pieces, fmt.Errorf("isError: %s", text(pieces))
	}
	return pieces, nil
}

func (p *mcpGo) read(ctx context.Context, uri string) (content, error) {
	var request mcp.ReadResourceRequest
	request.Params.URI = uri
	result, err := p.client.ReadResource(ctx, request)
	if err != nil || len(result.Contents) == 0 {
		return content{}, err
	}
	switch c := result.Contents[0].(type) {
	case mcp.TextResourceContents:
		return content{text: c.Text, uri: c.URI}, nil
	case mcp.BlobResourceContents:
		return content{blob: c.Blob, uri: c.URI}, nil
	}
	return content{}, fmt.Errorf("contents of type %T", result.Contents[0])
}

func (p *mcpGo) prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	var request mcp.GetPromptRequest
	request.Params.Name, request.Params.Arguments = name, args
	result, err := p.client.GetPrompt(ctx, request)
	if err != nil {
		return "", err
	}
	if c, ok := result.Messages[0].Content.(mcp.TextContent); ok {
		return c.Text, nil
	}
	return "", fmt.Errorf("no text in %+v", result.Messages)
}
