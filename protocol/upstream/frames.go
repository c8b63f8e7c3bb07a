package upstream

import (
	"bytes"
	"errors"

	"goblin-actor/protocol"
)

const (
	noiseBytes      = 512      // how much of a line that is no message is told
	messageBytes    = 64 << 20 // when MaxMessageBytes is 0
	messageBytesMax = 1 << 30  // offsets in a frame are 32 bit
)

// MaxMessage returns the longest message for an option MaxMessageBytes.
func MaxMessage(n int) int {
	if n <= 0 {
		return messageBytes
	}
	return min(n, messageBytesMax)
}

// ErrNotJSON is returned for a text that does not even begin like a JSON-RPC message.
var ErrNotJSON = errors.New("not a json-rpc message")

// Parse parses raw, one message or a batch of them (2025-03-26), and calls each for every message, in order. It skips a byte order mark.
// A batch with a fault in it is refused whole. raw is given away.
func Parse(raw []byte, each func(f *protocol.Frame) error) error {
	raw = protocol.Trim(raw)
	if !LooksJSON(raw) {
		return ErrNotJSON
	}
	if !protocol.IsBatch(raw) {
		var f protocol.Frame
		if err := f.Parse(raw); err != nil {
			return err
		}
		return each(&f)
	}
	var frames []protocol.Frame
	err := protocol.ParseBatch(raw, func(f *protocol.Frame) error {
		frames = append(frames, *f)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range frames {
		if err := each(&frames[i]); err != nil {
			return err
		}
	}
	return nil
}

// LooksJSON reports whether raw begins as an object or array does, maybe behind a byte order mark.
func LooksJSON(raw []byte) bool {
	raw = protocol.Trim(raw)
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
}

// NoiseOf makes the event for a line that is no message. What is kept of it is copied.
func NoiseOf(line []byte, err error) Noise {
	return NoiseOfEnds(line, line, err)
}

// NoiseOfEnds is NoiseOf for a line of which only the begin and the end are left.
func NoiseOfEnds(head, tail []byte, err error) Noise {
	head = protocol.Trim(head)
	id := bytes.Clone(protocol.BrokenAnswerID(head, tail))
	return Noise{Line: bytes.Clone(head[:min(len(head), noiseBytes)]), ID: id, Err: err}
}
