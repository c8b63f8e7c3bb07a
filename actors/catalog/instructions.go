package catalog

import "strings"

// maxInstructions is the limit of the instructions' size in bytes.
const maxInstructions = 8 << 10

// instructions joins the gateway's instructions and the servers', each under its server's name. If the parameter pass
// is true, there is only one server, and its instructions get no heading. The result is cut at maxInstructions.
func instructions(own string, servers []*Server, pass bool) string {
	var b strings.Builder
	b.WriteString(own)
	for _, s := range servers {
		if s.Instructions == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if !pass {
			b.WriteString("# " + s.Name + "\n\n")
		}
		b.WriteString(s.Instructions)
		if b.Len() > maxInstructions {
			break
		}
	}
	return clip(b.String(), maxInstructions-len("…"))
}
