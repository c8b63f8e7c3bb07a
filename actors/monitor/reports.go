package monitor

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reports holds the last reports of the actors that serve clients, by actor name. Most sessions are idle most of the time, so a
// survey queries only the actors that have handled a message since their last report. Only the survey in progress uses it.
type reports struct {
	survey uint64 // number of the current survey
	known  map[string]*knownReport
}

// knownReport is the last report of an actor.
type knownReport struct {
	actor    kernel.Reference
	handled  uint64 // Info.Handled before the report was requested
	restarts int
	survey   uint64 // number of the last survey that included the report
	report   message.SessionReport
}

// begin begins a survey.
func (r *reports) begin() {
	r.survey++
	if r.known == nil {
		r.known = map[string]*knownReport{}
	}
}

// of returns the last report of an actor, or nil if the actor may report something else by now.
func (r *reports) of(actor kernel.Reference, info *kernel.Info) *message.SessionReport {
	k := r.known[info.Name]
	if k == nil || k.actor != actor || k.handled != info.Handled || k.restarts != info.Restarts || k.report.Changing {
		return nil
	}
	k.survey = r.survey
	return &k.report
}

// keep stores the report that an actor made after info was taken.
func (r *reports) keep(actor kernel.Reference, info *kernel.Info, report message.SessionReport) {
	r.known[info.Name] = &knownReport{actor, info.Handled, info.Restarts, r.survey, report}
}

// end forgets actors that are gone or did not answer.
func (r *reports) end() {
	for name, k := range r.known {
		if k.survey != r.survey {
			delete(r.known, name)
		}
	}
}
