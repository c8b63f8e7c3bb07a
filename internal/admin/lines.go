package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"goblin-actor/internal/status"
)

// linesz serves the stderr and log lines of a server, or without ?server of all servers and the gateway.
func linesz(src status.Source) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, query url.Values, after uint64) ([]status.Event, error) {
		return src.Lines(ctx, query.Get("server"), after)
	})
}

// finishedz serves finished calls of a server, or without ?server of all servers.
func finishedz(src status.Source) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, query url.Values, after uint64) ([]status.FinishedCall, error) {
		return src.Finished(ctx, query.Get("server"), after)
	})
}

// storedEntries serves the entries that ask returns. ask receives the query of the request and the number in ?after, or 0. It must not wait for
// new entries.
func storedEntries[T any](ask func(ctx context.Context, query url.Values, after uint64) ([]T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		after, err := number(r, "after")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		list, err := ask(ctx, r.URL.Query(), after)
		if err != nil {
			http.Error(w, "no entries available: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		if list == nil {
			list = []T{} // an empty list in JSON is [], not null
		}
		writeJSON(w, http.StatusOK, list, r.URL.Query().Has("pretty"))
	}
}

// Lines implements status.Source.
func (r *remote) Lines(ctx context.Context, server string, after uint64) ([]status.Event, error) {
	var lines []status.Event
	err := r.json(ctx, "/logz?after="+strconv.FormatUint(after, 10)+"&server="+url.QueryEscape(server), &lines)
	return lines, err
}

// Finished implements status.Source.
func (r *remote) Finished(ctx context.Context, server string, after uint64) ([]status.FinishedCall, error) {
	var calls []status.FinishedCall
	err := r.json(ctx, "/finishedz?after="+strconv.FormatUint(after, 10)+"&server="+url.QueryEscape(server), &calls)
	return calls, err
}
