package message

import (
	"encoding/json"
	"slices"
)

// maxExtras bounds what is kept of each kind of a client's own capabilities, in bytes: they go out with every request.
const maxExtras = 4 << 10

// Extras are capabilities that mean nothing to the gateway: a legacy client says them once, a modern server hears them with
// each of its requests. Raw JSON objects, nil = none.
type Extras struct {
	Experimental []byte
	Extensions   []byte // without tasks, which are the gateway's own affair
}

// ExtrasOf reads a client's capabilities; what makes no sense, or is too large, counts as not declared.
func ExtrasOf(capabilities []byte) Extras {
	var c struct{ Experimental, Extensions map[string]json.RawMessage }
	if len(capabilities) == 0 || json.Unmarshal(capabilities, &c) != nil {
		return Extras{}
	}
	delete(c.Extensions, ExtensionTasks)
	return Extras{objectOf(c.Experimental), objectOf(c.Extensions)}
}

func objectOf(members map[string]json.RawMessage) []byte {
	text, err := json.Marshal(members)
	if len(members) == 0 || err != nil || len(text) > maxExtras {
		return nil
	}
	return text
}

// With returns capabilities, a raw JSON object, and these; tasks: and the extension of tasks. Nothing is written to.
func (e Extras) With(capabilities []byte, tasks bool) []byte {
	extensions := e.Extensions
	if tasks {
		extensions = join([]byte(`{"`+ExtensionTasks+`":{}}`), extensions)
	}
	if extensions != nil {
		capabilities = join(slices.Concat([]byte(`{"extensions":`), extensions, []byte{'}'}), capabilities)
	}
	if e.Experimental != nil {
		capabilities = join(slices.Concat([]byte(`{"experimental":`), e.Experimental, []byte{'}'}), capabilities)
	}
	return capabilities
}

// join returns an object with the members of both; a has some.
func join(a, b []byte) []byte {
	if len(b) <= len("{}") {
		return a
	}
	return slices.Concat(a[:len(a)-1], []byte{','}, b[1:])
}
