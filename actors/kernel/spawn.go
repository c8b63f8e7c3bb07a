package kernel

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// SpawnOptions configure an actor.
type SpawnOptions struct {
	Name     string        // may contain slashes; a child's full name is the parent's full name, a slash and Name
	Kind     string        // for Info and metrics, like "session"
	Mailbox  int           // limit of queued messages, without keyed messages and log lines; further Work is refused; 0 = 1024
	Fair     bool          // the lanes of LaneMessages take turns, and each may use an eighth of the mailbox for Work
	Restarts int           // panics allowed within Within before the actor stops; 0 = 10, negative = none
	Within   time.Duration // 0 = 10 s
	Log      *slog.Logger  // receives the Log effects; nil = the system's logger with the attribute "actor"
}

// Spawn starts a top-level actor. build returns the Logic of each incarnation and is called on the actor's goroutine; a
// panic in it counts as a panic of the actor. Spawn returns before the actor has started; messages sent in the meantime
// are queued. If the name is taken or the system is stopping, Spawn logs the reason and returns the zero Reference.
func Spawn(s *System, o SpawnOptions, build func(self Self) Logic) Reference {
	c := newCell(s, nil, o)
	if !s.register(c) {
		return Reference{}
	}
	if _, err := s.root.SpawnNamed(props(c, build), c.name); err != nil {
		return c.notSpawned(err)
	}
	return Reference{c}
}

// SpawnChild is Spawn for a child of the actor self, which supervises it and receives ChildStopped at its end. Unlike
// Spawn, it works while the system is stopping. Children stop before their parent stops or restarts. It must be called
// on the parent's goroutine: in Act, or in the function that builds the Logic.
func SpawnChild(self Self, o SpawnOptions, build func(self Self) Logic) Reference {
	parent := self.incarnation.cell
	c := newCell(parent.system, parent, o)
	if !parent.system.register(c) {
		return Reference{}
	}
	if _, err := self.incarnation.context.SpawnNamed(props(c, build), o.Name); err != nil {
		return c.notSpawned(err)
	}
	if parent.children == nil {
		parent.children = make(map[string]*cell)
	}
	parent.children[c.name] = c
	return Reference{c}
}

func newCell(s *System, parent *cell, o SpawnOptions) *cell {
	c := &cell{system: s, parent: parent, name: o.Name, kind: o.Kind, restarts: o.Restarts, within: o.Within, effectLog: o.Log}
	c.timers = newTimerTarget(c)
	if parent != nil {
		c.name = parent.name + "/" + o.Name
	}
	if c.restarts == 0 {
		c.restarts = 10
	}
	if c.within <= 0 {
		c.within = 10 * time.Second
	}
	c.box.init(c, o.Mailbox, o.Fair)
	return c
}

// notSpawned undoes register, because protoactor itself already uses the name.
func (c *cell) notSpawned(err error) Reference {
	c.system.log.Error("actor not spawned", "actor", c.name, "error", err)
	c.box.close(gone)
	c.system.unregister(c)
	return Reference{}
}

func props(c *cell, build func(self Self) Logic) *actor.Props {
	return actor.PropsFromProducer(
		func() actor.Actor { return &shell{cell: c, build: build} },
		actor.WithDispatcher(c.system.dispatcherOf()),
		actor.WithMailbox(func() actor.Mailbox { return &c.box }),
		actor.WithSupervisor(c.system.strategy),
	)
}
