package tui

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

const (
	// questionGuard is how long a new question ignores the keys that answer it, because they may have been meant for what was
	// on the screen before.
	questionGuard = 500 * time.Millisecond

	// maxMessage limits the part of a question's message that is shown, in bytes.
	maxMessage = 16 << 10

	// maxAsked limits the open questions of a call that the console keeps. It ignores further ones.
	maxAsked = 64
)

// The last line while a server's question is shown.
const (
	questionHint = "ctrl-r send  tab next  ctrl-x decline  esc dismiss  pgdn scroll  ctrl-d cancel"
	pageHint     = "ctrl-r agree  c copy the address  ctrl-x decline  esc dismiss  ctrl-d cancel"
	wrongHint    = "ctrl-x decline  esc dismiss  ctrl-d cancel"
)

// question is a question that the server asks during a call. It is shown in place of the call's fields.
type question struct {
	fieldset
	status.UseQuestion
	page  *url.URL  // the page that the user is asked to open; nil = a form
	wrong error     // why the form cannot be shown; nil = it can
	since time.Time // when it became the first question
	top   int       // first visible line of the message
}

// question returns the question that is shown, or nil.
func (f *itemForm) question() *question {
	if f.use == nil || len(f.use.asked) == 0 {
		return nil
	}
	return f.use.asked[0]
}

// told applies an event of a running use: progress, a question, or the withdrawal of one.
func (a *App) told(f *itemForm, u *running, e status.UseEvent) {
	switch {
	case e.Progress != nil:
		u.progress = e.Progress
	case e.Question != nil && len(u.asked) < maxAsked:
		u.asked = append(u.asked, a.newQuestion(*e.Question))
	case e.Closed != "" && u.drop(e.Closed, a.now()):
		f.note = "the server has withdrawn its question"
	}
}

func (a *App) newQuestion(asked status.UseQuestion) *question {
	q := &question{UseQuestion: asked, since: a.now()}
	var in form.Inputs
	if asked.URL != "" {
		q.page, q.wrong = (&form.Elicitation{URL: asked.URL}).Page()
	} else {
		in, q.wrong = form.QuestionInputs(asked.Schema)
	}
	q.begin(in)
	return q
}

// drop removes a question and shows the next. It returns false if there is no such question.
func (u *running) drop(id string, now time.Time) bool {
	for i, q := range u.asked {
		if q.ID != id {
			continue
		}
		u.asked = append(u.asked[:i:i], u.asked[i+1:]...)
		if i == 0 && len(u.asked) > 0 {
			u.asked[0].since = now
		}
		return true
	}
	return false
}

// questionKey handles a key while a question is shown.
func (a *App) questionKey(f *itemForm, q *question, e *tcell.EventKey) {
	f.note = ""
	decides := ctrl('r')(e) || ctrl('x')(e) || e.Key() == tcell.KeyEscape
	switch {
	case decides && a.now().Sub(q.since) < questionGuard:
		f.note = "the server has asked a question; read it first"
	case ctrl('r')(e):
		a.accept(f, q)
	case ctrl('x')(e):
		a.reply(f, q, status.UseAnswer{Action: status.Decline})
	case e.Key() == tcell.KeyEscape:
		a.reply(f, q, status.UseAnswer{Action: status.Dismiss})
	case ctrl('d')(e):
		f.stop()
	case keys(tcell.KeyPgDn, tcell.KeyPgUp)(e):
		q.top = max(0, q.top+5*direction(e))
	case q.page != nil && char('c')(e):
		a.copyText(oneLine(q.URL))
	default:
		q.key(e)
	}
}

// accept sends the values of a question, or says why they cannot be sent.
func (a *App) accept(f *itemForm, q *question) {
	answer := status.UseAnswer{Action: status.Accept}
	err := q.wrong
	if err == nil && q.page == nil {
		answer.Content, err = q.inputs.Answer(q.texts)
	}
	if err != nil {
		f.note = "not sent: " + err.Error()
		return
	}
	a.reply(f, q, answer)
}

// reply sends the answer to a question in the background and shows the next question.
func (a *App) reply(f *itemForm, q *question, answer status.UseAnswer) {
	answer.Question = q.ID
	f.use.drop(q.ID, a.now())
	go func() {
		ctx, cancel := context.WithTimeout(a.ctx, requestTime)
		defer cancel()
		if err := a.source.Answer(ctx, answer); err != nil {
			a.afterwards(func() { f.note = "the answer did not arrive: " + err.Error() })
		}
	}()
}

// drawQuestion draws a question in place of the form's fields and returns the next free line.
func (a *App) drawQuestion(screen tcell.Screen, f *itemForm, q *question, r rect) int {
	p := a.colors()
	y, end := r.y+1, r.y+r.h
	var message []string
	for _, line := range lines(cutAt(q.Message, maxMessage)) {
		if message = append(message, wrap(line, max(1, r.w-4))...); len(message) > maxPanel {
			break
		}
	}
	room := max(1, r.h/3)
	q.top = max(0, min(q.top, len(message)-room))
	note := scrollNote(len(message)-room, q.top, "pgdn", "pgup")
	if n := len(f.use.asked); n > 1 {
		note = strings.TrimSpace(plural(n-1, "more question") + "  " + note)
	}
	a.rule(screen, r.x, r.y, r.w, plain(f.item.Server)+" asks", note)
	for i := 0; i < room && q.top+i < len(message) && y < end; i++ {
		put(screen, r.x, y, r.w, "    "+message[q.top+i], p.Health[Plain], nil, p.Match)
		y++
	}
	switch {
	case q.wrong != nil:
		for _, line := range wrapped("this question cannot be shown: "+plain(q.wrong.Error()), max(1, r.w-2), max(1, end-y)) {
			put(screen, r.x, y, r.w, "  "+line, p.Health[Bad], nil, p.Match)
			y++
		}
		return y
	case q.page != nil:
		return a.drawPage(screen, q, rect{r.x, y, r.w, end - y})
	}
	if len(q.inputs.All) == 0 && y < end {
		put(screen, r.x, y, r.w, "  no fields to fill in", p.Hint, nil, p.Match)
		return y + 1
	}
	return y + a.drawFields(screen, rect{r.x, y, r.w, max(1, end-y)}, &q.fieldset)
}

// drawPage draws the address of a page that a server asks the user to open.
func (a *App) drawPage(screen tcell.Screen, q *question, r rect) int {
	p := a.colors()
	y, end := r.y, r.y+r.h
	text := func(s string, style tcell.Style) {
		for _, line := range wrap(s, max(1, r.w-2)) {
			if y < end {
				put(screen, r.x, y, r.w, "  "+line, style, nil, style)
				y++
			}
		}
	}
	host := q.page.Hostname()
	text("The server wants you to open this page of "+plain(host)+" in a browser. The console does not open it.", p.Hint)
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }) || strings.Contains(host, "xn--") {
		text("The name of the host contains international characters (xn-- encodes them). It may imitate another one.", p.Health[Bad])
	}
	text(plain(q.URL), p.Key)
	return y
}
