// Package admin serves the admin socket, and the three HTTP routes that every listener has.
//
//	/healthz /readyz /metrics              on every listener, and on the socket
//	/statusz, and parts of it: /serverz /backendz /sessionz /callz /subscriptionz /actorz
//	/catalogz                              the catalog; ?known=<version> answers 304 if that is the current version
//	/eventz                                log lines as server-sent events; ?once ends after the stored ones, ?after=<number> skips earlier ones
//	/eventz?want=catalog                   changes to the catalog, with the same parameters; ?after=now skips the stored ones
//	/eventz?want=state,calls               several wants: state, calls, sessions, actors, finished, log, lines, catalog, second
//	/logz                                  stderr of servers and log lines about them; ?server=<name>, ?after=<number>
//	/finishedz                             finished calls; ?server=<name>, ?after=<number>
//	/userz /loginz /denialz                users, logins at servers, refused requests; /userz?name=<part of a name>
//	/nodez                                 the nodes of the cluster, with what each reports about itself; /activityz is this node's report
//	/auditz                                lines of the audit log, for audit tail --nodes
//	/secondz                               calls, errors, durations and bytes by second and minute; ?server=<name>, ?after=<Unix seconds>
//	/itemz                                 calls by tool, prompt, resource and template; ?server=<name>; ?public=<name>, with ?kind=<kind>, is the item's JSON
//	/recordz                               recorded messages of actors; ?actor=<name>, ?call=<id>, ?after=<number>
//	/payloadz                              kept payloads of calls; ?call=<id>
//	POST /actions/restart {"server": …}    POST /actions/cancel {"call": …}    POST /actions/drain {}
//	POST /actions/end {"session": …}       ends a client's session
//	POST /actions/payloads {"server": …}   keeps the payloads of the server's next calls; "stop": discards them
//	POST /actions/record {"actor": …}      or {"server": …}, and "seconds": records messages, without their contents
//	POST /actions/reload {}                reloads the configuration file; 204 once it is in force, 422 with its errors
//	POST /actions/disable {"server": …}    or {"server": …, "tool": …}: edits the configuration file and reloads it; also /actions/enable
//	POST /actions/call {"tool": …, "arguments": …}    POST /actions/prompt {"prompt": …, "arguments": …}
//	POST /actions/read {"uri": …}          with Accept: text/event-stream, these three send events (progress, questions, answer) without known secrets
//	POST /actions/answer {"question": …, "action": …, "content": …}    answers a question event
//	/debug/pprof/                          profiles of the process
//
// All routes from /statusz on exist on the socket only.
//
// The header Goblin-Node: NAME, on the socket only, asks the gateway to pass the request on to that node of its cluster. A node
// serves the same routes to the other nodes, which connect to it with the certificates of the cluster: see NodeServer.
//
// The socket is accessible to its owner only: mode 0600 in a directory of mode 0700. Its requests are therefore not
// authenticated. The package has no state except the listener. Data comes from a Source (the gateway) and
// status.Metrics, and is fetched for each request. If a Source does not answer within 5 seconds, the request fails,
// except that /metrics then contains the counters alone. /eventz and the actions call, prompt and read have no such limit.
//
//	srv, err := admin.Listen(path, source, user, dial, log) // serves until Close
//	defer srv.Close()
//	downstream.Options{Other: admin.Public(gateway, metrics)}
//	snapshot, err := admin.Fetch(ctx, path)                 // a client
//	source, err := admin.Dial(path)                         // a client as a status.Source
//	follower := admin.Follower{Path: path, Tell: …}         // reads /eventz?want=catalog and reconnects
package admin
