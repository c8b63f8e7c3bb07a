// Package client is the MCP client of the command line. It connects to a running gateway over streamable HTTP, or to
// one in the same process over a pair of pipes. Results are returned as raw JSON.
//
// Client is one session. Watcher follows a resource across reconnects. Bridge connects another program's client on
// stdin and stdout to a gateway that may restart. The bridge's decisions are in bridge_step.go and the related files,
// without I/O and clock; bridge.go executes them.
//
// A Client owns its link and the table of pending requests. Every request ends exactly once: with the response, with
// the end of its context (the server is asked to cancel), or with the end of the link. Requests of the server go to
// an Answerer, each in its own goroutine, whose context ends when the server withdraws the request. A progress
// callback is not called after the method that it was passed to has returned, unless the context ended: then one last
// call may still be running.
//
//	c, err := client.Dial(ctx, "127.0.0.1:8730", client.Options{Name: "goblin-actor", Version: "v0.1.0"})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	result, err := c.Call(ctx, "notes_add_note", []byte(`{"title":"a","text":"b"}`), nil)
package client
