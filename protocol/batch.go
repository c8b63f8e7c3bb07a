package protocol

import "goblin-actor/protocol/rawjson"

// MaxBatch is the maximum number of messages in a batch.
const MaxBatch = 1024

// IsBatch reports whether raw starts with an array.
func IsBatch(raw []byte) bool {
	for _, c := range raw {
		if !rawjson.IsSpace(c) {
			return c == '['
		}
	}
	return false
}

// ParseBatch parses an array of messages (MCP 2025-03-26, basic) and calls each with every message in order. The frame is
// reused, so each must copy what it keeps. An error from each ends the walk and is returned. ParseBatch calls each only if
// all messages are valid. It refuses an empty batch with ErrShape.
func ParseBatch(raw []byte, each func(*Frame) error) error {
	if err := Valid(raw); err != nil {
		return err
	}
	raw = trimSpace(raw)
	if raw[0] != '[' {
		return fault(ErrShape, 0, "a batch is an array")
	}
	count := 0
	check := func(*Frame) error {
		if count++; count > MaxBatch {
			return fault(ErrTooLarge, 0, "at most 1024 messages in a batch")
		}
		return nil
	}
	if err := walkBatch(raw, check); err != nil {
		return err
	}
	if count == 0 {
		return fault(ErrShape, 0, "an empty batch")
	}
	return walkBatch(raw, each)
}

func walkBatch(raw []byte, each func(*Frame) error) error {
	var f Frame
	for w := rawjson.WalkElements(raw, rawjson.Whole(raw)); w.Next(); {
		if err := f.Parse(w.Value.Of(raw)); err != nil {
			return err
		}
		if err := each(&f); err != nil {
			return err
		}
	}
	return nil
}
