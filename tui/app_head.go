package tui

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// drawPath draws the first line: the gateway or the path from the overview to the view, and whether the screen is live.
func (a *App) drawPath(screen tcell.Screen, w int) {
	p, v := a.colors(), a.view()
	var left, right line
	if v == a.home() {
		left.title("goblin-actor " + plain(a.picture.Version))
		if addresses := strings.Join(a.picture.Listen, ", "); addresses != "" {
			left.add(Plain, "  "+addresses)
		}
	} else {
		left.title(v.path())
		a.crumbButtons(w)
	}
	a.addState(&left)
	a.addKeeping(&right, w/4)
	if len(right) > 0 {
		right.add(Plain, "  ")
	}
	a.addLive(&right)
	if v == a.home() {
		right.hint("  " + v.crumb())
	}
	room := w
	if right.width()+2 > w/2 {
		right = nil
		a.addKeeping(&right, 0)
	}
	if n := right.width(); n > 0 && n+2 <= w {
		room = w - n - 2
		right.draw(screen, w-n, 0, n, p)
	}
	left.draw(screen, 0, 0, room, p)
}

// addState appends the gateway's state to the first line.
func (a *App) addState(l *line) {
	p := a.picture
	switch {
	case p.Lost != nil:
		l.add(Plain, "  no answer for "+span(a.now().Sub(p.Since))+", retrying: "+plain(p.Lost.Error()))
		return
	case p.Now.IsZero():
		l.add(Quiet, "  …")
		return
	case p.Draining:
		l.add(Warn, "  draining, "+plural(len(p.Calls), "call")+" left")
	case !p.Ready:
		l.add(Warn, "  starting, waiting for "+plain(strings.Join(p.Waiting, ", ")))
	}
	a.addServers(l)
	if a.view() == a.home() {
		l.add(Plain, "  up "+span(p.Now.Sub(p.Started).Truncate(1e9)))
	}
}

// addServers appends how many of the enabled servers are ready or idle, and the number of problems of each severity, including
// those of the gateway itself: "10/14 ready ▲1 ✗1 ◐1".
func (a *App) addServers(l *line) {
	var counts [sevOff + 1]int
	ready, all := 0, 0
	for i := range a.picture.Servers {
		s := &a.picture.Servers[i]
		counts[serverSeverity(a.picture, s)]++
		if s.State == "disabled" {
			continue
		}
		all++
		if s.State == "ready" || s.State == "idle" {
			ready++
		}
	}
	counts[sevAct] += len(gatewayFaults(a.picture))
	health := Good
	if ready < all {
		health = Warn
	}
	l.add(health, fmt.Sprintf("  %d/%d ready", ready, all))
	for s := sevAct; s <= sevLimited; s++ {
		if counts[s] > 0 {
			l.add(s.health(), fmt.Sprintf(" %s%d", glyphs[s], counts[s]))
		}
	}
}

// addLive appends whether the screen shows the present state.
func (a *App) addLive(l *line) {
	switch {
	case a.picture.Lost != nil:
		l.add(Bad, "✗ lost")
	case a.paused != nil:
		l.add(Warn, "‖ paused "+span(a.now().Sub(a.pausedAt).Truncate(1e9)))
	default:
		l.add(Good, "●")
		l.add(Plain, " live")
	}
}

// drawHealth draws the only line of a very small screen.
func (a *App) drawHealth(screen tcell.Screen, w int) {
	var l line
	a.addState(&l)
	if len(l) > 0 {
		l[0].text = strings.TrimLeft(l[0].text, " ")
	}
	l.draw(screen, 0, 0, w, a.colors())
}

// busyLine reports whether the last line shows what must be visible even on a small screen: an input, a question, what can be
// copied, or a message.
func (a *App) busyLine() bool {
	switch a.mode {
	case modeCommand, modeFilter, modeConfirm, modeCopy:
		return true
	}
	return a.flashing()
}

func (a *App) flashing() bool { return a.flash != "" && a.now().Sub(a.flashed) < flashTime }

// maxFlash is the maximum number of lines of a message.
const maxFlash = 3

// showsFlash reports whether the last line shows a message.
func (a *App) showsFlash() bool {
	switch a.mode {
	case modeCommand, modeFilter, modeConfirm, modeCopy:
		return false
	case modeForm:
		return a.flashing() && !a.form.copying
	}
	return a.flashing()
}

// lastLines returns how many lines drawLast needs. Only a long message on a screen that is not small needs more than one.
func (a *App) lastLines(w int, full bool) int {
	if !full || !a.showsFlash() {
		return 1
	}
	return len(wrapped(a.flash, w, maxFlash))
}

// drawLast draws the bottom of the screen: the input, a question, a message, or key hints.
func (a *App) drawLast(screen tcell.Screen, r rect) {
	p, hint, y, w := a.colors(), a.modeHint(), r.y, r.w
	switch {
	case a.mode == modeCommand || a.mode == modeFilter:
		drawInput(screen, a.input.SetLabelStyle(p.Key), p.Health[Plain], rect{0, y, w, 1})
	case a.mode == modeConfirm:
		put(screen, 0, y, w, a.confirm, p.Health[Bad], nil, p.Match)
		a.yesOrNo(y, w, a.confirm)
	case a.showsFlash():
		for i, line := range wrapped(a.flash, w, max(1, r.h)) {
			put(screen, 0, y+i, w, line, p.Health[a.flashHealth], nil, p.Match)
		}
	case hint != "":
		put(screen, 0, y, w, hint, p.Key, nil, p.Match)
		a.keyButtons(0, y, w, hint)
	default:
		right := a.hints(hintLast, w/2)
		n := right.width()
		right.draw(screen, w-n, y, n, p)
		left := a.hints(hintView, w-n-2)
		left.draw(screen, 0, y, w-n-2, p)
		a.keyButtons(w-n, y, n, right.String())
		a.keyButtons(0, y, w-n-2, left.String())
	}
}

// modeHint returns the key hints of a mode that replaces the tables, or "". The keys of browse mode mean something else there.
func (a *App) modeHint() string {
	switch a.mode {
	case modeCopy:
		return a.copyHint()
	case modeForm:
		return a.form.hint()
	case modeSheet:
		return a.sheet.hint()
	case modeActs:
		return "enter do  c copy command  esc leave"
	case modeFull:
		return "pgdn scroll  c copy  y json  esc leave"
	case modeHelp:
		return "pgdn scroll  esc leave"
	}
	return ""
}

// hints returns the enabled keys of one kind with their labels, in at most room columns. It leaves out each key that does not fit
// behind those before it.
func (a *App) hints(which hint, room int) line {
	var l line
	used := 0
	for i := range actions {
		act := &actions[i]
		if act.hint != which || act.disabled != nil && act.disabled(a) != "" {
			continue
		}
		label := act.label
		if act.labelNow != nil {
			if now := act.labelNow(a); used+width(act.key)+3+width(now) <= room {
				label = now
			}
		}
		space := 0
		if used > 0 {
			space = 2
		}
		n := space + width(act.key) + 1 + width(label)
		if used+n > room {
			continue
		}
		used += n
		l = append(l, styled{strings.Repeat(" ", space) + act.key, func(p *Palette) tcell.Style { return p.Key }})
		l.hint(" " + label)
	}
	return l
}
