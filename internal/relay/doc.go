// Package relay passes requests on from the node of a cluster where they arrive to the node that must serve them, over
// HTTPS between the nodes. Relay is the side that passes on. It implements actors.Relay. NewServer returns the side that
// serves, which is a downstream.Server with its own Admission.
//
//	r := relay.New(relay.Options{TLS: tls, Resolve: members.Resolve, Budget: gateway.Budget(), Log: log})
//	server := relay.NewServer(gateway.Relayed(), relay.ServerOptions{Node: "goblin-0", TLS: tls, Keys: gate, Log: log})
//	go server.Serve(listener)
//
// A relayed request has the method, path, body and protocol headers of the client's request, but not its credential. The
// first node has admitted it, so its headers name the holder of the client's key, and the client's address. They are
// accepted only on connections with a certificate of the cluster. The response reaches the client byte for byte.
//
// Invariants:
//   - A POST is not sent again once any of it may have been executed. A GET or DELETE may be sent again.
//   - When the client disconnects, the relayed request is closed. When the other node ends, so does the client's request.
//   - The API key of a client never leaves the node that has received it.
//   - The number of relayed requests, their sizes and those of the responses are bounded.
package relay
