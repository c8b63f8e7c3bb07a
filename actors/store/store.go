package store

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/masterkey"
)

const (
	readWait    = 200 * time.Millisecond // wait for another gateway that is writing, which takes a few milliseconds
	writeWait   = time.Second            // the same, when no caller waits
	openWait    = 2 * time.Second        // time to open the file, after which the gateway continues without it
	writeSoon   = 250 * time.Millisecond // delay of a write, so that changes within it are written together
	lockedPause = 5 * time.Second        // before the next attempt to write a locked file
)

// Options configure the store.
type Options struct {
	Path    string           // of the state file; "" = keep state in memory
	Gateway kernel.Reference // receives StateLoaded

	// Master returns the key that seals secrets in the file. It is called on a separate goroutine. nil = masterkey.Load
	// finds or creates the key.
	Master func() (*masterkey.Master, error)
	Log    *slog.Logger
}

// Spawn starts the actor as a child of the gateway. Its state survives a panic and the restart after it.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	if o.Master == nil {
		o.Master = func() (*masterkey.Master, error) {
			return masterkey.Load(masterkey.Options{Dir: filepath.Dir(o.Path), Log: o.Log})
		}
	}
	s := &state{gateway: o.Gateway, path: o.Path, dirty: newBatch(), inFlight: newBatch()}
	_, _ = rand.Read(s.key[:]) // never fails
	options := kernel.SpawnOptions{Name: "store", Kind: "store", Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(kernel.Self) kernel.Logic { return &store{o, s} })
}

// store performs the effects of step.
type store struct {
	Options
	state *state
}

func (s *store) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(s.state, msg, out)
}

type (
	readFile  struct{ path string }
	writeFile struct {
		path  string
		vault *vault
		key   message.SealingKey // for a new file
		batch batch
		last  bool // no actor receives the result
	}
	readRequestedTokens struct {
		path  string
		vault *vault
		asked []message.ReadToken
	}
)

// Messages of the store to itself.
type (
	loaded struct {
		held  contents
		vault *vault
		aside string // new path of a renamed file; "" = none was renamed
		why   error  // why it was renamed
		err   error
	}
	openExpired struct{}
	writeDue    struct{}
	written     struct {
		batch   batch
		refused map[string]bool // tokens beyond the limit
		aside   string          // as in loaded
		why     error
		err     error
	}
	tokensRead struct{ answers []message.TokenRead } // in the order of the requests
)

func (s *store) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case readFile:
		master := s.Master
		self.Go(func(context.Context) any { return load(a.path, master) })
	case readRequestedTokens:
		self.Go(func(context.Context) any { return tokensRead{readRequested(a)} })
	case writeFile:
		log := s.Log
		self.Go(func(context.Context) any {
			w := save(a)
			if a.last {
				if w.err != nil {
					log.Warn("last write to the state file failed", "err", w.err)
				}
				return nil
			}
			return w
		})
	}
}

// load reads the file. A file that is damaged, foreign, or sealed with a lost master key is renamed, and a new one is
// created.
func load(path string, master func() (*masterkey.Master, error)) loaded {
	m, err := master()
	if err != nil {
		return loaded{err: err}
	}
	v, err := newVault(m)
	if err != nil {
		return loaded{err: err}
	}
	was, _ := os.Stat(path)
	held, err := read(path, v, readWait)
	if err == nil {
		return loaded{held: held, vault: v}
	}
	if !unusable(err) && !errors.Is(err, errLost) || was == nil {
		return loaded{err: err}
	}
	aside, moveErr := setAside(path, was)
	if moveErr != nil {
		return loaded{err: moveErr}
	}
	why := err
	if held, err = read(path, v, readWait); err != nil {
		return loaded{err: err}
	}
	return loaded{held: held, vault: v, aside: aside, why: why}
}

// save writes to the file. If it finds the file damaged, it replaces the file as load does. It does not change a file that
// another gateway has created in the meantime with another master key.
func save(a writeFile) written {
	was, _ := os.Stat(a.path)
	refused, err := write(a.path, a.vault, a.key, a.batch, writeWait)
	if !unusable(err) || was == nil {
		return written{batch: a.batch, refused: refused, err: err}
	}
	aside, moveErr := setAside(a.path, was)
	if moveErr != nil {
		return written{batch: a.batch, err: moveErr}
	}
	refused, again := write(a.path, a.vault, a.key, a.batch, writeWait)
	return written{a.batch, refused, aside, err, again}
}

// state is the store's entire state. Only step modifies it.
type state struct {
	gateway    kernel.Reference
	path       string
	vault      *vault             // nil until the file has been read
	key        message.SealingKey // used if the file has none
	phase      phase
	loadedSent bool
	writing    bool
	due        bool  // a writeDue timer is set
	lockLogged bool  // it was logged that the file is locked
	dirty      batch // not yet written

	inFlight batch               // being written
	reading  []message.ReadToken // being read
	unread   []message.ReadToken // waiting to be read
}

// phase is the state of the store.
type phase string

const (
	starting phase = ""        // before Started
	opening  phase = "opening" // the file is being read
	kept     phase = "kept"    // changes are written to the file
	memory   phase = "memory"  // there is no usable file
)

// step applies msg to s and appends the resulting effects to out.
func step(s *state, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(out)
	case loaded:
		return s.loaded(m, out)
	case openExpired:
		if s.phase == opening {
			out = append(out, warn("reading the state file takes too long; state is kept in memory only", "path", s.path))
			return s.inMemory(out)
		}
	case kernel.GoPanicked:
		out = append(out, warn("the state file cannot be used; state is kept in memory only", "path", s.path, "err", m.Err))
		return s.inMemory(out)
	case message.RememberEra:
		if s.phase != memory {
			s.dirty.eras[m.Server] = m.Known
		}
		return s.writeSoon(writeSoon, out)
	case message.RememberCatalog:
		if _, waits := s.dirty.catalogs[m.Server]; s.phase != memory && (waits || len(s.dirty.catalogs) < maxCatalogs) {
			s.dirty.catalogs[m.Server] = m.Known
		}
		return s.writeSoon(writeSoon, out)
	case message.RememberToken:
		return s.rememberToken(m, out)
	case message.ReadToken:
		return s.readToken(m, out)
	case tokensRead:
		return s.tokensRead(m.answers, out)
	case message.RememberAudit:
		if s.phase != memory {
			s.dirty.audit = m.Mark
		}
		return s.writeSoon(writeSoon, out)
	case writeDue:
		s.due = false
		return s.write(out)
	case written:
		return s.written(m, out)
	case kernel.Stopping:
		if s.phase == kept && !s.dirty.empty() {
			out = append(out, kernel.Act(writeFile{s.path, s.vault, s.key, s.dirty, true}))
		}
		s.phase, s.dirty = memory, newBatch()
		return s.answerAll(out)
	}
	return out
}

// start begins to read the file, if one is configured and its content was not sent to the gateway before a restart. After a restart no
// operation is in progress, so start resumes the pending writes and reads.
func (s *state) start(out []kernel.Effect) []kernel.Effect {
	s.writing, s.due = false, false
	s.dirty.under(s.inFlight)
	s.inFlight = newBatch()
	s.unread, s.reading = append(s.reading, s.unread...), nil
	switch {
	case s.loadedSent:
		return s.readNext(s.writePending(out))
	case s.path == "":
		return s.inMemory(out)
	}
	s.phase = opening
	return append(out, kernel.Act(readFile{s.path}), kernel.WakeAfter(openWait, openExpired{}))
}

// loaded adopts the content of the file, unless openWait has passed.
func (s *state) loaded(m loaded, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.phase != opening:
		return out
	case m.err != nil:
		out = append(out, warn("the state file cannot be used; state is kept in memory only", "path", s.path, "err", m.err))
		return s.inMemory(out)
	case m.aside != "":
		out = s.warnAside(m.aside, m.why, out)
	case m.held.unopened > 0:
		out = append(out, warn("some logins in the state file are damaged or were moved; log in to these servers again", "path", s.path, "logins", m.held.unopened))
	case m.held.damaged > 0:
		out = append(out, warn("some server catalogs in the state file are damaged; these servers are listed again", "path", s.path, "servers", m.held.damaged))
	}
	s.phase, s.key, s.vault = kept, m.held.key, m.vault
	return s.readNext(s.writePending(s.tell(m.held, out)))
}

// inMemory continues without a file.
func (s *state) inMemory(out []kernel.Effect) []kernel.Effect {
	out = s.tell(contents{}, out)
	s.phase = memory
	out = s.answerAll(out)
	s.dirty = newBatch()
	return out
}

// tell sends the file's content to the gateway, once.
func (s *state) tell(c contents, out []kernel.Effect) []kernel.Effect {
	if s.loadedSent {
		return out
	}
	s.loadedSent = true
	return append(out, kernel.Tell(s.gateway, message.StateLoaded{Key: s.key, Eras: c.eras, Catalogs: c.catalogs, Tokens: c.tokens, Audit: c.audit}))
}

// writeSoon schedules a write after a pause, so that further changes are written with it.
func (s *state) writeSoon(pause time.Duration, out []kernel.Effect) []kernel.Effect {
	if s.phase != kept || s.writing || s.due || s.dirty.empty() {
		return out
	}
	s.due = true
	return append(out, kernel.WakeAfter(pause, writeDue{}))
}

// write writes the pending changes, unless a write is in progress.
func (s *state) write(out []kernel.Effect) []kernel.Effect {
	if s.phase != kept || s.writing || s.dirty.empty() {
		return out
	}
	s.writing = true
	s.inFlight, s.dirty = s.dirty, newBatch()
	return append(out, kernel.Act(writeFile{s.path, s.vault, s.key, s.inFlight, false}))
}

// written handles the end of a write. Changes that could not be written to a locked file are written later.
func (s *state) written(m written, out []kernel.Effect) []kernel.Effect {
	s.writing, s.inFlight = false, newBatch()
	out = s.tokensWritten(m, out)
	if m.aside != "" {
		out = s.warnAside(m.aside, m.why, out)
	}
	switch {
	case s.phase != kept:
		return out
	case errors.Is(m.err, errLocked):
		s.dirty.under(m.batch.withoutRequests())
		if !s.lockLogged {
			s.lockLogged = true
			out = append(out, warn("another process has locked the state file; state is written once it unlocks the file", "path", s.path))
		}
		return s.writeSoon(lockedPause, out)
	case m.err != nil:
		out = append(out, warn("the state file can no longer be written; state is kept in memory only", "path", s.path, "err", m.err))
		return s.inMemory(out)
	}
	s.lockLogged = false
	return s.writePending(out)
}

// writePending writes pending changes. If a login is among them, it writes immediately, because a token actor may wait
// for the result. Otherwise it schedules the write after writeSoon.
func (s *state) writePending(out []kernel.Effect) []kernel.Effect {
	if len(s.dirty.tokens) > 0 {
		return s.write(out)
	}
	return s.writeSoon(writeSoon, out)
}

func (s *state) warnAside(aside string, why error, out []kernel.Effect) []kernel.Effect {
	return append(out, warn("the state file was damaged, belonged to another program or was sealed with a lost key; it was renamed and a new one was created", "path", s.path, "aside", aside, "err", why))
}

func warn(text string, args ...any) kernel.Effect {
	return kernel.Log(slog.LevelWarn, text, args...)
}
