package rawjson

import (
	"bytes"
	"encoding/json"
)

// member is a member of an object as encoding/json's token reader sees it.
type member struct {
	key   string
	value []byte // raw
}

// decodedMembers returns the members of a valid JSON object in order, duplicates included.
func decodedMembers(raw []byte) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		out = append(out, member{key.(string), bytes.TrimSpace(value)})
	}
	return out
}
