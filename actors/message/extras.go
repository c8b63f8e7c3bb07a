package message

import (
	"encoding/json"
	"slices"
)

// maxExtras limits each kind of a client's extra capabilities, in bytes, since they are sent with every request.
const maxExtras = 4 << 10

// Extras are capabilities that the gateway only passes on. A legacy client declares them once, and a modern server receives
// them with each request. Each is a raw JSON object; nil = none.
type Extras struct {
	Experimental []byte
	Extensions   []byte // without the tasks extension, which the gateway declares itself
}

// ExtrasOf parses a client's capabilities. Invalid or too large ones count as not declared.
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

// With returns the capabilities, a raw JSON object, with the extras added, and with the tasks extension if the parameter
// tasks is true. It does not modify its argument.
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

// join returns an object with the members of a, which must not be empty, and of b.
func join(a, b []byte) []byte {
	if len(b) <= len("{}") {
		return a
	}
	return slices.Concat(a[:len(a)-1], []byte{','}, b[1:])
}
