package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// noRun returns why r does nothing, or "" if it opens a form or records messages.
func noRun(a *App) string {
	if _, ok := a.formItem(); ok {
		return noForm(a)
	}
	if a.readOnly {
		return "this console is read-only"
	}
	if r := a.view().table.row(); r != nil && r.Off != "" {
		return "this tool is disabled; press x to enable it"
	}
	if _, _, ok := a.again(); ok {
		return ""
	}
	act, why := a.recordable()
	if part := a.view().part(); why == "" && act.Server != "" && a.view().kind != callKind && !slices.Contains([]*Kind{healthKind, serversKind, backendsKind, callsKind, failuresKind, waitsKind}, part) {
		return "nothing to run or record here; press x to record the row's server"
	}
	return why
}

func runLabel(a *App) string {
	if _, ok := a.formItem(); ok {
		return "run"
	}
	if _, _, ok := a.again(); ok {
		return "again"
	}
	return "record"
}

// runRow opens the form of the selected item or finished call, or records the messages of the selected actor, server or
// running call.
func (a *App) runRow(*tcell.EventKey) {
	if i, ok := a.formItem(); ok {
		a.openFormOf(i, nil)
		return
	}
	if i, arguments, ok := a.again(); ok {
		a.openFormOf(i, arguments)
		return
	}
	if act, why := a.recordable(); why == "" {
		a.perform(act)
	}
}

// recordable returns the action that records messages of what the selected row is about, or why there is none. A row
// that belongs to a server stands for the server: its pool, its connections and the holders of its calls.
func (a *App) recordable() (act status.Action, why string) {
	v, r := a.view(), a.view().table.row()
	act.Verb = status.Record
	switch {
	case v.kind == actorKind:
		act.Actor = v.actor
	case v.kind == callKind:
		act.Server = v.server
		if v.server == "" {
			why = "this call has no server"
		}
	case r == nil:
		why = "no row is selected"
	case v.part() == actorsKind && r.Branch.Sum:
		why = "this row is a sum; select one actor"
	case v.part() == actorsKind:
		act.Actor = r.ID
	case cmp.Or(r.Server, v.server) == "":
		why = "nothing to run or record here"
	default:
		act.Server = cmp.Or(r.Server, v.server)
	}
	if why == "" && act.Server != "" && stateOfServer(a.picture, act.Server) == "disabled" {
		why = "this server is disabled"
	}
	return act, why
}

func stateOfServer(p *Picture, name string) string {
	for i := range p.Servers {
		if p.Servers[i].Name == name {
			return p.Servers[i].State
		}
	}
	return ""
}

// recordAct returns the recording of the selected row for the list of actions.
func (a *App) recordAct() rowAct {
	act, why := a.recordable()
	label := "record messages for " + brief(status.RecordTime)
	if act.Server != "" {
		label = "record messages of the server's actors for " + brief(status.RecordTime)
	}
	return rowAct{label: label, command: recordCommand(act), why: why, do: func() { a.perform(act) }}
}

// recordCommand returns the request that starts a recording, because no command does.
func recordCommand(act status.Action) string {
	const post = "POST /actions/record"
	switch {
	case act.Actor != "":
		return post + ` {"actor": ` + string(form.Quoted(act.Actor)) + "}"
	case act.Server != "":
		return post + ` {"server": ` + string(form.Quoted(act.Server)) + "}"
	}
	return post
}

// recording says how long messages will be recorded, or returns "" if they are not.
func recording(until, now time.Time) string {
	if text := left(until, now); text != "" {
		return "recording, " + text
	}
	return ""
}

// left formats the time left, or returns "" if there is none.
func left(until, now time.Time) string {
	if !until.After(now) {
		return ""
	}
	return brief(until.Sub(now)+time.Second-1) + " left"
}

// recordedUntil returns when the recording of a server's actors ends, or the zero time.
func recordedUntil(p *Picture, server string) time.Time {
	for i := range p.Servers {
		if s := &p.Servers[i]; s.Name == server {
			return s.Recorded
		}
	}
	return time.Time{}
}

// joined joins the texts that are not empty.
func joined(separator string, all ...string) string {
	var some []string
	for _, text := range all {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, separator)
}

// shortActor returns the name of an actor without the prefix that all names have.
func shortActor(name string) string { return strings.TrimPrefix(name, "gateway/") }

// sinceBegan formats the time from the start of a call in milliseconds, so that the numbers of a column are aligned.
func sinceBegan(d time.Duration) string { return fmt.Sprintf("%+.2f", float64(d)/1e6) }

// recordingCell returns a cell with the time for which an actor's messages will be recorded.
func recordingCell(until, now time.Time) Cell {
	return Cell{Text: left(until, now), Number: until.Sub(now).Seconds(), Health: Warn}
}

// recordingLine returns a line about the recording of a call's messages. There is none if the messages are shown, or if
// the call has ended and there will be none.
func recordingLine(p *Picture, of scope) []line {
	running, _ := findCall(p, of.call)
	if running == nil || slices.ContainsFunc(p.Records.list, func(r status.Recording) bool { return len(r.Messages) > 0 }) {
		return nil
	}
	var l line
	if note := recording(recordedUntil(p, of.server), p.Now); note != "" {
		l.add(Warn, note+"; no message about this call yet")
	} else {
		l.hint("r records the messages of the call's server for " + brief(status.RecordTime) + ", without their contents")
	}
	return []line{l}
}
