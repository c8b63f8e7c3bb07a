package console

import (
	"context"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/login"
	"goblin-actor/tui"
)

// Logins returns the console's logins at the gateway of service.
func Logins(service login.Service) tui.Logins { return logins{service} }

type logins struct{ service login.Service }

// In implements tui.Logins.
func (l logins) In(ctx context.Context, a tui.LoginAction, shown func(page string, err error)) error {
	return withHint(login.ByBrowser(ctx, l.service, request(a), 0, func(page string) { shown(page, login.OpenPage(ctx, page)) }))
}

// Out implements tui.Logins.
func (l logins) Out(ctx context.Context, a tui.LoginAction) error {
	return withHint(l.service.Logout(ctx, request(a)))
}

func request(a tui.LoginAction) login.Request {
	return login.Request{Server: a.Server, Catalog: a.Catalog, Aim: string(a.Aim)}
}

// hintedError is an error with its hint.
type hintedError struct {
	error
	hint string
}

// Error returns the text and the hint.
func (h hintedError) Error() string { return h.error.Error() + "; " + h.hint }

// Unwrap returns the error without the hint.
func (h hintedError) Unwrap() error { return h.error }

// withHint returns err with its hint, if it has one.
func withHint(err error) error {
	switch e := err.(type) {
	case *login.Refused:
		if e.Hint != "" {
			return hintedError{err, e.Hint}
		}
	case *command.Error:
		if e.Hint != "" {
			return hintedError{err, e.Hint}
		}
	case interface{ Hint() string }:
		return hintedError{err, e.Hint()}
	}
	return err
}
