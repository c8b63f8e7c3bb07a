// Package meta implements the gateway's own MCP server: tools that search, list and describe the items of all servers
// and report the servers' states, so that an agent does not need a thousand definitions in its context. The server is an
// actor that accepts calls like a pool, so sessions and stateless sessions treat it like any other server. Its tools
// answer from the caller's view of the newest snapshot; server_status adds states that it requests from the monitor. They
// never reveal or count an item outside of that view.
//
// The tools call_tool and read_resource never arrive here. Admission unwraps them (actors/admission/unwrap.go), so the
// inner request is handled like any other.
//
// The actor owns the calls in progress (step.go) and the search index (index.go). The first search builds the index,
// later searches update it to the newest snapshot, and the actor drops it after a period without searches. Goroutines
// run the calls, so the actor never blocks. A few calls run at once, some wait in a queue, and the rest are refused.
//
// A search turns the query into concepts (query.go), each a word with its synonyms (synonyms.txt), and ranks the
// documents (document.go) that match them (ranking.go). TestSearchQuality measures the result.
package meta
