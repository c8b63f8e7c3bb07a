package downstream

// maxUnknown is how many connections there may be of which no request was admitted yet. Whoever connects and says nothing, or
// never ends a handshake, takes memory and a descriptor until its time is over; with so many of them the oldest goes, so that who
// comes to say something always finds room: a request is there within moments.
const maxUnknown = 2048

// meet notes a connection of which nothing is known, and closes the oldest of too many. The caller has the lock.
func (s *Server) meet(c *serverConn) {
	c.place = s.unknown.PushBack(c)
	if s.unknown.Len() <= orDefault(s.limits.unknown, maxUnknown) {
		return
	}
	oldest := s.unknown.Front().Value.(*serverConn)
	s.part(oldest)
	oldest.kill()
}

// part forgets a connection that is no stranger any more, or gone. The caller has the lock.
func (s *Server) part(c *serverConn) {
	if c.place != nil {
		s.unknown.Remove(c.place)
		c.place = nil
	}
}

// greet says that a request of the connection was admitted.
func (c *serverConn) greet() {
	if c.known {
		return
	}
	c.known = true
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.part(c)
}
