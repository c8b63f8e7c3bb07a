package upstream

import (
	"bytes"
	"errors"

	"goblin-actor/protocol"
)

const (
	noiseBytes      = 512      // maximum length of Noise.Line
	messageBytes    = 64 << 20 // default of MaxMessageBytes
	messageBytesMax = 1 << 30  // offsets in a frame have 32 bits
)

// MaxMessage returns the maximum message size for the option MaxMessageBytes.
func MaxMessage(n int) int {
	if n <= 0 {
		return messageBytes
	}
	return min(n, messageBytesMax)
}

// ErrNotJSON is returned for text that does not start with an object or array.
var ErrNotJSON = errors.New("not a JSON-RPC message")

// Parse parses raw, which is a message or a batch (2025-03-26), and calls each for every message in order. It skips a
// byte order mark. If a message of a batch is invalid, Parse returns an error without calling each. The caller must
// not use raw afterwards.
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

// LooksJSON reports whether raw starts like an object or array, optionally after a byte order mark.
func LooksJSON(raw []byte) bool {
	raw = protocol.Trim(raw)
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
}

// NoiseOf returns the event for a line that is not a message. The event does not share memory with line.
func NoiseOf(line []byte, err error) Noise {
	return NoiseOfEnds(line, line, err)
}

// NoiseOfEnds is like NoiseOf, but for a line of which only the start and the end are known.
func NoiseOfEnds(head, tail []byte, err error) Noise {
	head = protocol.Trim(head)
	id := bytes.Clone(protocol.BrokenAnswerID(head, tail))
	return Noise{Line: bytes.Clone(head[:min(len(head), noiseBytes)]), ID: id, Err: err}
}
