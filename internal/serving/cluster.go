package serving

import "goblin-actor/actors"

// Join sets what a node of a cluster shares with the others: the request rates of principals, and revoked keys.
func (e *Security) Join(c *actors.Cluster) {
	e.rates.ShareSpent()
	c.Rates, c.Revoked = &e.rates, e.gate.Revoke
}

// lost tells the cluster which keys were removed from the key file.
func (e *Security) lost(holders []string) {
	if g := e.gateway.Load(); g != nil {
		g.RevokeHolders(holders)
	}
}

// found tells the cluster which keys were added to the key file, because they may have been revoked before.
func (e *Security) found(holders []string) {
	if g := e.gateway.Load(); g != nil {
		g.RestoreHolders(holders)
	}
}

// tellFacts tells the cluster the digests of the configuration and the key file, so that nodes warn if they differ.
func (e *Security) tellFacts() {
	if g := e.gateway.Load(); g != nil && e.digest != "" {
		g.NodeFacts(e.digest, e.gate.FileDigest())
	}
}
