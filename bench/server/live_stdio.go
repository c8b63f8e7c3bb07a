package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"goblin-actor/bench/wire"
)

// serveLiveStdio is like ServeStdio, for a server that also sends notifications.
func (s *rawServer) serveLiveStdio(o Options, r *bufio.Reader, w *bufio.Writer) error {
	if err := s.live.control(o.Control); err != nil {
		return err
	}
	write := func(message []byte) error { // the caller holds peer.mu
		_, _ = w.Write(message)
		_ = w.WriteByte('\n')
		return w.Flush()
	}
	peer := &outStream{write: write}
	if s.discover == nil {
		s.live.open(peer)
	}
	speak := func(message []byte) error {
		peer.mu.Lock()
		defer peer.mu.Unlock()
		return write(message)
	}
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		line = bytes.TrimSpace(line)
		if s.discover != nil && s.tookStream(line, speak) {
			continue
		}
		id, tail, err := s.answer(line, nil)
		if err != nil {
			return err
		}
		if tail == nil {
			continue
		}
		if err := speak(append(append([]byte(wire.ResponseHead), id...), tail...)); err != nil {
			return err
		}
	}
}

// tookStream opens or closes a subscription stream if the message requests it, and reports whether the message is such a
// request.
func (s *rawServer) tookStream(line []byte, speak func([]byte) error) bool {
	switch {
	case isListen(line):
		s.live.wait()
		e := &outStream{write: speak}
		ack, err := listenAnswer(line, e)
		if err == nil {
			_ = speak(ack)
			s.live.open(e)
		}
		return true
	case bytes.Contains(line, []byte(`"notifications/cancelled"`)):
		var note struct {
			Params struct{ RequestID json.RawMessage }
		}
		if json.Unmarshal(line, &note) == nil {
			s.live.closeID(note.Params.RequestID)
		}
		return true
	}
	return false
}
