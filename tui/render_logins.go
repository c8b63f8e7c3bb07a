package tui

import (
	"cmp"
	"context"
	"strings"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// loginsKind shows the logins at servers.
var loginsKind = &Kind{
	Name: "logins", Worst: true,
	Columns: []Column{{Name: "LOGIN", Sort: 'N'}, {Name: "WHOSE", Sort: 'U'}, {Name: "STATE", Sort: 'S'}, {Name: "EXPIRES", Sort: 'E', Right: true}, {Name: "RENEWED", Sort: 'R', Right: true},
		{Name: "ISSUER", Sort: 'I', Wide: true, Flex: true}, {Name: "WHY", Sort: 'W', Flex: true}},
	Rows: func(p *Picture) []Row {
		rows := make([]Row, len(p.Logins))
		for i := range p.Logins {
			rows[i] = loginRow(p, &p.Logins[i])
		}
		return rows
	},
	Fetch: func(ctx context.Context, source status.Source, _ *Picture, _ scope, a *access) (err error) {
		a.Logins, err = source.Logins(ctx)
		return err
	},
}

func loginRow(p *Picture, l *status.Login) Row {
	mark := map[string]Severity{"needs-login": sevAct, "stale": sevLimited, "fresh": sevGood}[l.State]
	if mark == sevNone {
		mark = sevBusy
	}
	expires, renewed := until(l.Expires, p.Now), Cell{Number: -1}
	if !l.Renewed.IsZero() {
		renewed = ago(l.Renewed, p.Now)
		renewed.Text += " ago"
	}
	whose := cmp.Or(l.Whose, "all clients")
	command, by := "", ""
	if mark == sevAct {
		command = "goblin-actor login " + form.Quote(l.Server)
		if l.Whose != "" && l.Whose != "local" {
			by = l.Whose + ", with the key of " + strings.TrimPrefix(l.Whose, "key:")
		}
	}
	return Row{
		ID: l.Server + " " + l.Whose, Server: l.Server, Whose: &l.Whose, Health: mark.health(), Mark: mark, Copy: command,
		Cells: []Cell{text(l.Server), text(whose), colored(l.State, mark.health()), expires, renewed, text(strings.TrimPrefix(l.Issuer, "https://")), colored(l.Reason, mark.health())},
		Detail: func() []Field {
			return fields(Field{"login at", l.Server}, Field{"whose", whose}, Field{"state", l.State}, Field{"why", l.Reason}, Field{"to log in", command}, Field{"to be run by", by}, Field{"issuer", l.Issuer},
				Field{"access token expires", instant(l.Expires)}, Field{"renewed", instant(l.Renewed)})
		},
	}
}
