package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"goblin-actor/internal/status"
)

// linesz: what a server wrote and what the log says of it; without ?server of all, and of the gateway itself. ?after skips what
// is known. It does not wait for more.
func linesz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		after, err := number(r, "after")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		lines, err := src.Lines(ctx, r.URL.Query().Get("server"), after)
		if err != nil {
			http.Error(w, "no lines: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		if lines == nil {
			lines = []status.Event{} // in JSON nothing is [], not null
		}
		writeJSON(w, http.StatusOK, lines, r.URL.Query().Has("pretty"))
	}
}

// Lines implements status.Source.
func (r *remote) Lines(ctx context.Context, server string, after uint64) ([]status.Event, error) {
	var lines []status.Event
	err := r.json(ctx, "/logz?after="+strconv.FormatUint(after, 10)+"&server="+url.QueryEscape(server), &lines)
	return lines, err
}
