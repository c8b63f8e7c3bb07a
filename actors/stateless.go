package actors

import (
	"slices"

	"goblin-actor/actors/kernel"
)

// statelessSessions holds the stateless sessions. Together they serve all clients without a session.
type statelessSessions struct {
	refs []kernel.Reference
}

func (v *statelessSessions) add(ref kernel.Reference) { v.refs = append(v.refs, ref) }

func (v *statelessSessions) has(ref kernel.Reference) bool { return slices.Contains(v.refs, ref) }

func (v *statelessSessions) remove(ref kernel.Reference) {
	v.refs = slices.DeleteFunc(v.refs, func(each kernel.Reference) bool { return each == ref })
}

// tell sends msg to each stateless session, in the order of their numbers.
func (v *statelessSessions) tell(msg any, out []kernel.Effect) []kernel.Effect {
	for _, ref := range v.refs {
		out = append(out, kernel.Tell(ref, msg))
	}
	return out
}
