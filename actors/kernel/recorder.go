package kernel

import (
	"reflect"
	"sync"
	"time"
)

const (
	recorderSize = 256 // maximum number of messages that a Recorder keeps
	maxMet       = 64  // maximum number of actors that a Recorder reports
)

// PhasePanicked is the phase of a recorded message whose handler panicked.
const PhasePanicked = "panicked"

// CallID identifies the call that a message is about, by the actor that holds the call and the call's number there.
type CallID struct {
	Holder Reference // zero = the receiver of the message
	Number uint64    // 0 = the message is not about a call
}

// Described is implemented by messages for which a Recorder keeps more than their type. Describe must not block.
type Described interface {
	// Describe returns the call that the message is about, and the size of the frame in it in bytes.
	Describe() (call CallID, bytes int)
}

// Phased is implemented by a Logic that has phases. A Recorder keeps the phase after each message. Phase is called on
// the actor's goroutine.
type Phased interface{ Phase() string }

// Recorder keeps the type and circumstances of an actor's last 256 messages, but not their contents. Messages that only
// observe the actor are left out. Its methods are safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	cell   *cell // nil after Stop
	until  time.Time
	ring   []recorded
	next   int    // index of the oldest entry, which is overwritten next, when ring is full
	total  uint64 // number of messages recorded, including those that were overwritten
	phases []string

	report func(actor string) // see Report; nil = none
	met    map[string]bool    // names of the actors that were reported
}

// recorded is a recorded message, in 64 bytes.
type recorded struct {
	order  uint64 // among all recorded messages of the system
	at     int64  // Unix time in nanoseconds
	kind   reflect.Type
	holder string // full name of the actor that holds the call
	number uint64 // of the call; 0 = no call
	bytes  uint32
	depth  uint16
	class  Class
	phase  uint8 // index in Recorder.phases, plus one; 0 = none
}

// RecordedMessage describes a message that an actor has handled.
type RecordedMessage struct {
	Order  uint64 // increasing, in the order in which the system's recorded actors handled messages
	At     time.Time
	Type   string // such as "message.Dispatch"
	Class  Class
	Holder string // full name of the actor that holds the call; "" = the message was not about a call and did not cause exactly one
	Number uint64 // of the call there
	Bytes  int    // of the frame in the message; 0 = none
	Depth  int    // messages that were queued when it was handled, including itself; 65535 = that many or more
	Phase  string // of the actor, after the message; PhasePanicked if the handler panicked; "" = it has no phases, or more than 255
}

// Record starts recording the messages of the actor with the full name. The Recorder works until Stop is called; until
// is only shown. If the actor is being recorded, Record returns its Recorder with the new time. It returns nil if there
// is no such actor.
func (s *System) Record(actor string, until time.Time) *Recorder {
	c, ok := s.find(actor)
	if !ok {
		return nil
	}
	for {
		if r := c.recorder.Load(); r != nil {
			if r.extend(until) {
				return r
			}
			continue // it is being stopped
		}
		r := &Recorder{cell: c, until: until}
		if c.recorder.CompareAndSwap(nil, r) {
			return r
		}
	}
}

// Recorded returns the Order of the newest recorded message. Every message up to it is in its Recorder already, so a
// later call of Messages returns it unless it was overwritten.
func (s *System) Recorded() uint64 { return s.recorded.Load() }

// Report makes the Recorder call met with the name of each other actor that takes part in a call: the holder of the
// call that a handled message is about, and the receiver of a message about a call that the recorded actor sends. met
// is called once for each of them, for at most 64, and not for actors that are being recorded. It runs on the recorded
// actor's goroutine, with the Recorder locked: it must not block or call the Recorder's methods. If met is nil, nothing
// is reported.
func (r *Recorder) Report(met func(actor string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report, r.met = met, map[string]bool{}
}

func (r *Recorder) extend(until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = until
	return r.cell != nil
}

// Stop ends the recording. What was recorded can still be read.
func (r *Recorder) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cell != nil {
		r.cell.recorder.Store(nil)
		r.cell = nil
	}
}

// Until returns when the recording is due to end: the time passed to the last call of Record.
func (r *Recorder) Until() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

// Messages returns the last messages, oldest first, and the number of all that were recorded.
func (r *Recorder) Messages() (list []RecordedMessage, total uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = make([]RecordedMessage, 0, len(r.ring))
	for i := range r.ring {
		e := &r.ring[(r.next+i)%len(r.ring)]
		m := RecordedMessage{Order: e.order, At: time.Unix(0, e.at), Type: e.kind.String(), Class: e.class, Holder: e.holder, Number: e.number, Bytes: int(e.bytes), Depth: int(e.depth)}
		if e.phase > 0 {
			m.Phase = r.phases[e.phase-1]
		}
		list = append(list, m)
	}
	return list, r.total
}

// record records a message for which Step returned out, or whose handler panicked. It runs on the actor's goroutine.
func (r *Recorder) record(c *cell, at time.Time, msg any, out []Effect, phase string) {
	if _, looks := msg.(Observation); looks {
		return
	}
	e := recorded{at: at.UnixNano(), kind: reflect.TypeOf(msg), class: classOf(msg), depth: uint16(min(c.box.UserMessageCount()+1, 1<<16-1))}
	if d, ok := msg.(Described); ok {
		call, bytes := d.Describe()
		e.bytes = uint32(bytes)
		e.about(call, c.name)
	}
	if e.number == 0 {
		e.caused(out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meet(c, msg, out)
	e.order = c.system.recorded.Add(1) // while mu is locked: see System.Recorded
	e.phase = r.phaseNumber(phase)
	r.total++
	if len(r.ring) < recorderSize {
		r.ring = append(r.ring, e)
		return
	}
	r.ring[r.next] = e
	r.next = (r.next + 1) % recorderSize
}

// meet reports other actors, see Report. The caller must hold mu.
func (r *Recorder) meet(c *cell, msg any, out []Effect) {
	if r.report == nil || len(r.met) == maxMet {
		return
	}
	if d, ok := msg.(Described); ok {
		call, _ := d.Describe()
		r.meetOne(c, call.Holder)
	}
	for i := range out {
		if d, ok := out[i].Msg.(Described); ok {
			if call, _ := d.Describe(); call.Number != 0 {
				r.meetOne(c, out[i].To)
			}
		}
	}
}

// meetOne reports another actor. The caller must hold mu.
func (r *Recorder) meetOne(c *cell, other Reference) {
	o := other.cell
	if o == nil || o == c || o.recorder.Load() != nil || r.met[o.name] || len(r.met) == maxMet {
		return
	}
	r.met[o.name] = true
	r.report(o.name)
}

// about sets the call that the message is about. receiver is the full name of the message's receiver.
func (e *recorded) about(call CallID, receiver string) {
	if e.number = call.Number; e.number == 0 {
		return
	}
	if e.holder = call.Holder.Name(); e.holder == "" {
		e.holder = receiver
	}
}

// caused sets the call to that of the messages which the recorded message caused, unless these are about several calls.
func (e *recorded) caused(out []Effect) {
	for i := range out {
		d, ok := out[i].Msg.(Described)
		if !ok {
			continue
		}
		var other recorded
		call, _ := d.Describe()
		other.about(call, out[i].To.Name())
		switch {
		case other.number == 0:
		case e.number == 0:
			e.number, e.holder = other.number, other.holder
		case e.number != other.number || e.holder != other.holder:
			e.number, e.holder = 0, ""
			return
		}
	}
}

// phaseNumber returns the value of recorded.phase for a phase. It returns 0 for "" and from the 256th different phase
// on. The caller must hold mu.
func (r *Recorder) phaseNumber(phase string) uint8 {
	if phase == "" {
		return 0
	}
	for i, known := range r.phases {
		if known == phase {
			return uint8(i + 1)
		}
	}
	if len(r.phases) == 255 {
		return 0
	}
	r.phases = append(r.phases, phase)
	return uint8(len(r.phases))
}

// phaseOf returns the phase of a Logic, or "".
func phaseOf(logic Logic) string {
	if p, ok := logic.(Phased); ok {
		return p.Phase()
	}
	return ""
}
