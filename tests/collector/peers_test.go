package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// peer is a client or server with its own spans. It uses the official SDKs of MCP and OpenTelemetry, and none of the gateway's code.
type peer struct {
	tracer trace.Tracer
	end    func(context.Context) error
}

// newPeer returns a peer that exports each span as soon as it ends, to the collector at endpoint.
func newPeer(ctx context.Context, service, endpoint string) (*peer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	return &peer{provider.Tracer(service), provider.Shutdown}, nil
}

// meta is params._meta as a carrier of the W3C trace context.
type meta mcp.Meta

func (m meta) Get(key string) string {
	text, _ := m[key].(string)
	return text
}

func (m meta) Set(key, value string) { m[key] = value }

func (m meta) Keys() (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// received begins the SERVER span of a call, below the span in its params._meta.
func (p *peer) received(ctx context.Context, q *mcp.CallToolRequest) (context.Context, trace.Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, meta(q.Params.Meta))
	return p.tracer.Start(ctx, "tools/call "+q.Params.Name, trace.WithSpanKind(trace.SpanKindServer))
}

// call calls a tool of a server below a CLIENT span of its own.
func (p *peer) call(ctx context.Context, url, tool string, arguments any) (string, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	ctx, span := p.tracer.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	params := &mcp.CallToolParams{Meta: mcp.Meta{}, Name: tool, Arguments: arguments}
	propagation.TraceContext{}.Inject(ctx, meta(params.Meta))
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	if text == nil || result.IsError {
		return "", fmt.Errorf("result of %s: %v", tool, result.Content)
	}
	return text.Text, nil
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// notes runs a server on stdio with the tool search, and with a resource that cannot be read.
func notes(ctx context.Context, endpoint string) error {
	p, err := newPeer(ctx, "notes", endpoint)
	if err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "search", Description: "searches notes"}, func(ctx context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_, span := p.received(ctx, q)
		defer span.End()
		return textResult("found one note"), nil, nil
	})
	s.AddResource(&mcp.Resource{Name: "lost", URI: "note://lost"}, func(_ context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ResourceNotFoundError(q.Params.URI)
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// planner runs a server on streamable HTTP with the tool plan, which calls the tool notes_search through the gateway. It prints its URL.
func planner(ctx context.Context, endpoint string) error {
	p, err := newPeer(ctx, "planner", endpoint)
	if err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "planner", Version: "1"}, nil)
	type arguments struct {
		Gateway string `json:"gateway" jsonschema:"URL of the gateway"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "plan", Description: "makes a plan from notes"}, func(ctx context.Context, q *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, any, error) {
		ctx, span := p.received(ctx, q)
		defer span.End()
		text, err := p.call(ctx, a.Gateway, "notes_search", map[string]any{})
		return textResult("a plan, as the notes say: " + text), nil, err
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	server := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// runPeer runs the server that the arguments name.
func runPeer(ctx context.Context, name, endpoint string) error {
	switch name {
	case "notes":
		return notes(ctx, endpoint)
	case "planner":
		return planner(ctx, endpoint)
	}
	return fmt.Errorf("unknown peer %q", name)
}
