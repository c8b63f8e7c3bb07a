package catalog

import "strings"

// maxInstructions is how many bytes of instructions clients are given.
const maxInstructions = 8 << 10

// instructions joins our own and those of the servers, each under its server's name; alone and passed through they stay as they are.
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
