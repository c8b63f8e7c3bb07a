package sim

// What clusters do not do yet. Each function restricts the stories of clusters; delete it with its gap.

// cancelable returns the node at which the client can cancel a call.
// Gap: notifications/cancelled reaches only the calls that run at the session's home.
func (c *client) cancelable() *node {
	if c.modern || !c.w.isCluster() {
		return nil
	}
	return c.home()
}

// keptAlive returns the node that must get a ping for the client's session to stay, and to tell the client if it has ended.
// Gap: guests do not ask the home whether the session lives, nor keep it from being idle.
func (c *client) keptAlive() *node {
	if !c.w.isCluster() {
		return nil
	}
	return c.home()
}

// logsAt returns the node at which a call of the client shows its server's log lines, if the other client's call runs at
// its session's home.
// Gap: guests do not know the log level that the client has set at its home.
func (c *client) logsAt(other *client) *node {
	switch {
	case !c.w.isCluster():
		return nil
	case c.modern:
		return other.home()
	}
	return c.home()
}

// knowsLink returns the node at which the client can read the resource to which the result of a call links.
// Gap: only the node that has received a result knows the unlisted resources that it mentions.
func (a *clientRequest) knowsLink() *node {
	if !a.client.w.isCluster() {
		return nil
	}
	return a.servedBy()
}
