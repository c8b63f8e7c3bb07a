// Package downstream is the port towards clients: [Server] over HTTP, [ServeStdio] on stdin and stdout, and [PipeClient] in
// the same program. A message becomes an [Exchange], given to a [Handler], which answers it from any goroutine without ever
// blocking; a stream for messages that belong to no request is an [EventStream]. Nothing here decides about MCP.
//
//	server := downstream.NewServer(handler, downstream.Options{MaxMessageBytes: 64 << 20, Budget: budget}, log)
//	go server.Serve(listener)
//
//	func (h handler) Post(x *downstream.Exchange) {
//		if x.Frame.M == protocol.MethodPing {
//			x.Answer(protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), []byte("{}"))})
//		}
//	}
//
// Invariants:
//   - Exactly one verdict takes effect in an Exchange.
//   - A slow reader loses its own stream or connection and makes nobody else wait.
//   - What two HTTP parsers could read in two ways is refused before anything is routed.
//   - None of fasthttp's pooled memory crosses into a message; a frame's bytes are never written to again.
//   - Connections and their goroutines belong to the server and end with Shutdown, or with their peer.
package downstream
