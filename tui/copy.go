package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
	"goblin-actor/internal/visible"
)

const (
	// maxCopy limits the text that is copied, in bytes. Terminals ignore longer sequences (OSC 52).
	maxCopy = 74_000

	copyQuestion = "copy  c name  r row  j JSON"
	copyUses     = "  l command line  p JSON-RPC  u curl  t txtar"
	formCopies   = "copy  c name  l command line  p JSON-RPC  u curl  t txtar  a answer"
)

// copyKey copies what the key chooses.
func (a *App) copyKey(e *tcell.EventKey) {
	a.mode = modeBrowse
	r := a.view().table.row()
	if r == nil || e.Key() != tcell.KeyRune {
		return
	}
	switch e.Rune() {
	case 'c':
		a.copyText(oneLine(cmp.Or(r.Copy, r.ID)))
	case 'r':
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.Text)
		}
		a.copyText(strings.Join(cells, "\t"))
	case 'j':
		a.copyText(jsonOf(r))
	case 'l', 'p', 'u', 't':
		u, answer, err := a.exported()
		a.copyExport(e.Rune(), u, answer, err)
	}
}

// formCopyKey copies the part of the form that the key chooses.
func (a *App) formCopyKey(f *itemForm, e *tcell.EventKey) {
	f.copying = false
	switch {
	case e.Key() != tcell.KeyRune:
	case char('c')(e):
		a.copyText(oneLine(f.item.Public))
	case char('a')(e) && f.answered() == nil:
		f.note = "there is no answer to copy"
	case char('a')(e):
		a.copyText(strings.Join(f.use.lines, "\n"))
	case strings.ContainsRune("lput", e.Rune()):
		u, err := f.current()
		if err != nil {
			err = fmt.Errorf("not copied: %w", err)
		}
		a.copyExport(e.Rune(), u, f.answered(), err)
	}
}

// copyExport copies a use as the text that the key chooses. If there is no use, err says why.
func (a *App) copyExport(key rune, u form.Use, answer []byte, err error) {
	text := ""
	if err == nil {
		text, err = a.export(key, u, answer)
	}
	if err != nil {
		a.notify(err.Error(), Warn)
		return
	}
	a.copyText(text)
}

// oneLine returns a text as one line without control characters.
func oneLine(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(visible.Text(s))
}

// copyText copies a text and reports the result in the last line.
func (a *App) copyText(text string) {
	if err := a.clipboard(text); err != nil {
		a.notify("not copied: "+err.Error(), Warn)
		return
	}
	a.notify("copied "+size(int64(len(text))), Good)
}

// copyHint says what can be copied of the selected row.
func (a *App) copyHint() string {
	if r := a.view().table.row(); r != nil {
		if _, _, err := a.exported(); err == nil {
			return copyQuestion + copyUses
		}
	}
	return copyQuestion + "  esc leave"
}

// jsonOf returns the details of a row as JSON, without control characters.
func jsonOf(r *Row) string {
	all := [][2]string{}
	if r.Detail != nil {
		for _, f := range r.Detail() {
			all = append(all, [2]string{f.Name, strings.Join(lines(f.Text), "\n")})
		}
	}
	var b strings.Builder
	b.WriteString("{")
	for i, f := range all {
		if i > 0 {
			b.WriteString(",")
		}
		name, _ := json.Marshal(f[0])
		value, _ := json.Marshal(f[1])
		if strings.HasPrefix(f[1], "{") && json.Valid([]byte(f[1])) {
			value = []byte(f[1])
		}
		b.WriteString("\n  " + string(name) + ": " + string(value))
	}
	b.WriteString("\n}")
	return b.String()
}

// toClipboard copies a text with the terminal's sequence OSC 52. In tmux, which ignores the sequence by default, the text
// is passed to tmux.
func (a *App) toClipboard(text string) error {
	if len(text) > maxCopy {
		return errors.New("the text is longer than the " + size(maxCopy) + " that terminals accept; press f and select it there")
	}
	if os.Getenv("TMUX") != "" {
		go a.toTmux(text)
		return nil
	}
	if a.terminal == nil {
		return errors.New("there is no terminal")
	}
	a.terminal.SetClipboard([]byte(text))
	return nil
}

// toTmux passes a text to tmux. If that fails, it reports why.
func (a *App) toTmux(text string) {
	ctx, cancel := context.WithTimeout(a.ctx, requestTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
	cmd.Stdin = strings.NewReader(text)
	if err := cmd.Run(); err != nil {
		select {
		case a.outcomes <- outcome{"not copied: tmux load-buffer: " + err.Error(), Warn}:
		default: // full: sixteen results are waiting to be shown
		}
	}
}

// detail returns the details of a row for the side panel, or as JSON for the full screen.
func (a *App) detail(r *Row) []Field {
	if a.mode == modeFull && a.json {
		return []Field{{"JSON", jsonOf(r)}}
	}
	return r.Detail()
}
