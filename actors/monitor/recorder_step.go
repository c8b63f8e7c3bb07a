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

// keepRecording is how long a recording can be read after it has ended.
const keepRecording = 10 * time.Minute

// recorderState is the actor's entire state. Only stepRecorder modifies it.
type recorderState struct {
	last     uint64       // number of the newest session
	sessions []*recording // by number
}

// recording is what one StartRecording has started. Its actors are in no other recording.
type recording struct {
	number       uint64
	start        message.StartRecording
	began, until time.Time
	ended        bool
	recorders    map[string]*kernel.Recorder // by full name of the actor
}

// recordingDue reports that the time of a recording is over: that of its messages or, if it has ended, that until it is
// removed. Numbers are never reused, so a timer of a recording that was replaced matches nothing.
type recordingDue struct{ number uint64 }

// attach starts recorders; attached is the result. It has no recorder of an actor that is gone.
type (
	attach struct {
		start message.StartRecording
		until time.Time
	}
	attached struct {
		start     message.StartRecording
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
		return append(out, kernel.Act(attach{m, now.Add(m.For)}))
	case attached:
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
	return fmt.Errorf("%d of at most %d actors are being recorded already; the next recording ends in %s", before, status.MaxRecorded, first.Sub(now).Round(time.Second))
}

// begin adds a recording and removes its actors from earlier ones.
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
