package secret

import (
	"fmt"
	"strings"
)

// Limits of a shape.
const (
	maxShapeMembers = 12
	maxShapeKey     = 40 // bytes
	maxShapeDepth   = 2
)

// Shape returns the types and sizes in a JSON text of a peer, such as {path: string 18 B, head: number}, without its values. If the
// end of the text is missing, the shape is that of its beginning and ends with "…". It returns "" if the text is not JSON.
func (r *Redactor) Shape(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	n, ok := parsePayload(string(text), true)
	if !ok {
		return ""
	}
	var b strings.Builder
	writeShape(&b, r, n, 0)
	return r.Cut(b.String())
}

func writeShape(b *strings.Builder, r *Redactor, n *payloadNode, depth int) {
	switch {
	case n.kind == '"':
		fmt.Fprintf(b, "string %d B", len(n.text))
	case n.kind == 'n' && (n.text == "true" || n.text == "false"):
		b.WriteString("boolean")
	case n.kind == 'n' && n.text == "null":
		b.WriteString("null")
	case n.kind == 'n':
		b.WriteString("number")
	case n.kind == '[' && len(n.kids) == 0:
		b.WriteString("[]")
	case n.kind == '[' && depth < maxShapeDepth:
		b.WriteString("[")
		writeShape(b, r, n.kids[0], depth)
		if len(n.kids) > 1 {
			fmt.Fprintf(b, ", %d more", len(n.kids)-1)
		}
		b.WriteString("]")
		return
	case n.kind == '{' && depth <= maxShapeDepth:
		shapeMembers(b, r, n, depth)
	default:
		b.WriteString(more)
		return
	}
	if n.cut {
		b.WriteString(more)
	}
}

func shapeMembers(b *strings.Builder, r *Redactor, n *payloadNode, depth int) {
	b.WriteString("{")
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxShapeMembers {
			fmt.Fprintf(b, "%d more", len(n.kids)-i)
			break
		}
		key := (&payloadWriter{known: r}).name(n.keys[i])
		if len(key) > maxShapeKey {
			key = strings.ToValidUTF8(key[:maxShapeKey], "") + more
		}
		b.WriteString(key + ": ")
		writeShape(b, r, kid, depth+1)
	}
	b.WriteString("}")
}
