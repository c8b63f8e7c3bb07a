package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"goblin-actor/internal/status"
)

// PageRoute returns a route for GET that serves what read returns for the query, as plain text. Errors of read that wrap
// status.ErrNotThere have the status 404, all others 400.
func PageRoute(pattern string, read func(ctx context.Context, query url.Values) ([]byte, error)) Route {
	return Route{pattern, get(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		page, err := read(ctx, r.URL.Query())
		switch {
		case errors.Is(err, status.ErrNotThere):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write(page)
		}
	})}
}

// GetPage returns a page of the gateway with the admin socket at path. For an error response, it returns an error that wraps
// a *Refused.
func GetPage(ctx context.Context, path, page string) ([]byte, error) {
	if err := checkAddress(path); err != nil {
		return nil, err
	}
	return (&remote{path: path, http: client(path)}).do(ctx, http.MethodGet, page, nil)
}
