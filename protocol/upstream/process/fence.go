package process

import (
	"errors"

	"goblin-actor/protocol/upstream"
)

// errFenced is the error of a program that another node of the cluster may run now.
var errFenced = errors.New("this node no longer has the lease of the server, so another node may run it")

// fenced reports whether a fence forbids running the program. A nil fence forbids nothing.
func fenced(f upstream.Fence) bool { return f != nil && !f.Held() }

// guard kills the whole group as soon as the fence is lost.
func (p *link) guard(f upstream.Fence) {
	select {
	case <-f.Lost():
		p.ban()
	case <-p.ctx.Done():
	}
}

// ban refuses all frames that were not written yet, and kills the whole group.
func (p *link) ban() {
	p.outbox.close(errFenced, true)
	p.again.Do(func() { close(p.hurry) })
	p.fail(errFenced)
}
