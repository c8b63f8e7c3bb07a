// Package membership is the actor that knows the members of the cluster. Each node has one.
//
// The actors of all nodes send each other beats (cluster.Beat). An incarnation whose beats are missing, or that refuses
// connections and has no process, is given up. That verdict is final. A node that hears its own verdict, or finds that its
// last beat is too old because it was stopped, continues under a new incarnation.
//
// Invariants:
//
//   - The step is deterministic. Random incarnations and what the node has spent arrive as messages.
//   - An incarnation that this node has given up is never a member again, as long as the verdict is remembered.
//   - This node is not in its own view between its verdict and its new incarnation.
//   - Tables are bounded: maxPeers nodes, maxVerdicts verdicts, maxRevoked revocations, cluster.MaxFormer former
//     incarnations, maxOutsiders refused nodes. Except for peers, old entries are also dropped.
//   - At most one query to a node is in progress for each purpose.
//   - The clocks of two nodes are compared only for a warning, and to order members by the starts of their incarnations.
package membership
