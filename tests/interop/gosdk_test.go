package interop

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is a client of the official Go SDK.
type goSDK struct {
	session *mcp.ClientSession
	ears    *ears
	tokens  tokens
	wanted  string // log level to send with each call; modern only
}

//lint:file-ignore SA1019 roots, sampling and logging are deprecated as of 2026-07-28, but still supported

func dialGoSDK(ctx context.Context, t mcp.Transport, m manner) (peer, error) {
	p := &goSDK{ears: newEars()}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { p.ears.hear("tools/list_changed") },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { p.ears.hear("prompts/list_changed") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { p.ears.hear("resources/list_changed") },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			p.ears.hear("updated " + r.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			p.ears.hear("log " + string(r.Params.Level))
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			p.tokens.tell(r.Params.ProgressToken, r.Params.Progress)
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: m.answers.form}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "goblin", Role: "assistant", Content: &mcp.TextContent{Text: guess}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: cave, Name: caveName})
	var err error
	p.session, err = client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: m.version})
	return p, err
}

func goSDKOverHTTP(ctx context.Context, to target, m manner) (peer, error) {
	t := &mcp.StreamableClientTransport{Endpoint: to.url}
	if to.key != "" {
		t.HTTPClient = &http.Client{Transport: bearer{to.key}}
	}
	return dialGoSDK(ctx, t, m)
}

// bearer adds an API key to every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func goSDKOverStdio(ctx context.Context, cmd *exec.Cmd, m manner) (peer, error) {
	return dialGoSDK(ctx, &mcp.CommandTransport{Command: cmd}, m)
}

func (p *goSDK) server() string  { return p.session.InitializeResult().ServerInfo.Name }
func (p *goSDK) version() string { return p.session.InitializeResult().ProtocolVersion }
func (p *goSDK) heard() *ears    { return p.ears }
func (p *goSDK) close() error    { return p.session.Close() }

func (p *goSDK) level(ctx context.Context, level string) error {
	if p.version() >= modernVersion {
		p.wanted = level
		return nil
	}
	return p.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
}

// listen does nothing for lists: the client subscribes to their changes by itself.
func (p *goSDK) listen(ctx context.Context, uri string) error {
	if uri == "" {
		return nil
	}
	return p.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (p *goSDK) complete(ctx context.Context, of reference, argument, value string) ([]string, error) {
	ref := &mcp.CompleteReference{Type: "ref/prompt", Name: of.prompt}
	if of.template != "" {
		ref = &mcp.CompleteReference{Type: "ref/resource", URI: of.template}
	}
	result, err := p.session.Complete(ctx, &mcp.CompleteParams{
		Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: value}})
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

func (*goSDK) fault(err error) fault {
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
	params := &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{}}
	if p.wanted != "" {
		params.Meta[mcp.MetaKeyLogLevel] = p.wanted
	}
	if progress != nil {
		params.Meta["progressToken"] = p.tokens.next(progress)
	}
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
