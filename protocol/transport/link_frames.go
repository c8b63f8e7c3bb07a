package transport

import (
	"bytes"
	"errors"

	"goblin-actor/protocol"
)

const (
	linkNoiseBytes      = 512      // how much of a line that is no message is told
	linkMessageBytes    = 64 << 20 // when MaxMessageBytes is 0
	linkMessageBytesMax = 1 << 30  // offsets in a frame are 32 bit
)

// linkMaxMessage returns the longest message for an option MaxMessageBytes.
func linkMaxMessage(n int) int {
	if n <= 0 {
		return linkMessageBytes
	}
	return min(n, linkMessageBytesMax)
}

// errLinkNotJSON: the text does not even begin like a JSON-RPC message.
var errLinkNotJSON = errors.New("not a json-rpc message")

// linkBlank are the bytes that may stand around a JSON value.
const linkBlank = " \t\r\n"

// linkParse parses raw, one message or a batch of them (2025-03-26), and calls each for every message, in order.
// A batch with a fault in it is refused whole. raw is given away.
func linkParse(raw []byte, each func(f *protocol.Frame) error) error {
	if !linkLooksJSON(raw) {
		return errLinkNotJSON
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

// linkLooksJSON reports whether raw begins as an object or array does.
func linkLooksJSON(raw []byte) bool {
	raw = bytes.TrimLeft(raw, linkBlank)
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
}

// linkNoise makes the event for a line that is no message. What is kept of it is copied.
func linkNoise(line []byte, err error) Noise {
	return linkNoiseEnds(line, line, err)
}

// linkNoiseEnds is linkNoise for a line of which only the begin and the end are left.
func linkNoiseEnds(head, tail []byte, err error) Noise {
	id := bytes.Clone(protocol.BrokenAnswerID(head, tail))
	return Noise{Line: bytes.Clone(head[:min(len(head), linkNoiseBytes)]), ID: id, Err: err}
}
