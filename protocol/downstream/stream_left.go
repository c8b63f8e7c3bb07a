package downstream

import "syscall"

// watchEnd makes the stream end when its client leaves. The caller must hold mu.
func (st *httpStream) watchEnd() {
	if socket, ok := st.raw.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil && st.server.watchStream(raw, st.number) {
			return
		}
	}
	go st.read()
}

// read waits until the client leaves. It discards the bytes that the client sends.
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

// watchStream makes the poller watch a registered stream. It returns false if that is not possible.
func (s *Server) watchStream(socket syscall.RawConn, number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[number] == nil { // the stream has already ended, and its socket is closed
		return true
	}
	if s.poller == nil {
		var sink [512]byte
		s.poller = newPoller(func(number uint64) { s.readStream(number, sink[:]) })
	}
	return s.poller != nil && s.poller.watch(socket, number)
}

// readStream reads once from a stream that the poller has found readable. Like read, it discards the bytes, and ends the
// stream if the client has left or has sent too many.
func (s *Server) readStream(number uint64, sink []byte) {
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
		go st.end() // the callbacks of OnGone must not delay other streams
	}
}
