package interop

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is the official Go SDK's client.
type goSDK struct {
	session  *mcp.ClientSession
	change   chan struct{}
	progress chan *mcp.ProgressNotificationParams
	tokens   int
}

func dialGoSDK(ctx context.Context, t mcp.Transport) (*goSDK, error) {
	p := &goSDK{change: make(chan struct{}, 1), progress: make(chan *mcp.ProgressNotificationParams, 1000)}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1"}, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			select {
			case p.change <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { p.progress <- r.Params },
	})
	var err error
	p.session, err = client.Connect(ctx, t, nil)
	return p, err
}

func goSDKOverHTTP(ctx context.Context, url string) (peer, error) {
	return dialGoSDK(ctx, &mcp.StreamableClientTransport{Endpoint: url})
}

func goSDKOverStdio(ctx context.Context, cmd *exec.Cmd) (peer, error) {
	return dialGoSDK(ctx, &mcp.CommandTransport{Command: cmd})
}

func (p *goSDK) server() string           { return p.session.InitializeResult().ServerInfo.Name }
func (p *goSDK) changed() <-chan struct{} { return p.change }
func (p *goSDK) close() error             { return p.session.Close() }

func (p *goSDK) fault(err error) fault {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return fault{int(e.Code), e.Message}
	}
	return fault{0, fmt.Sprint(err)}
}

func (p *goSDK) list(ctx context.Context, what string) (names []string, failed error) {
	switch what {
	case "tools":
		for item, err := range p.session.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, item.Name)
		}
	case "prompts":
		for item, err := range p.session.Prompts(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, item.Name)
		}
	case "resources":
		for item, err := range p.session.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, item.URI)
		}
	case "templates":
		for item, err := range p.session.ResourceTemplates(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, item.URITemplate)
		}
	}
	return names, nil
}

func (p *goSDK) call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if progress == nil {
		return p.send(ctx, params)
	}
	p.tokens++
	token := fmt.Sprintf("token-%d", p.tokens)
	params.Meta = mcp.Meta{"progressToken": token}
	type answer struct {
		pieces []content
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		pieces, err := p.send(ctx, params)
		answered <- answer{pieces, err}
	}()
	for {
		select {
		case note := <-p.progress:
			if note.ProgressToken == token {
				progress(note.Progress)
			}
		case a := <-answered:
			return a.pieces, a.err
		}
	}
}

func (p *goSDK) send(ctx context.Context, params *mcp.CallToolParams) ([]content, error) {
	result, err := p.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	var pieces []content
	for _, c := range result.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			pieces = append(pieces, content{text: c.Text})
		case *mcp.ResourceLink:
			pieces = append(pieces, content{uri: c.URI})
		}
	}
	if result.IsError {
		return pieces, fmt.Errorf("isError: %s", text(pieces))
	}
	return pieces, nil
}

func (p *goSDK) read(ctx context.Context, uri string) (content, error) {
	result, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(result.Contents) == 0 {
		return content{}, err
	}
	c := result.Contents[0]
	return content{c.Text, c.URI, base64.StdEncoding.EncodeToString(c.Blob)}, nil
}

func (p *goSDK) prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	result, err := p.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	if c, ok := result.Messages[0].Content.(*mcp.TextContent); ok {
		return c.Text, nil
	}
	return "", fmt.Errorf("no text in %+v", result.Messages)
}
