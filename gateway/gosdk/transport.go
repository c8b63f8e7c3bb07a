package gosdk

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
)

// Transport returns a transport with which an mcp.Client of the SDK communicates with g. Each connection opens a new
// session of the gateway. Both protocol eras work, and the client can answer elicitation, sampling and roots requests.
// When the connection ends, its calls are canceled.
func Transport(g *gateway.Gateway) mcp.Transport { return clientTransport{g} }

type clientTransport struct{ g *gateway.Gateway }

func (t clientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.g.Dial(ctx)
	if err != nil {
		return nil, err
	}
	// The gateway limits the size of messages.
	return (&mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: -1}).Connect(ctx)
}
