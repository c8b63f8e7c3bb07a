package kernel

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// SpawnOptions say what an actor is called, what it may queue and how often it may fail.
type SpawnOptions struct {
	Name     string        // of its own, may contain slashes; a child's full name is parent/Name
	Kind     string        // for Info and metrics, like "session"
	Mailbox  int           // messages before Work is refused, those that are keyed and log lines not counted; 0 = 1024
	Fair     bool          // Laned messages take turns, and each lane has an eighth of the mailbox for Work
	Restarts int           // panics survived within Within, then it stops; 0 = 10, negative = none
	Within   time.Duration // 0 = 10 s
	Log      *slog.Logger  // where its effects of Log go; nil = the system's, with the attribute "actor"
}

// Spawn starts an actor at the top. build makes the logic of each incarnation, on the actor's goroutine; a panic in
// it counts as one of the actor's. Spawn returns before the actor has started; messages sent meanwhile are kept.
// When the name is taken or the system stops, the zero Reference is returned and the reason is logged.
func Spawn(s *System, o SpawnOptions, build func(self Self) Logic) Reference {
	c := newCell(s, nil, o)
	if !s.enter(c) {
		return Reference{}
	}
	if _, err := s.root.SpawnNamed(props(c, build), c.name); err != nil {
		return c.stillborn(err)
	}
	return Reference{c}
}

// SpawnChild is Spawn for a child of the actor self, which supervises it and is told ChildStopped at its end.
// Children stop before their parent does, and when it restarts. It must be called on the actor's own goroutine:
// in Act or the function that makes the Logic.
func SpawnChild(self Self, o SpawnOptions, build func(self Self) Logic) Reference {
	parent := self.life.cell
	c := newCell(parent.system, parent, o)
	if !parent.system.enter(c) {
		return Reference{}
	}
	if _, err := self.life.context.SpawnNamed(props(c, build), o.Name); err != nil {
		return c.stillborn(err)
	}
	if parent.children == nil {
		parent.children = make(map[string]*cell)
	}
	parent.children[c.name] = c
	return Reference{c}
}

func newCell(s *System, parent *cell, o SpawnOptions) *cell {
	c := &cell{system: s, parent: parent, name: o.Name, kind: o.Kind, restarts: o.Restarts, within: o.Within, lines: o.Log}
	c.door = newDoor(c)
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

// stillborn undoes enter: protoactor has a process of its own under that name.
func (c *cell) stillborn(err error) Reference {
	c.system.log.Error("actor not spawned", "actor", c.name, "error", err)
	c.box.close(gone)
	c.system.leave(c)
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
