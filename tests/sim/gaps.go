package sim

// What clusters do not do yet. Each function restricts the stories of clusters; delete it with its gap.

// knowsLink returns the node at which the client can read the resource to which the result of a call links.
// Gap: only the node that has received a result knows the unlisted resources that it mentions.
func (a *clientRequest) knowsLink() *node {
	if !a.client.w.isCluster() {
		return nil
	}
	return a.servedBy()
}
