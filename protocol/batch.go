package protocol

import "goblin-actor/protocol/rawjson"

// MaxBatch is how many messages a batch may hold.
const MaxBatch = 1024

// IsBatch reports whether raw begins like an array.
func IsBatch(raw []byte) bool {
	for _, c := range raw {
		if !rawjson.IsSpace(c) {
			return c == '['
		}
	}
	return false
}

// ParseBatch reads an array of messages (MCP 2025-03-26, basic) and calls each with one after the other. The frame is used again for
// the next one: copy it. An error of each ends the walk and is returned. Nothing is called unless all of them are messages;
// an empty batch is refused with ErrShape.
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
