package downstream

import (
	"crypto/tls"
	"syscall"

	"goblin-actor/internal/poll"
)

// watchEnd makes the stream end when its client leaves. The caller must hold mu.
func (st *httpStream) watchEnd() {
	if socket, ok := socketOf(st.raw); ok && st.server.watchStream(socket, st.number) {
		return
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
		s.poller = poll.New(func(number uint64) { s.readStream(number, sink[:]) })
	}
	return s.poller != nil && s.poller.Watch(socket, number)
}

// readStream reads once from a stream that the poller has found readable. Like read, it discards the bytes, and ends the
// stream if the client has left or has sent too many. With TLS, it leaves that to read.
func (s *Server) readStream(number uint64, sink []byte) {
	s.mu.Lock()
	st := s.streams[number]
	s.mu.Unlock()
	if st == nil {
		return
	}
	if _, secure := st.raw.(*tls.Conn); secure {
		if !st.reading { // once a client has sent something, it is about to leave
			st.reading = true
			go st.read()
		}
		return
	}
	left := true
	if socket, ok := socketOf(st.raw); ok {
		var n int
		n, left = readStray(socket, sink)
		st.stray += n
		s.counters.bytesIn.Add(uint64(n))
	}
	if left || st.stray >= streamStray {
		go st.end() // the callbacks of OnGone must not delay other streams
	}
}
