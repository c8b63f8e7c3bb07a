// Package client is the MCP client of the command line: it speaks to a running gateway over streamable HTTP, or to
// one in the same process over a pair of pipes, on our own frames. Results are handed back as the raw JSON they were.
//
// Three things live here: Client, one session; Watcher, a resource followed over lost connections; and Bridge, stdin and
// stdout of somebody else's client connected with a gateway that may be restarted. What the bridge does is decided in
// bridge_step.go and its neighbours, without I/O or clock, and carried out in bridge.go.
//
// A Client owns its link and the table of what is pending. Every request ends exactly once: with the answer, with the
// end of its context (the server is told to cancel), or with the end of the link. Questions of the server go to an
// Answerer, each in a goroutine whose context ends when the question is withdrawn. No progress callback is called after the
// method it was given to has returned.
//
//	c, err := client.Dial(ctx, "127.0.0.1:8730", client.Options{Name: "goblin-actor", Version: "v0.1.0"})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	result, err := c.Call(ctx, "notes_add_note", []byte(`{"title":"a","text":"b"}`), nil)
package client
