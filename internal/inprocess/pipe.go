package inprocess

import (
	"context"
	"io"
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// Pipe is a client's end of a session with a gateway in this process: one message per line in both directions.
type Pipe struct {
	in     *io.PipeReader // from the gateway
	out    *io.PipeWriter // to the gateway
	end    context.CancelFunc
	served chan struct{} // closed when the gateway's side has ended
}

// Open opens a session with g. ctx limits only Open.
func Open(ctx context.Context, g *actors.Gateway, limits config.Limits, project string, log *slog.Logger) (*Pipe, error) {
	front, err := g.Stdio(ctx, project)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	gatewayIn, toGateway := io.Pipe()
	fromGateway, gatewayOut := io.Pipe()
	p := &Pipe{in: fromGateway, out: toGateway, end: end, served: make(chan struct{})}
	go func() {
		defer close(p.served)
		o := downstream.Options{MaxMessageBytes: int(limits.MaxMessageBytes), Budget: g.Budget()}
		gatewayOut.CloseWithError(downstream.ServeStdio(ctx, gatewayIn, gatewayOut, front, o, log)) // nil means io.EOF
		_ = gatewayIn.Close()
	}()
	return p, nil
}

// Read reads what the gateway has written. It returns io.EOF or the gateway's error after the session has ended.
func (p *Pipe) Read(b []byte) (int, error) { return p.in.Read(b) }

// Write passes bytes to the gateway and blocks until it has read them.
func (p *Pipe) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close ends the session and waits for the gateway's side to end. Running calls are canceled.
func (p *Pipe) Close() error {
	_ = p.out.Close()
	_ = p.in.Close()
	p.end()
	<-p.served
	return nil
}
