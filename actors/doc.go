// Package actors is the gateway: Start spawns the tree of actors, which owns everything that changes.
//
//	gateway ── registry            the catalog of all servers
//	        ├─ pool/<server>       one a server ── backend/<replica>.<n>   one a connection
//	        ├─ session/<id>        one a client that has a session
//	        ├─ desk/<n>            a few, for all clients that have none
//	        ├─ listen/<n>          one a stream of such a client
//	        └─ store               the state file
//	monitor                        beside it: pictures of all the others
//
//	g, err := actors.Start(cfg, actors.Options{Version: "1.0", Log: log})
//	server := downstream.NewServer(g.Front(), …)
//	…
//	err = g.Stop(ctx, 10*time.Second) // drains for so long, then ends every actor and every child process
package actors
