package downstream

import "syscall"

// attend sees to it that the stream ends when its client leaves. The caller has the stream's lock.
func (st *httpStream) attend() {
	if socket, ok := st.raw.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil && st.server.watchStream(raw, st.number) {
			return
		}
	}
	go st.read()
}

// read waits for the client's end. What it says here means nothing and is dropped.
func (st *httpStream) read() {
	var sink [64]byte
	for stray := 0; stray < streamStray; {
		n, err := st.raw.Read(sink[:])
		stray += n
		st.server.counters.bytesIn.Add(uint64(n))
		if err != nil {
			break
		}
	}
	st.end()
}

// watchStream has the poller watch a registered stream, if there is one and it can.
func (s *Server) watchStream(socket syscall.RawConn, number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[number] == nil { // it has ended meanwhile, and its socket with it
		return true
	}
	if s.poller == nil {
		var sink [512]byte
		s.poller = newPoller(func(number uint64) { s.streamSpoke(number, sink[:]) })
	}
	return s.poller != nil && s.poller.watch(socket, number)
}

// streamSpoke does for the streams of the poller what read does: something has come on one.
func (s *Server) streamSpoke(number uint64, sink []byte) {
	s.mu.Lock()
	st := s.streams[number]
	s.mu.Unlock()
	if st == nil {
		return
	}
	left := true
	if socket, ok := st.raw.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			var n int
			n, left = readStray(raw, sink)
			st.stray += n
			s.counters.bytesIn.Add(uint64(n))
		}
	}
	if left || st.stray >= streamStray {
		go st.end() // who wants to know of the end shall not keep the others waiting
	}
}
