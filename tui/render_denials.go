package tui

import (
	"context"
	"strconv"
	"strings"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// denialsKind shows refused requests, the newest first.
var denialsKind = &Kind{
	Name: "denials",
	Columns: []Column{{Name: "WHEN", Sort: 'A', Right: true}, {Name: "WHO", Sort: 'U'}, {Name: "FROM", Sort: 'P'}, {Name: "WHAT", Sort: 'I', Flex: true, URI: true}, {Name: "WHY", Sort: 'W', Flex: true},
		{Name: "PERMITTED BY", Sort: 'R', Flex: true, Wide: true}, {Name: "TIMES", Sort: 'T', Right: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Denials))
		for i := range p.Denials {
			rows[i] = denialRow(p, &p.Denials[i])
		}
		return rows
	},
	Fetch: func(ctx context.Context, source status.Source, _ *Picture, _ scope, a *access) (err error) {
		a.Denials, err = source.Denials(ctx)
		return err
	},
}

func denialRow(p *Picture, d *status.Denial) Row {
	mark := sevLimited
	if d.Who == status.Unknown {
		mark = sevFailed
	}
	times := count(d.Times)
	times.Text = "×" + times.Text
	return Row{
		ID: strconv.FormatUint(d.Number, 10), Title: d.What, Health: mark.health(), Mark: mark, Copy: explains(d),
		Cells: []Cell{ago(d.Last, p.Now), text(d.Who), text(d.From), text(strings.TrimPrefix(d.What, "tools/call ")), colored(d.Why, mark.health()), text(d.Rule), times},
		Detail: func() []Field {
			return fields(Field{"who", who(d)}, Field{"from", d.From}, Field{"what", d.What}, Field{"why", d.Why}, Field{"permitted by", d.Rule}, Field{"explain", explains(d)},
				Field{"times", strconv.FormatUint(d.Times, 10)}, Field{"first", instant(d.First)}, Field{"last", instant(d.Last)})
		},
	}
}

func who(d *status.Denial) string {
	if d.Who == status.Unknown {
		return "a client without a valid key"
	}
	return d.Who
}

// explains returns the command that explains a denial by the policy. It returns "" if the policy did not decide, or if the
// item's name was cut.
func explains(d *status.Denial) string {
	method, item, _ := strings.Cut(d.What, " ")
	if !strings.Contains(method, "/") || item == "" || strings.HasPrefix(item, "/") || strings.HasSuffix(item, "…") || d.Who == status.Unknown {
		return ""
	}
	return "goblin-actor policy explain --as " + form.Quote(d.Who) + " " + form.Quote(item)
}
