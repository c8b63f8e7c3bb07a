package interop

// limit is something a peer cannot do, whoever it talks to.
type limit struct {
	key    string            // in the matrix
	client func(caller) bool // nil = all
	server func(*fixture) bool
	talks  []string
	why    string
	proof  string // Markdown: the place in the peer's source or in the specification
}

var limits = []limit{}
