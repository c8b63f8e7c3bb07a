package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// keepRecording is how long a recording can be read after it has ended, unless newer ones need its room.
const keepRecording = 10 * time.Minute

// recorderState is the actor's entire state. Only stepRecorder modifies it.
type recorderState struct {
	last     uint64       // number of the newest recording
	sessions []*recording // ordered by number
}

// recording is what one StartRecording has started. Its actors are in no other recording.
type recording struct {
	number       uint64
	start        message.StartRecording
	began, until time.Time
	ended        bool
	recorders    map[string]*kernel.Recorder // by full name of the actor
}

// recordingDue reports that it is time to end a recording or, if the recording has ended, to remove it. Numbers are never
// reused, so a timer of a recording that was replaced matches nothing.
type recordingDue struct{ number uint64 }

// met reports that the pool of a recorded server handles a call with an actor that is not recorded, such as a session
// whose first call comes during the recording, or a connection that began during it.
type met struct{ pool, actor string }

// attach starts recorders, and attached is the result: the recorders of the actors that exist. detach stops recorders.
type (
	attach struct {
		start message.StartRecording
		until time.Time
		joins uint64 // number of the recording that the actors join; 0 = they begin one
	}
	attached struct {
		attach
		recorders map[string]*kernel.Recorder
	}
	detach struct {
		recorders map[string]*kernel.Recorder
		ended     RecordingEnded
	}
)

// stepRecorder applies msg to s and appends the resulting effects to out.
func stepRecorder(s *recorderState, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.StartRecording:
		if err := s.refusal(now, m.Actors); err != nil {
			m.Reply <- err
			return out
		}
		return append(out, kernel.Act(attach{start: m, until: now.Add(m.For)}))
	case met:
		return s.join(now, m, out)
	case attached:
		if m.joins != 0 {
			return s.joined(m, out)
		}
		return s.begin(now, m, out)
	case recordingDue:
		return s.due(m.number, out)
	case message.GetRecordings:
		m.Reply <- s.list()
	case kernel.Stopping:
		for _, r := range s.sessions {
			out = r.end(out)
		}
	}
	return out
}

// join adds an actor to the recording of a server, unless it is being recorded already or too many actors are.
func (s *recorderState) join(now time.Time, m met, out []kernel.Effect) []kernel.Effect {
	var of *recording
	for _, r := range s.sessions {
		if r.ended {
			continue
		}
		if r.recorders[m.actor] != nil {
			return out
		}
		if r.start.Server != "" && r.recorders[m.pool] != nil {
			of = r
		}
	}
	if of == nil || s.refusal(now, []string{m.actor}) != nil {
		return out
	}
	return append(out, kernel.Act(attach{start: message.StartRecording{Actors: []string{m.actor}}, until: of.until, joins: of.number}))
}

// joined adds the recorders of actors that have joined a recording. No message is handled between join and joined.
func (s *recorderState) joined(m attached, out []kernel.Effect) []kernel.Effect {
	for _, r := range s.sessions {
		if r.number == m.joins && !r.ended {
			maps.Copy(r.recorders, m.recorders)
			s.forget()
		}
	}
	return out
}

// refusal returns why these actors cannot be recorded in addition to those that are, or nil.
func (s *recorderState) refusal(now time.Time, actors []string) error {
	names := map[string]bool{}
	var first time.Time
	for _, r := range s.sessions {
		if r.ended {
			continue
		}
		for name := range r.recorders {
			names[name] = true
		}
		if first.IsZero() || r.until.Before(first) {
			first = r.until
		}
	}
	before := len(names)
	for _, name := range actors {
		names[name] = true
	}
	if len(names) <= status.MaxRecorded {
		return nil
	}
	return fmt.Errorf("%d of at most %d actors are being recorded already; the first of these recordings ends in %s", before, status.MaxRecorded, first.Sub(now).Round(time.Second))
}

// begin adds a recording, removes its actors from earlier ones and answers the request. If none of the actors exists,
// it answers with an error.
func (s *recorderState) begin(now time.Time, m attached, out []kernel.Effect) []kernel.Effect {
	if len(m.recorders) == 0 {
		m.start.Reply <- fmt.Errorf("record messages: %w", status.ErrNotThere)
		return out
	}
	for _, r := range s.sessions {
		for name := range m.recorders {
			delete(r.recorders, name)
		}
	}
	s.last++
	s.sessions = append(s.sessions, &recording{number: s.last, start: m.start, began: now, until: now.Add(m.start.For), recorders: m.recorders})
	s.forget()
	m.start.Reply <- nil
	return append(out, kernel.WakeAfter(m.start.For, recordingDue{s.last}))
}

// forget removes recordings without actors and, beyond status.MaxRecorded actors, the oldest that have ended.
func (s *recorderState) forget() {
	all := 0
	for _, r := range s.sessions {
		all += len(r.recorders)
	}
	s.sessions = slices.DeleteFunc(s.sessions, func(r *recording) bool {
		old := r.ended && all > status.MaxRecorded
		if old {
			all -= len(r.recorders)
		}
		return old || len(r.recorders) == 0
	})
}

// due ends a recording, or removes one that has ended.
func (s *recorderState) due(number uint64, out []kernel.Effect) []kernel.Effect {
	i := slices.IndexFunc(s.sessions, func(r *recording) bool { return r.number == number })
	switch {
	case i < 0:
		return out
	case s.sessions[i].ended:
		s.sessions = slices.Delete(s.sessions, i, i+1)
		return out
	}
	return append(s.sessions[i].end(out), kernel.WakeAfter(keepRecording, recordingDue{number}))
}

// end stops the recorders, unless the recording has ended.
func (r *recording) end(out []kernel.Effect) []kernel.Effect {
	if r.ended {
		return out
	}
	r.ended = true
	return append(out, kernel.Act(detach{maps.Clone(r.recorders), RecordingEnded{r.start.Server, r.start.Actor, r.began, len(r.recorders)}}))
}

func (s *recorderState) list() []message.Recording {
	all := []message.Recording{}
	for _, r := range s.sessions {
		for name, recorder := range r.recorders {
			all = append(all, message.Recording{Actor: name, Began: r.began, Until: r.until, Ended: r.ended, Recorder: recorder})
		}
	}
	slices.SortFunc(all, func(a, b message.Recording) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Actor, b.Actor))
	})
	return all
}
