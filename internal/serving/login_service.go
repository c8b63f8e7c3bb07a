package serving

import (
	"context"

	"goblin-actor/actors"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
	"goblin-actor/internal/secret"
)

// loginActions are the paths of the login actions on the admin socket.
var loginActions = map[string]string{"begin": "/actions/login", "finish": "/actions/login-finish", "logout": "/actions/logout"}

// loginRoutes returns the routes with which the local user logs in.
func loginRoutes(pages *login.Pages) []admin.Route {
	routes := []admin.Route{}
	for verb, path := range loginActions {
		routes = append(routes, admin.Route{Pattern: "POST " + path, Handler: pages.HandlerFor(identity.Local, verb)})
	}
	return routes
}

// SocketLogins returns the logins of the gateway with the admin socket at path, for the owner of the socket.
func SocketLogins(path string) (login.Service, error) {
	socket, err := admin.Client(path)
	if err != nil {
		return nil, err
	}
	return &login.Client{HTTP: socket, URL: func(verb string) string { return "http://admin" + loginActions[verb] }}, nil
}

// LocalLogins returns the logins of a gateway in this process, for the local user. Errors are redacted by known.
func LocalLogins(g *actors.Gateway, known *secret.Redactor) login.Service {
	return localLogins{g, known}
}

type localLogins struct {
	gateway *actors.Gateway
	known   *secret.Redactor
}

func (l localLogins) Begin(ctx context.Context, w login.Request) (login.Started, error) {
	w.Who = identity.Local
	begun, err := l.gateway.BeginLogin(ctx, w)
	return begun, l.known.Hush(err)
}

func (l localLogins) Finish(ctx context.Context, a login.Answer) error {
	a.Who = identity.Local
	return l.known.Hush(l.gateway.FinishLogin(ctx, a))
}

func (l localLogins) Logout(ctx context.Context, w login.Request) error {
	w.Who = identity.Local
	return l.known.Hush(l.gateway.Logout(ctx, w))
}
