package protocol

import "goblin-actor/protocol/rawjson"

// MaxBatch is the maximum number of messages in a batch.
const MaxBatch = 1024

// IsBatch reports whether raw starts with '[', after any white space.
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
// all messages are valid. It refuses an empty batch with ErrShape, and more than MaxBatch messages with ErrTooLarge.
func ParseBatch(raw []byte, each func(*Frame) error) error {
	if err := Valid(raw); err != nil {
		return err
	}
	raw = trimSpace(raw)
	if raw[0] != '[' {
		return fault(ErrShape, 0, "a batch must be an array")
	}
	count := 0
	check := func(*Frame) error {
		if count++; count > MaxBatch {
			return fault(ErrTooLarge, 0, "a batch may have at most 1024 messages")
		}
		return nil
	}
	if err := walkBatch(raw, check); err != nil {
		return err
	}
	if count == 0 {
		return fault(ErrShape, 0, "the batch is empty")
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
