package tui

import (
	"context"
	"errors"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// Logins logs the user in to servers and out of them. Its methods block until the login or logout has ended or ctx ends, and are safe for
// concurrent use.
type Logins interface {
	// In logs in with a browser. It calls shown at most once, with the page that the user must open. err is why the
	// browser cannot be opened; nil = it opens.
	In(ctx context.Context, l LoginAction, shown func(page string, err error)) error

	// Out ends the login that l names, also if other clients share it.
	Out(ctx context.Context, l LoginAction) error
}

// LoginAction names a login at a server.
type LoginAction struct {
	Server  string
	Catalog bool // for a server with logins of principals: the login for listing its catalog, not the user's own
	Aim     status.Aim
}

// loginActs returns the actions for the login at a server. whose is the owner of the login if the row is a login ("" = all clients
// share it), or nil.
func (a *App) loginActs(server string, whose *string) []rowAct {
	l := LoginAction{Server: server, Aim: a.aimed(status.Action{}).Aim}
	why := ""
	switch {
	case whose == nil:
		l.Catalog = a.needsLogin(server)
	case *whose == "":
		l.Catalog = true
	case *whose != localUser:
		why = "it belongs to " + plain(*whose) + ", who must run it"
	}
	if a.logins == nil {
		why = "run it in a shell"
	}
	name := form.Quote(server)
	return []rowAct{
		{label: "log in", command: "goblin-actor login " + name, why: why, do: func() { a.logIn(l) }},
		{label: "log out", command: "goblin-actor logout " + name, why: why, do: func() {
			question := "log out of " + plain(server) + "? "
			if l.Catalog {
				question += "all clients share this login; "
			}
			a.ask(question+"running calls that use the login will fail; y/n", func() { a.logOut(l) })
		}},
	}
}

// localUser is the name of the principal for whom the console acts.
const localUser = "local"

// needsLogin reports whether the server itself waits for a login, not only a connection of one principal.
func (a *App) needsLogin(server string) bool {
	for i := range a.picture.Servers {
		if s := &a.picture.Servers[i]; s.Name == server {
			return s.State == "needs-login"
		}
	}
	return false
}

// logIn starts a login. A sheet shows the page that the user must open, and then the result. If the user has left the sheet, the
// last line shows the result.
func (a *App) logIn(l LoginAction) {
	server := plain(l.Server)
	s, ctx := a.openSheet("log in to " + server)
	s.lines = []sheetLine{{text: "The gateway asks " + server + " where to log in.", health: Quiet}}
	go func() {
		defer s.cancel()
		err := a.logins.In(ctx, l, func(page string, cannot error) { a.afterwards(func() { s.open(l.Server, page, cannot) }) })
		a.afterwards(func() {
			text, h := "logged in to "+server, Good
			switch {
			case errors.Is(err, context.Canceled):
				text, h = "stopped waiting for the login; if you have finished it in the browser, it may still complete", Warn
			case err != nil:
				text, h = "not logged in: "+err.Error(), Bad
			}
			s.copies, s.lines = "", []sheetLine{{text: text, health: h}}
			if a.sheet != s {
				a.notify(text, h)
			}
		})
	}()
}

// open shows the page of a login at a server.
func (s *sheet) open(server, page string, cannot error) {
	how := "The browser opens this page. Log in there, and allow the gateway to use your account:"
	if cannot != nil {
		how = "Open this page in a browser on this machine (c copies it), or leave and run goblin-actor login " + form.Quote(server) + " --device. No browser could be opened: " + cannot.Error()
	}
	s.copies = page
	s.lines = []sheetLine{{text: how}, {text: page, key: true}, {text: "Waiting for you to finish the login, at most ten minutes. Press esc to stop waiting.", health: Quiet}}
}

// logOut ends the login that l names, in the background. The result is shown with a later Picture.
func (a *App) logOut(l LoginAction) {
	go func() {
		ctx, cancel := context.WithTimeout(a.ctx, logoutTime)
		defer cancel()
		result := outcome{"logged out of " + l.Server + "  = goblin-actor logout " + form.Quote(l.Server), Good}
		if err := a.logins.Out(ctx, l); err != nil {
			result = outcome{err.Error(), Bad}
		}
		a.show(result)
	}()
}
