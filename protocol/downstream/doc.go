// Package downstream is the transport between clients and the gateway: [Server] for HTTP, [Mount] for HTTP in a server
// of net/http, [ServeStdio] for stdin and stdout. It passes each message as an [Exchange] to a [Handler], which answers
// it from any goroutine and never blocks. A stream for messages outside of requests is an [EventStream]. The rules of
// MCP are left to the Handler.
//
//	server := downstream.NewServer(handler, downstream.Options{MaxMessageBytes: 64 << 20, Budget: budget}, log)
//	go server.Serve(listener)
//
//	func (h handler) Post(x *downstream.Exchange) {
//		if x.Frame.Method == protocol.MethodPing {
//			x.Answer(protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), []byte("{}"))})
//		}
//	}
//
// Invariants:
//   - At most one answer to an Exchange takes effect.
//   - A slow client can lose its own stream or connection. It never delays other clients.
//   - A request that two HTTP parsers could interpret differently is refused before it is routed.
//   - Messages never use memory of fasthttp's pools. The bytes of a frame do not change.
//   - Connections and their goroutines belong to the server. They end with Shutdown or when the client disconnects.
package downstream
