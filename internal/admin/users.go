package admin

import (
	"context"
	"net/http"
	"net/url"

	"goblin-actor/internal/status"
)

// usersz serves the users, with ?name only those whose names contain it.
func usersz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		users, err := src.Users(ctx, r.URL.Query().Get("name"))
		if err != nil {
			http.Error(w, "no users available: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		writeJSON(w, http.StatusOK, users, r.URL.Query().Has("pretty"))
	}
}

// listed serves the whole list that ask returns.
func listed[T any](ask func(ctx context.Context) ([]T, error)) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, _ url.Values, _ uint64) ([]T, error) { return ask(ctx) })
}

// Users implements status.Source.
func (r *remote) Users(ctx context.Context, name string) (status.Users, error) {
	var users status.Users
	err := r.json(ctx, "/userz?name="+url.QueryEscape(name), &users)
	return users, err
}

// Logins implements status.Source.
func (r *remote) Logins(ctx context.Context) ([]status.Login, error) {
	var logins []status.Login
	err := r.json(ctx, "/loginz", &logins)
	return logins, err
}

// Denials implements status.Source.
func (r *remote) Denials(ctx context.Context) ([]status.Denial, error) {
	var denials []status.Denial
	err := r.json(ctx, "/denialz", &denials)
	return denials, err
}

// Nodes implements status.Source.
func (r *remote) Nodes(ctx context.Context) ([]status.NodeReport, error) {
	var nodes []status.NodeReport
	err := r.json(ctx, "/nodez", &nodes)
	return nodes, err
}
