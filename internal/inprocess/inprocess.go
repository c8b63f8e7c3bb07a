// Package inprocess connects a client to a gateway in the same process, over a pair of pipes: the gateway sees it as it sees
// any other on stdin and stdout. It owns nothing but the pipes of each client.
//
//	c, err := inprocess.Dial(ctx, g, limits, client.Options{Name: "goblin-actor"}, log)
//	defer c.Close()
package inprocess

import (
	"context"
	"io"
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// Client is a client whose gateway is in this process.
type Client struct {
	*client.Client
	served chan struct{} // closed when the gateway's side has ended
}

// Dial opens a session at the gateway. ctx bounds the handshake only.
func Dial(ctx context.Context, g *actors.Gateway, limits config.Limits, o client.Options, log *slog.Logger) (*Client, error) {
	gatewayIn, toGateway := io.Pipe()
	fromGateway, gatewayOut := io.Pipe()
	c := &Client{served: make(chan struct{})}
	go func() {
		defer close(c.served)
		// The client hears of the end by the pipe; a reason is a fault of the gateway itself.
		gatewayOut.CloseWithError(serve(context.WithoutCancel(ctx), g, o.Project, limits, gatewayIn, gatewayOut, log))
		_ = gatewayIn.Close()
	}()
	var err error
	if c.Client, err = client.OverPipe(ctx, fromGateway, toGateway, o); err != nil {
		return nil, err
	}
	return c, nil
}

func serve(ctx context.Context, g *actors.Gateway, project string, limits config.Limits, in io.Reader, out io.Writer, log *slog.Logger) error {
	front, err := g.Stdio(ctx, project)
	if err != nil {
		return err
	}
	return downstream.ServeStdio(ctx, in, out, front, downstream.Options{MaxMessageBytes: int(limits.MaxMessageBytes), Budget: g.Budget()}, log)
}

// Close ends the session and waits for its end on both sides. Everything pending fails with client.ErrClosed.
func (c *Client) Close() {
	c.Client.Close()
	<-c.served
}
