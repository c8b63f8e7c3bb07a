package downstream

// maxUnadmitted is the maximum number of connections without an admitted request. A client that sends nothing, or never
// finishes a TLS handshake, holds memory and a file descriptor until it times out. Beyond the limit, the oldest such
// connection is closed. Well-behaved clients send a request as soon as they connect, so they are not affected.
const maxUnadmitted = 2048

// addUnadmitted registers a new connection, and closes the oldest one without an admitted request if there are too many.
// The caller must hold mu.
func (s *Server) addUnadmitted(c *serverConn) {
	c.place = s.unadmitted.PushBack(c)
	if s.unadmitted.Len() <= orDefault(s.limits.unadmitted, maxUnadmitted) {
		return
	}
	oldest := s.unadmitted.Front().Value.(*serverConn)
	s.removeUnadmitted(oldest)
	oldest.Kill()
}

// removeUnadmitted removes a connection from the list of those without an admitted request, if it is in the list. The
// caller must hold mu.
func (s *Server) removeUnadmitted(c *serverConn) {
	if c.place != nil {
		s.unadmitted.Remove(c.place)
		c.place = nil
	}
}

// setAdmitted records that a request of the connection was admitted.
func (c *serverConn) setAdmitted() {
	if c.admitted {
		return
	}
	c.admitted = true
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.removeUnadmitted(c)
}
