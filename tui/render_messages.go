package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// maxMessages is the maximum number of messages that the console keeps of each recorded actor.
const maxMessages = 256

// records holds recorded messages of a call or an actor. It is immutable.
type records struct {
	of   status.RecordQuery // After = number of the newest message
	list []status.Recording // with all messages that are kept
}

// with fetches newer messages. If the query is for another call or actor, the messages known so far are dropped.
func (r records) with(ctx context.Context, source status.Source, q status.RecordQuery) (records, error) {
	if q.Actor != r.of.Actor || q.Call != r.of.Call {
		r = records{of: q}
	}
	news, err := source.Records(ctx, r.of)
	if err != nil {
		return r, err
	}
	next := records{of: r.of, list: make([]status.Recording, 0, len(news))}
	for _, n := range news {
		for i := range n.Messages {
			next.of.After = max(next.of.After, n.Messages[i].Number)
		}
		if at := slices.IndexFunc(r.list, func(old status.Recording) bool { return old.Actor == n.Actor }); at >= 0 {
			n.Messages = slices.Concat(r.list[at].Messages, n.Messages)
		}
		n.Messages = n.Messages[max(0, len(n.Messages)-maxMessages):]
		next.list = append(next.list, n)
	}
	return next, nil
}

// recorded is a message with the actor that handled it.
type recorded struct {
	actor string
	*status.RecordedMessage
}

// merged returns the messages of all actors in the order in which they were handled.
func (r records) merged() []recorded {
	var all []recorded
	for i := range r.list {
		for j := range r.list[i].Messages {
			all = append(all, recorded{r.list[i].Actor, &r.list[i].Messages[j]})
		}
	}
	slices.SortFunc(all, func(a, b recorded) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// title names the recorders of the messages: "recorders of pool/files backend/0.1, 42s left".
func (r records) title(now time.Time) string {
	var names []string
	var until time.Time
	for i := range r.list {
		if one := &r.list[i]; len(one.Messages) > 0 {
			names = append(names, nameAtServer(one.Actor))
			until = later(until, one.Until)
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 6
	text := "recorders of " + plain(strings.Join(names[:min(len(names), most)], " "))
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ", " + cmp.Or(left(until, now), "ended")
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// nameAtServer returns the name of an actor without the parts that all connections of its server have in common:
// "backend/0.1" for "gateway/pool/files/backend/0.1".
func nameAtServer(actor string) string {
	name := shortActor(actor)
	if at := strings.Index(name, "/backend/"); at >= 0 && strings.HasPrefix(name, "pool/") {
		return name[at+1:]
	}
	return name
}

// callMessagesKind is the panel of a call's page with the messages about the call.
var callMessagesKind = &Kind{
	Name: "messages", TitleOf: func(p *Picture, _ scope) string { return p.Records.title(p.Now) },
	Columns: []Column{{Name: "MS", Right: true}, {Name: "ACTOR"}, {Name: "MESSAGE", Flex: true}, {Name: "CLASS", Wide: true}, {Name: "BYTES", Right: true, Bytes: true}, {Name: "DEPTH", Right: true}, {Name: "PHASE"}},
	RowsOf: func(p *Picture, of scope) []Row {
		began := beganOf(p, of.call)
		var rows []Row
		for _, m := range p.Records.merged() {
			since := m.At.Sub(began)
			rows = append(rows, m.row(of.server, Cell{Text: sinceBegan(since), Number: since.Seconds()}, text(nameAtServer(m.actor))))
		}
		return rows
	},
}

// beganOf returns when a call began, or the zero time if the call is no longer known.
func beganOf(p *Picture, key string) time.Time {
	switch running, finished := findCall(p, key); {
	case running != nil:
		return running.Began
	case finished != nil:
		return finished.Began
	}
	return time.Time{}
}

// callID returns the id of a call, or "" if the request did not become a call or is no longer known.
func callID(p *Picture, key string) string {
	switch running, finished := findCall(p, key); {
	case running != nil:
		return running.ID
	case finished != nil:
		return finished.ID
	}
	return ""
}

// row returns a row with two cells in front of those about the message.
func (m recorded) row(server string, first, second Cell) Row {
	phase := text(m.Phase)
	if m.Phase == "panicked" {
		phase.Health = Bad
	}
	return Row{
		ID: strconv.FormatUint(m.Number, 10), Title: m.Type, Server: server, Copy: m.Type,
		Cells: []Cell{first, second, text(strings.TrimPrefix(m.Type, "message.")), text(m.Class), bytesCell(int64(m.Bytes)), {Text: strconv.Itoa(m.Depth), Number: float64(m.Depth)}, phase},
		Detail: func() []Field {
			return fields(Field{"message", m.Type}, Field{"number", strconv.FormatUint(m.Number, 10)}, Field{"actor", m.actor}, Field{"handled at", m.At.Local().Format("15:04:05.000000")},
				Field{"class", m.Class}, Field{"call", m.Call}, Field{"bytes", unlessZero(int64(m.Bytes))}, Field{"messages in the mailbox", strconv.Itoa(m.Depth)}, Field{"phase after it", m.Phase})
		},
	}
}

// actorKind is the page of one actor: its mailbox and the messages that were recorded. enter on an actor opens it.
var actorKind = &Kind{
	Name: "actor", Head: actorHead, Tail: true,
	Columns: []Column{{Name: "AGO", Right: true}, {Name: "CALL"}, {Name: "MESSAGE", Flex: true}, {Name: "CLASS", Wide: true}, {Name: "BYTES", Right: true, Bytes: true}, {Name: "DEPTH", Right: true}, {Name: "PHASE"}},
	TitleOf: func(p *Picture, _ scope) string { return p.Records.title(p.Now) },
	RowsOf: func(p *Picture, _ scope) []Row {
		var rows []Row
		for _, m := range p.Records.merged() {
			rows = append(rows, m.row("", took(p.Now.Sub(m.At)), text(m.Call)))
		}
		return rows
	},
	Fetch: func(ctx context.Context, source status.Source, _ *Picture, of scope, a *access) (err error) {
		a.Records, err = a.Records.with(ctx, source, status.RecordQuery{Actor: of.actor})
		return err
	},
}

// actorHead returns the lines above an actor's messages.
func actorHead(p *Picture, of scope) []line {
	var first, second line
	at := slices.IndexFunc(p.Actors, func(a status.Actor) bool { return a.Name == of.actor })
	if at < 0 {
		first.add(Quiet, "○ "+plain(of.actor)+" is not running")
		return []line{first}
	}
	a := &p.Actors[at]
	mark := actorSeverity(a)
	first.add(mark.health(), glyphs[mark]+" ")
	first.title(a.Name)
	first.add(Plain, fmt.Sprintf("  %d queued, %d handled", a.Depth, a.Handled))
	if perSecond := p.messages.rate(a.Name); perSecond >= 0 {
		first.add(Plain, ", "+rate(perSecond)+" a second")
	}
	if a.Refused+a.Panics+a.Restarts > 0 {
		first.add(mark.health(), fmt.Sprintf(", %d refused, %s, %s", a.Refused, plural(int(a.Panics), "panic"), plural(int(a.Restarts), "restart")))
	}
	if note := recording(a.Recorded, p.Now); note != "" {
		second.add(Warn, note)
	} else {
		second.hint("not recorded; r records its messages for " + brief(status.RecordTime) + ", without their contents")
	}
	return []line{first, second}
}
