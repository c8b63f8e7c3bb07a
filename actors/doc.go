// Package actors is the gateway: Start spawns a tree of actors, each of which owns a part of the gateway's state.
//
//	gateway ── registry            the merged catalog of all servers
//	        ├─ meta                the gateway's own tools
//	        ├─ pool/<server>       one per server ── backend/<replica>.<n>   one per connection
//	        │                                     └─ token/…                 one per login at the server
//	        ├─ session/<id>        one per client session
//	        ├─ desk/<n>            the stateless sessions: a few actors for all clients without a session
//	        ├─ listen/<n>          one per subscription stream of such a client
//	        └─ store               the state file
//	monitor                        assembles the status from the reports of other actors
//	seconds                        records what happens in each second
//	recorder                       starts and ends recordings of other actors' messages
//	payloads                       keeps payloads of calls, if an operator asks
//
//	g, err := actors.Start(cfg, actors.Options{Version: "1.0", Log: log})
//	server := downstream.NewServer(g.Front(), …)
//	…
//	err = g.Stop(ctx, 10*time.Second) // drains for up to 10 s, then stops every actor and child process
package actors
