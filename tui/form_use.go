package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// afterwards runs a function on the screen's goroutine, before the next Picture is shown. It blocks until there is room
// for it, or the console ends.
func (a *App) afterwards(do func()) {
	select {
	case a.later <- do:
		a.hurry()
	case <-a.ctx.Done():
	}
}

// catchUp runs the functions that afterwards has collected.
func (a *App) catchUp() {
	for {
		select {
		case do := <-a.later:
			do()
		default:
			return
		}
	}
}

// send performs what the form describes. Its progress and its answer arrive with later Pictures.
func (a *App) send(f *itemForm) {
	u, err := f.current()
	if err != nil {
		f.note = "not sent: " + err.Error()
		return
	}
	sent := status.Use{Arguments: u.Arguments}
	switch u.Verb {
	case form.Call:
		sent.Tool = u.Name
	case form.Prompt:
		sent.Prompt = u.Name
	case form.Read:
		sent.URI = u.Name
	}
	ctx, cancel := context.WithCancel(a.ctx)
	use := &running{began: a.now(), cancel: cancel}
	f.use, f.top, f.note = use, 0, ""
	go func() {
		defer cancel()
		answer, err := a.source.Use(ctx, sent, func(e status.UseEvent) { a.afterwards(func() { a.told(f, use, e) }) })
		a.afterwards(func() { use.ended, use.answer, use.err, use.asked = a.now(), answer, err, nil })
	}()
}

// stop cancels the use that is running, if any.
func (f *itemForm) stop() {
	if f.use != nil && f.use.ended.IsZero() {
		f.use.cancel()
	}
}

// state describes a use in one line.
func (u *running) state(now time.Time) (text string, h Health) {
	if u.ended.IsZero() {
		text = short(now.Sub(u.began))
		if p := u.progress; p != nil {
			if p.Total > 0 {
				text = strconv.Itoa(int(100*p.Done/p.Total)) + "%  " + text
			}
			text += "  " + plain(p.Message)
		}
		return "running  " + text + "  ctrl-d cancel", Warn
	}
	text = short(u.ended.Sub(u.began))
	switch {
	case u.err != nil:
		return "no answer  " + text, Bad
	case u.answer.Error != nil:
		return "error  " + text, Bad
	case u.isError():
		return "the tool reported an error  " + text, Bad
	}
	return "ok  " + text + "  " + size(int64(len(u.answer.Result))), Good
}

// answered returns the answer, or nil if there is none.
func (f *itemForm) answered() []byte {
	if f.use == nil || f.use.ended.IsZero() {
		return nil
	}
	return slices.Concat(f.use.answer.Result, f.use.answer.Error) // one of them is empty
}

// isError reports whether the tool's result is marked as an error.
func (u *running) isError() bool {
	var verdict struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(u.answer.Result, &verdict) == nil && verdict.IsError
}

// maxAnswer limits the part of an answer that is shown, in bytes.
const maxAnswer = 256 << 10

// text returns the answer for display: its texts, otherwise its JSON.
func (u *running) text() string {
	switch {
	case errors.Is(u.err, context.Canceled):
		return "canceled; the server may have executed a part of it"
	case u.err != nil:
		return u.err.Error()
	case u.answer.Error != nil:
		return indented(string(u.answer.Error))
	}
	if text := contents(u.answer.Result); text != "" {
		return shortened(text)
	}
	var b bytes.Buffer
	if json.Indent(&b, u.answer.Result, "", "  ") != nil {
		return shortened(string(u.answer.Result))
	}
	return shortened(b.String())
}

func shortened(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	return cutAt(text, maxAnswer) + "; use the command line"
}

// cutAt returns the first bytes of a longer text, and says that there are more.
func cutAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "\n… the rest is not shown"
}

// block is a part of a result. MCP 2025-11-25, server/tools, server/resources, server/prompts.
type block struct {
	Type    string          `json:"type"`
	Text    *string         `json:"text"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// contents returns the texts of a result, or "" if it has other parts.
func contents(result []byte) string {
	var r struct {
		Content    []block         `json:"content"`
		Contents   []block         `json:"contents"`
		Messages   []block         `json:"messages"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	var texts []string
	for _, b := range r.Messages {
		var inner block
		if json.Unmarshal(b.Content, &inner) != nil || inner.Text == nil {
			return ""
		}
		texts = append(texts, b.Role+":\n"+*inner.Text)
	}
	for _, b := range append(r.Content, r.Contents...) {
		if b.Text == nil {
			return ""
		}
		texts = append(texts, *b.Text)
	}
	return strings.Join(texts, "\n\n")
}
