package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// maxPayloadLines is the maximum number of lines of a request or an answer that the panel shows.
const maxPayloadLines = 1000

// keepAct returns the action that keeps the payloads of a server's next calls or, if they are kept, discards them.
func (a *App) keepAct(server string) rowAct {
	act := status.Action{Verb: status.Payloads, Server: server}
	label, question := "keep payloads of the next calls", fmt.Sprintf("keep payloads of %s (%d calls, %d KiB each, %s, in memory, without secrets)? y/n",
		plain(server), status.MaxPayloads, status.MaxPayloadBytes>>10, brief(status.PayloadTime))
	if k := keepingOf(a.picture, server); k != nil {
		act.Stop = true
		label, question = "discard payloads, keep no more", fmt.Sprintf("discard the payloads of %s of %s now? y/n", plural(k.Calls, "call"), plain(server))
	}
	row := rowAct{label: label, command: payloadsCommand(act)}
	if !act.Stop && stateOfServer(a.picture, server) == "disabled" {
		row.why = "this server is disabled"
	}
	aimed := a.aimed(act)
	row.do = func() { a.ask(question, func() { a.perform(aimed) }) }
	return row
}

// payloadsCommand returns the request that keeps or discards payloads, because no command does.
func payloadsCommand(act status.Action) string {
	stop := ""
	if act.Stop {
		stop = `, "stop": true`
	}
	return `POST /actions/payloads {"server": ` + string(form.Quoted(act.Server)) + stop + "}"
}

// keepingOf returns the Keeping of a server, or nil.
func keepingOf(p *Picture, server string) *status.Keeping {
	for i := range p.Keeping {
		if k := &p.Keeping[i]; k.Server == server {
			return k
		}
	}
	return nil
}

// addKeeping appends a warning for as long as payloads of calls are kept, with details if there is room.
func (a *App) addKeeping(l *line, room int) {
	all := a.picture.Keeping
	if len(all) == 0 {
		return
	}
	l.add(Bad, "● REC")
	note := fmt.Sprintf(" %s", plural(len(all), "server"))
	if len(all) == 1 {
		note = fmt.Sprintf(" %s %d/%d %s", plain(all[0].Server), all[0].Calls, all[0].Most, left(all[0].Until, a.picture.Now))
	}
	if width(note) <= room {
		l.add(Bad, strings.TrimRight(note, " "))
	}
}

// drawKeeping says on a screen without a first line, in a corner, that payloads of calls are kept.
func (a *App) drawKeeping(screen tcell.Screen, w int, full bool) {
	var l line
	if a.addKeeping(&l, 0); !full && len(l) > 0 {
		l.draw(screen, max(0, w-l.width()), 0, w, a.colors())
	}
}

// keepingWhilePaused shows on a paused screen which payloads are kept now, and removes those that are no longer kept.
func (a *App) keepingWhilePaused(p *Picture) {
	if slices.Equal(a.picture.Keeping, p.Keeping) {
		return
	}
	snapshot, shown := *a.picture.Snapshot, *a.picture
	snapshot.Keeping = p.Keeping
	shown.Snapshot = &snapshot
	for i := range shown.Payloads {
		if k := keepingOf(p, shown.Payloads[i].Server); k == nil || !k.Began.Equal(shown.Payloads[i].Began) {
			shown.Payloads = nil
			break
		}
	}
	a.picture = &shown
	a.view().show(a.picture, a.now())
}

// payloads fetches the payloads of a call if they are kept. has holds the payloads of the previous fetch. If they are those of the
// same call and complete, payloads returns them without a request.
func payloads(ctx context.Context, source status.Source, p *Picture, of scope, id string, has []status.KeptPayloads) ([]status.KeptPayloads, error) {
	k := keepingOf(p, of.server)
	switch {
	case k == nil || id == "":
		return nil, nil
	case len(has) == 1 && has[0].Began.Equal(k.Began) && len(has[0].Payloads) == 1 && has[0].Payloads[0].Call == id && !has[0].Payloads[0].Ended.IsZero():
		return has, nil
	}
	return source.Payloads(ctx, status.PayloadQuery{Call: id})
}

// payloadsKind is the panel of a call's page with its request and its answer, if they are kept.
var payloadsKind = &Kind{
	Name: "payload", TitleOf: payloadTitle,
	Columns: []Column{{Name: "SIDE"}, {Name: "JSON, without known secrets", Flex: true}},
	RowsOf: func(p *Picture, of scope) []Row {
		if keepingOf(p, of.server) == nil {
			return nil
		}
		var rows []Row
		for i := range p.Payloads {
			for j := range p.Payloads[i].Payloads {
				c := &p.Payloads[i].Payloads[j]
				rows = sideRows(rows, of.server, "request", c.Request, "")
				switch {
				case !c.Ended.IsZero():
					rows = sideRows(rows, of.server, "answer", c.Answer, "none: the client canceled the call")
				default:
					rows = sideRows(rows, of.server, "answer", c.Answer, "not yet")
				}
				if c.Withheld != "" {
					rows = append(rows, Row{ID: "withheld", Server: of.server, Health: Warn, Cells: []Cell{text("withheld"), text(c.Withheld)}, Detail: func() []Field { return []Field{{"withheld", c.Withheld}} }})
				}
			}
		}
		return rows
	},
}

// payloadTitle says how long the payloads will be kept, or why there are none. It returns "" if the server's payloads are not kept.
func payloadTitle(p *Picture, of scope) string {
	k := keepingOf(p, of.server)
	if k == nil {
		return ""
	}
	if len(p.Payloads) == 0 {
		return "not kept: this call began too early, or after the limit of " + plural(k.Most, "call")
	}
	return "kept in memory, " + cmp.Or(left(k.Until, p.Now), "ending") + "; x to discard"
}

// sideRows appends the rows of one side of a call: a line with its size and shape, and the lines of its text.
func sideRows(rows []Row, server, side string, of status.Payload, none string) []Row {
	if of.Bytes == 0 {
		return append(rows, Row{ID: side, Server: server, Cells: []Cell{text(side), {Text: none, Health: Quiet}}, Detail: func() []Field { return []Field{{side, none}} }})
	}
	whole := jsonLines(of.Text)
	head := strings.TrimSpace(briefSize(int64(of.Bytes)) + " " + of.Shape)
	if of.Cut {
		head += fmt.Sprintf(", the first %d KiB are kept", status.MaxPayloadBytes>>10)
	}
	detail := func() []Field { return fields(Field{side, head}, Field{"JSON", strings.Join(whole, "\n")}) }
	rows = append(rows, Row{ID: side, Server: server, Copy: cmp.Or(of.Text, of.Shape), Cells: []Cell{text(side), {Text: head, Health: Quiet}}, Detail: detail})
	for i, l := range whole {
		if i == maxPayloadLines {
			rest := "… " + plural(len(whole)-i, "more line") + "; d shows all"
			rows = append(rows, Row{ID: side + " rest", Server: server, Copy: of.Text, Cells: []Cell{{}, {Text: rest, Health: Quiet}}, Detail: detail})
			break
		}
		rows = append(rows, Row{ID: fmt.Sprintf("%s %d", side, i+1), Server: server, Copy: of.Text, Cells: []Cell{{}, {Text: l[:len(l)-len(strings.TrimLeft(l, " "))] + plain(l)}}, Detail: detail})
	}
	return rows
}

// jsonLines breaks JSON on one line, whose end may be missing, into indented lines.
func jsonLines(s string) []string {
	var out []string
	var b strings.Builder
	depth, quoted := 0, false
	flush := func() {
		if line := strings.TrimSpace(b.String()); line != "" {
			out = append(out, strings.Repeat("  ", max(0, min(depth, 20)))+line)
		}
		b.Reset()
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			b.WriteByte(c)
			i++
			c = s[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case (c == '{' || c == '[') && i+1 < len(s) && s[i+1] != c+2:
			b.WriteByte(c)
			flush()
			depth++
			continue
		case (c == '}' || c == ']') && i > 0 && s[i-1] != c-2:
			flush()
			depth--
		case c == ',':
			b.WriteByte(c)
			flush()
			continue
		}
		b.WriteByte(c)
	}
	flush()
	return out
}
