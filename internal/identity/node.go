package identity

// NodeID is the id of the principal Node.
const NodeID = "node"

// AllRights are the rights of the principal Node: everything is permitted, whatever the policy. No role has this name.
const AllRights = "*"

// Node is the principal of the other nodes of the cluster, as clients of the servers that run on this node. They have
// already decided what their clients may do.
var Node = &Principal{ID: NodeID, Name: NodeID, Via: ViaNode, Rights: AllRights, Usage: new(Usage)}

// Behalf says for whom another node of the cluster sends a request.
type Behalf struct {
	Who    *Principal // the principal of the node's client; nil = it is not authenticated, or the node itself sends the request
	Client string     // identifies the node's client in the cluster; "" = the node itself sends the request
}

// OnBehalf returns the principal of one request that another node sends: a copy of Node that also says for whom the node sends it.
func OnBehalf(b Behalf) *Principal {
	p := *Node
	p.behalf = &b
	return &p
}

// Behalf returns for whom another node sends the request of this principal, or nil if no node sends it.
func (p *Principal) Behalf() *Behalf {
	if p == nil {
		return nil
	}
	return p.behalf
}
