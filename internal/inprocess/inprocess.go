// Package inprocess connects a client to a gateway in the same process over a pair of pipes. The gateway treats it
// like a client on stdin and stdout.
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

// Client is a client of a gateway in this process.
type Client struct {
	*client.Client
	served chan struct{} // closed when the gateway's side has ended
}

// Dial opens a session with g. ctx limits only the handshake.
func Dial(ctx context.Context, g *actors.Gateway, limits config.Limits, o client.Options, log *slog.Logger) (*Client, error) {
	gatewayIn, toGateway := io.Pipe()
	fromGateway, gatewayOut := io.Pipe()
	c := &Client{served: make(chan struct{})}
	go func() {
		defer close(c.served)
		// The pipe reports the end to the client. An error is an internal error of the gateway.
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

// Close ends the session and waits for both sides to end. Pending requests fail with client.ErrClosed.
func (c *Client) Close() {
	c.Client.Close()
	<-c.served
}
