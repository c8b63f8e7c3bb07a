package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/status"
)

// explainActs returns the action that explains the selected denial, if there is one.
func (a *App) explainActs() []rowAct {
	r := a.view().table.row()
	if part := a.view().part(); r == nil || part != denialsKind && part != refusedKind {
		return nil
	}
	i := slices.IndexFunc(a.picture.Denials, func(d status.Denial) bool { return strconv.FormatUint(d.Number, 10) == r.ID })
	if i < 0 {
		return nil
	}
	d := a.picture.Denials[i]
	act := rowAct{label: "explain it", command: explains(&d), do: func() { a.explainDenial(&d) }}
	switch {
	case act.command == "":
		act.command, act.why = "goblin-actor policy explain", "no command explains this denial"
	case a.explain == nil:
		act.why = "run it in a shell"
	}
	return []rowAct{act}
}

// explainDenial shows why the policy refuses the use that was denied.
func (a *App) explainDenial(d *status.Denial) {
	_, item, _ := strings.Cut(d.What, " ")
	s, ctx := a.openSheet("explain " + plain(d.What) + " of " + plain(d.Who))
	s.lines, s.copies = []sheetLine{{text: "reading the policy …", health: Quiet}}, explains(d)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		text, err := a.explain(ctx, d.Who, item)
		a.afterwards(func() {
			if s.lines = []sheetLine{{text: text}}; err != nil {
				s.lines = []sheetLine{{text: err.Error(), health: Bad}}
			}
		})
	}()
}
