package tui

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// drawPanel draws the selected row's details in the side panel or on the full screen.
func (a *App) drawPanel(screen tcell.Screen, x, y, w, h int) {
	if w < 1 || h < 1 {
		return
	}
	p := a.colors()
	a.scrolls(rect{x, y, w, h}, func(n int) { a.panelTop += n })
	title, all := "no row selected", []panelLine(nil)
	if r := a.view().table.row(); r != nil {
		title = r.title()
		if r.Detail != nil {
			all = panelLines(a.detail(r), w)
		}
	}
	a.panelTop = max(0, min(a.panelTop, len(all)-(h-1)))
	a.rule(screen, x, y, w, title, scrollNote(len(all)-(h-1), a.panelTop, "}", "{"))
	found := a.view().table.filter()
	if a.view().table.invert {
		found = nil
	}
	for i := 0; i < h-1 && a.panelTop+i < len(all); i++ {
		line := all[a.panelTop+i]
		n := put(screen, x, y+1+i, w, line.label, p.Head, nil, p.Head)
		if line.label != "" {
			n++
		}
		if n < w {
			put(screen, x+n, y+1+i, w-n, line.text, p.Health[Plain], found.marks(-1, line.text), p.Match)
		}
	}
}

// scrollNote says how many lines of a text are below those that are shown. If there are none, it says that lines are above, or
// returns "". last is the greatest value that top, the first line shown, can have. down and up are the keys that scroll.
func scrollNote(last, top int, down, up string) string {
	switch {
	case last > top:
		return down + " " + plural(last-top, "line") + " more"
	case top > 0:
		return up + " scrolls up"
	}
	return ""
}

// panelLine is one line of the side panel.
type panelLine struct{ label, text string }

// maxPanel is the maximum number of lines in the panel.
const maxPanel = 2000

// panelLines breaks fields into lines. A text that fits follows its name; any other is indented below it.
func panelLines(all []Field, w int) []panelLine {
	var out []panelLine
	for _, f := range all {
		text := lines(f.Text)
		if len(text) == 1 && width(f.Name)+2+width(text[0]) <= w {
			out = append(out, panelLine{f.Name + ":", text[0]})
			continue
		}
		out = append(out, panelLine{f.Name + ":", ""})
		for _, line := range text {
			for _, piece := range wrap(line, w-2) {
				if len(out) == maxPanel {
					return out
				}
				out = append(out, panelLine{"", "  " + piece})
			}
		}
	}
	return out
}

// drawHelp lists all keys, starting with the view's sort letters.
func (a *App) drawHelp(screen tcell.Screen, top, bottom, w int) {
	p := a.colors()
	a.scrolls(rect{0, top, w, bottom - top}, func(n int) { a.helpTop += n })
	var all []panelLine
	if letters := sortLetters(a.view().part()); letters != "" {
		for n, piece := range wrap("sorts by: "+letters, max(10, w-15)) {
			label := ""
			if n == 0 {
				label = "shift and"
			}
			all = append(all, panelLine{fmt.Sprintf("%-13s", label), piece})
		}
	}
	for i := range actions {
		for n, piece := range wrap(strings.ReplaceAll(actions[i].help, "`", ""), max(10, w-15)) {
			label := ""
			if n == 0 {
				label = a.keyName(actions[i].key)
			}
			all = append(all, panelLine{fmt.Sprintf("%-13s", label), piece})
		}
	}
	a.helpTop = max(0, min(a.helpTop, len(all)-(bottom-top-1)))
	a.rule(screen, 0, top, w, "keys; any other key closes the list", scrollNote(len(all)-(bottom-top-1), a.helpTop, "↓", "↑"))
	for y := top + 1; y < bottom && a.helpTop+y-top-1 < len(all); y++ {
		line := all[a.helpTop+y-top-1]
		n := put(screen, 0, y, w, line.label, p.Key, nil, p.Key) + 1
		if n < w {
			put(screen, n, y, w-n, line.text, p.Health[Plain], nil, p.Match)
		}
	}
}
