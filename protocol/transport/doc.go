// Package transport moves JSON-RPC messages between the gateway and the world: bytes in, checked frames out, and back.
// It decides nothing about MCP.
//
// Towards clients ([Server], [ServeStdio]) a message becomes an [Exchange], given to a [Front], which answers it from
// any goroutine without ever blocking; a stream for messages that belong to no request is an [EventStream]. Towards
// servers ([OpenProcess], [OpenHTTP], [OpenSSE], [OpenAuto], and [NewPipe] for tests) a connection is a [Link], which tells a [Sink]
// what happened.
//
//	server := transport.NewServer(front, transport.ServerOptions{MaxMessageBytes: 64 << 20, Budget: budget}, log)
//	go server.Serve(listener)
//
//	func (f front) Post(x *transport.Exchange) {
//		if x.Frame.M == protocol.MethodPing {
//			x.Answer(protocol.AppendResult(nil, x.Frame.IDBytes(), []byte("{}")), false)
//		}
//	}
//
// Who owns what: connections, processes and their goroutines belong to this package and end with Shutdown, Close, or
// their peer. A frame's bytes belong to whoever was given them last and are never written to again; none of fasthttp's
// pooled memory crosses into a message.
//
// Invariants:
//   - Everything that buffers is bounded, grows with what came and not with what was promised, and is counted in one [Budget].
//   - Exactly one verdict takes effect in an Exchange; exactly one of Written and NotSent is told of an Outgoing.
//   - A slow peer loses its own stream or connection and makes nobody else wait.
//   - What two HTTP parsers could read in two ways is refused before anything is routed.
package transport
