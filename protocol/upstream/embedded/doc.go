// Package embedded is a link to a server that is a function in this process.
//
//	link := embedded.Open(embedded.Options{Serve: func(ctx context.Context, c *embedded.Conn) error {
//		for {
//			request, err := c.Read(ctx)
//			if err != nil {
//				return nil // the gateway has ended the connection
//			}
//			_ = c.Write(ctx, answerTo(request))
//		}
//	}}, sink)
//
// Invariants:
//   - The function runs on a goroutine of the link. A panic in it ends this connection and nothing else.
//   - Messages to the function wait in a queue that is limited in bytes. Messages from the function are not queued: Write blocks until
//     the gateway accepts the message.
//   - After Closed, Read and Write return an error, even if the function still runs. The goroutine of a function that does not return
//     is abandoned, and Options.Left is called.
package embedded
