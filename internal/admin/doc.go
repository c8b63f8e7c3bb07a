// Package admin is the gateway's own HTTP: the admin socket, and the three routes every listener has.
//
//	/healthz /readyz /metrics              on every listener, and on the socket
//	/statusz, and parts of it: /serverz /backendz /sessionz /callz /subscriptionz /actorz
//	/catalogz                              what clients are offered; ?known=<version> answers 304 when that is the newest
//	/eventz                                log lines as server-sent events; ?once ends after those remembered, ?after=<number> skips
//	/eventz?want=catalog                   what becomes of the catalog, likewise; ?after=now leaves out what is remembered
//	/logz                                  what servers wrote and the log says of them; ?server=<name>, ?after=<number>
//	/finishedz                             calls that have ended; ?server=<name>, ?after=<number>
//	POST /actions/restart {"server": …}    POST /actions/cancel {"call": …}    POST /actions/drain {}
//	POST /actions/reload {}                reads the configuration file; 204 when it is in force, 422 with its faults
//	POST /actions/call {"tool": …, "arguments": …}    POST /actions/read {"uri": …}
//	/debug/pprof/                          these on the socket only
//
// The socket is for its owner alone: mode 0600 in a directory of mode 0700, so nothing on it asks who is calling.
// The package owns no state but the listener; what it tells comes from a Source (the gateway) and from status.Metrics,
// and it asks for each request anew. A Source that does not answer in time makes the request fail, not hang.
//
//	srv, err := admin.Listen(path, source, user, log)       // serves until Close
//	defer srv.Close()
//	downstream.Options{Other: admin.Public(gateway, metrics)}
//	snapshot, err := admin.Fetch(ctx, path)                 // the other end
//	source, err := admin.Dial(path)                         // the other end as a status.Source
//	follower := admin.Follower{Path: path, Tell: …}         // of /eventz?want=catalog, over lost connections
package admin
