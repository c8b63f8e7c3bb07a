package interop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

//lint:file-ignore SA1019 roots, sampling, logging and the GET stream are deprecated as of 2026-07-28, but still supported

// mcpGo is a client of mcp-go.
type mcpGo struct {
	client *client.Client
	name   string
	ears   *ears
	tokens tokens
	stop   func() // ends the subscription stream; modern only
}

// mcpGoAnswers holds the client's answers to server requests.
type mcpGoAnswers struct{ answers }

func (a mcpGoAnswers) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: a.form}}, nil
}

func (mcpGoAnswers) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "goblin", SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent(guess)}}, nil
}

func (mcpGoAnswers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: cave, Name: caveName}}}, nil
}

func dialMCPGo(ctx context.Context, t transport.Interface, m manner) (peer, error) {
	said := mcpGoAnswers{m.answers}
	c := client.NewClient(t, client.WithElicitationHandler(said), client.WithSamplingHandler(said), client.WithRootsHandler(said))
	p := &mcpGo{client: c, ears: newEars()}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		fields := n.Params.AdditionalFields
		switch what := strings.TrimPrefix(n.Method, "notifications/"); what {
		case "progress":
			v, _ := fields["progress"].(float64)
			p.tokens.tell(fields["progressToken"], v)
		case "message":
			p.ears.hear(fmt.Sprintf("log %v", fields["level"]))
		case "resources/updated":
			p.ears.hear(fmt.Sprintf("updated %v", fields["uri"]))
		default:
			p.ears.hear(what)
		}
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = m.version
	hello.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1"}
	result, err := c.Initialize(ctx, hello)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	p.name = result.ServerInfo.Name
	return p, nil
}

// mcpGoConnections opens a new connection for each request. mcp-go cancels the POST of an answer to a server request as soon as the call
// that caused the request has ended. If the POST's empty response arrives at that moment, net/http closes the connection after returning it to
// its pool. The next request on that connection, of any SDK, fails with "context canceled" (transport.go, persistConn.readLoop and roundTrip, Go 1.26).
var mcpGoConnections = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// mcpGoOverHTTP connects over Streamable HTTP. In versions that have a GET stream, it keeps one open.
func mcpGoOverHTTP(ctx context.Context, to target, m manner) (peer, error) {
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(mcpGoConnections)}
	if to.key != "" {
		options = append(options, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + to.key}))
	}
	if m.version != "" && m.version < modernVersion {
		options = append(options, transport.WithContinuousListening())
	}
	t, err := transport.NewStreamableHTTP(to.url, options...)
	if err != nil {
		return nil, err
	}
	return dialMCPGo(ctx, t, m)
}

func mcpGoOverSSE(ctx context.Context, to target, m manner) (peer, error) {
	options := []transport.ClientOption{transport.WithHTTPClient(mcpGoConnections), transport.WithEndpointTimeout(talkTime), transport.WithResponseTimeout(talkTime)}
	if to.key != "" {
		options = append(options, transport.WithHeaders(map[string]string{"Authorization": "Bearer " + to.key}))
	}
	t, err := transport.NewSSE(to.url, options...)
	if err != nil {
		return nil, err
	}
	return dialMCPGo(ctx, t, m)
}

func mcpGoOverStdio(ctx context.Context, cmd *exec.Cmd, m manner) (peer, error) {
	return dialMCPGo(ctx, transport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:],
		transport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil })), m)
}

func (p *mcpGo) server() string  { return p.name }
func (p *mcpGo) version() string { return p.client.ProtocolVersion() }
func (p *mcpGo) heard() *ears    { return p.ears }

func (p *mcpGo) close() error {
	if p.stop != nil {
		p.stop()
	}
	return p.client.Close()
}

func (p *mcpGo) level(ctx context.Context, level string) error {
	var request mcp.SetLevelRequest
	request.Params.Level = mcp.LoggingLevel(level)
	return p.client.SetLevel(ctx, request)
}

func (p *mcpGo) listen(ctx context.Context, uri string) error {
	if p.version() < modernVersion {
		if uri == "" {
			return nil
		}
		var request mcp.SubscribeRequest
		request.Params.URI = uri
		return p.client.Subscribe(ctx, request)
	}
	filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	if uri != "" {
		filter.ResourceSubscriptions = []string{uri}
	}
	stop, err := p.client.ListenAsync(context.WithoutCancel(ctx), filter, func(err error) { p.ears.hear("listen failed: " + err.Error()) })
	p.stop = stop
	if err != nil {
		return err
	}
	return p.ears.wait(ctx, 0, "subscriptions/acknowledged")
}

func (p *mcpGo) complete(ctx context.Context, of reference, argument, value string) ([]string, error) {
	var request mcp.CompleteRequest
	request.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: of.prompt}
	if of.template != "" {
		request.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: of.template}
	}
	request.Params.Argument = mcp.CompleteArgument{Name: argument, Value: value}
	result, err := p.client.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

// fault converts the SDK's sentinel errors to error codes.
func (*mcpGo) fault(err error) fault {
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
	if progress != nil {
		request.Params.Meta = &mcp.Meta{ProgressToken: p.tokens.next(progress)}
	}
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
