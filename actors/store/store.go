package store

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

const (
	lockWait = 500 * time.Millisecond // how long another process may keep the file from us
	openWait = 2 * time.Second        // a disk that takes longer does without us
)

// Options say where the state is kept.
type Options struct {
	Path    string           // of the file; "" = in memory only
	Gateway kernel.Reference // is told StateLoaded
	Log     *slog.Logger
}

// Spawn starts the actor under the gateway. What it knows outlives a panic and the restart after it.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	s := &state{gateway: o.Gateway, path: o.Path, dirty: map[string]message.KnownEra{}}
	_, _ = rand.Read(s.key[:]) // never fails
	options := kernel.SpawnOptions{Name: "store", Kind: "store", Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(kernel.Self) kernel.Logic { return &store{o, s} })
}

// store is the shell: it carries out what step wants done.
type store struct {
	Options
	state *state
}

func (s *store) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(s.state, msg, out)
}

type (
	openFile  struct{ path string }
	putEras   struct{ batch batch }
	closeFile struct { // after a last write, if there is something to write
		file  *file
		batch batch
	}
)

// batch is what is to be written to a file.
type batch struct {
	file *file
	eras map[string]message.KnownEra
}

// Messages of the store to itself.
type (
	opened struct {
		file  *file // nil when err is set
		held  contents
		aside string // where a damaged or foreign file went; "" = there was none
		why   error  // what was wrong with it
		err   error
	}
	openExpired struct{}
	written     struct{ err error }
)

// Abandon closes a file that came when the store was going.
func (o opened) Abandon(kernel.Why) {
	if o.file != nil {
		_ = o.file.close()
	}
}

func (s *store) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case openFile:
		self.Go(func(context.Context) any { return load(a.path) })
	case putEras:
		self.Go(func(context.Context) any { return written{a.batch.file.put(a.batch.eras)} })
	case closeFile:
		log := s.Log
		self.Go(func(context.Context) any {
			err := a.file.put(a.batch.eras)
			if closeErr := a.file.close(); err == nil {
				err = closeErr
			}
			if err != nil {
				log.Warn("the state file could not be completed", "err", err)
			}
			return nil
		})
	}
}

// load opens the file and reads it. A file that is damaged or foreign is set aside, and a new one begun.
func load(path string) opened {
	f, held, err := open(path, lockWait)
	if err == nil {
		return opened{file: f, held: held}
	}
	if !unusable(err) {
		return opened{err: err}
	}
	aside, moveErr := setAside(path)
	if moveErr != nil {
		return opened{err: moveErr}
	}
	why := err
	if f, held, err = open(path, lockWait); err != nil {
		return opened{err: err}
	}
	return opened{file: f, held: held, aside: aside, why: why}
}

// state is all the store knows. Written by step only.
type state struct {
	gateway kernel.Reference
	path    string
	key     message.SealingKey // in force when the file gives none
	phase   phase
	told    bool
	file    *file // open; handed to effects, never used here
	writing bool
	dirty   map[string]message.KnownEra // waits to be written
}

// phase is where the store stands.
type phase string

const (
	starting phase = ""        // before Started
	opening  phase = "opening" // the file is being opened
	kept     phase = "kept"    // the file is open
	memory   phase = "memory"  // there is no file, or none that can be used
)

// step applies msg to s and appends to out what is to be done about it.
func step(s *state, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		if s.path == "" || s.told {
			return s.inMemory(out)
		}
		s.phase = opening
		return append(out, kernel.Act(openFile{s.path}), kernel.WakeAfter(openWait, openExpired{}))
	case opened:
		return s.opened(m, out)
	case openExpired:
		if s.phase == opening {
			out = append(out, warn("the state file takes too long to open; what is learned is kept in memory", "path", s.path))
			return s.inMemory(out)
		}
	case kernel.GoPanicked:
		out = append(out, warn("the state file cannot be used; what is learned is kept in memory", "path", s.path, "err", m.Err))
		return s.inMemory(out)
	case message.RememberEra:
		if s.phase != memory {
			s.dirty[m.Server] = m.Known
		}
		return s.write(out)
	case written:
		s.writing = false
		if m.err != nil {
			out = append(out, warn("the state file can no longer be written; what is learned is kept in memory", "path", s.path, "err", m.err))
			return s.inMemory(out)
		}
		return s.write(out)
	case kernel.Stopping:
		if s.phase == kept {
			out = append(out, kernel.Act(closeFile{s.file, batch{s.file, s.dirty}}))
		}
		s.phase, s.file, s.writing, s.dirty = memory, nil, false, map[string]message.KnownEra{}
	}
	return out
}

// opened takes the file, unless it came too late.
func (s *state) opened(m opened, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.phase != opening:
		if m.file != nil {
			out = append(out, kernel.Act(closeFile{file: m.file}))
		}
		return out
	case m.err != nil:
		out = append(out, warn("what is learned is kept in memory, as the state file cannot be used", "path", s.path, "err", m.err))
		return s.inMemory(out)
	case m.aside != "":
		out = append(out, warn("the state file was damaged or another program's; it is set aside and a new one begun", "path", s.path, "aside", m.aside, "err", m.why))
	}
	s.phase, s.file, s.key = kept, m.file, m.held.key
	return s.write(s.tell(m.held.eras, out))
}

// inMemory goes on without a file.
func (s *state) inMemory(out []kernel.Effect) []kernel.Effect {
	if s.phase == kept {
		out = append(out, kernel.Act(closeFile{file: s.file}))
	}
	s.phase, s.file, s.dirty = memory, nil, map[string]message.KnownEra{}
	return s.tell(nil, out)
}

// tell gives the gateway what there is, once.
func (s *state) tell(eras map[string]message.KnownEra, out []kernel.Effect) []kernel.Effect {
	if s.told {
		return out
	}
	s.told = true
	return append(out, kernel.Tell(s.gateway, message.StateLoaded{Key: s.key, Eras: maps.Clone(eras)}))
}

// write writes what waits, unless a write runs.
func (s *state) write(out []kernel.Effect) []kernel.Effect {
	if s.phase != kept || s.writing || len(s.dirty) == 0 {
		return out
	}
	s.writing = true
	eras := s.dirty
	s.dirty = map[string]message.KnownEra{}
	return append(out, kernel.Act(putEras{batch{s.file, eras}}))
}

func warn(text string, args ...any) kernel.Effect {
	return kernel.Log(slog.LevelWarn, text, args...)
}
