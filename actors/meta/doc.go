// Package meta is the server that the gateway itself is to its clients: tools that search, list and describe what all servers
// have, so that an agent need not be given a thousand definitions. It is an actor that takes calls as a pool does, and so a
// session or a desk knows no difference. What its tools say is made from the caller's view of the newest snapshot: nothing that
// a list would not show, and no count of it, is said.
//
// The tools call_tool and read_resource are never seen here: they are unwrapped at the edge (actors/admission/inner.go), so that what
// they lead to goes the way of any call.
//
// The actor owns the calls at hand (step.go) and the index of the search (index.go), which is made at the first search, follows
// the snapshots from search to search, and goes when nobody has searched for a while. Its goroutines never hold up the actor: a
// few calls run at once, some wait, the rest is refused.
//
// A search turns the query into concepts (query.go), each a word with its synonyms (synonyms.txt), and ranks the documents
// (document.go) that have them (ranking.go). TestSearchQuality measures how well that works.
package meta
