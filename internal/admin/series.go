package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// recording is a status.Source in this process that records what happens in each second: see status.Local.Series.
type recording interface {
	Series(ctx context.Context, after int64) ([]status.Series, error)
}

// seriesOf returns what a Source in this process has recorded since a Unix second.
func seriesOf(ctx context.Context, src status.Source, after int64) ([]status.Series, error) {
	of, ok := src.(recording)
	if !ok {
		return nil, errors.New("this process does not record what happens in each second")
	}
	return of.Series(ctx, after)
}

// statusz serves the Snapshot. With ?seconds=N it includes what happened in the last N seconds.
func statusz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seconds, err := number(r, "seconds")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s, ok := ask(w, r, src)
		if !ok {
			return
		}
		if seconds > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
			defer cancel()
			series, err := seriesOf(ctx, src, time.Now().Unix()-int64(min(seconds, status.MaxMinutes*60)))
			if err != nil {
				http.Error(w, "no series: "+err.Error(), http.StatusServiceUnavailable)
				return
			}
			copied := *s
			copied.Series = series
			s = &copied
		}
		writeJSON(w, http.StatusOK, s, r.URL.Query().Has("pretty"))
	}
}

// secondz serves the Series of the gateway and of each server. With ?server=NAME it serves only that server's, and with an empty ?server= only
// the gateway's.
func secondz(src status.Source) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, query url.Values, after uint64) ([]status.Series, error) {
		list, err := seriesOf(ctx, src, int64(min(after, 1<<62)))
		return ofServer(list, query, func(s status.Series) string { return s.Server }), err
	})
}

// itemz serves the counters of all items or, with ?server=, of the items of one server. With ?public= it serves the complete
// JSON of that item; ?kind= distinguishes items with the same public name.
func itemz(src status.Source) http.HandlerFunc {
	usage := storedEntries(func(ctx context.Context, query url.Values, _ uint64) ([]status.ItemUsage, error) {
		list, err := src.Usage(ctx)
		return ofServer(list, query, func(u status.ItemUsage) string { return u.Server }), err
	})
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if !query.Has("public") {
			usage(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		item, err := src.Item(ctx, query.Get("kind"), query.Get("public"))
		switch {
		case errors.Is(err, status.ErrNotThere):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, "no item: "+err.Error(), http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(item)
		}
	}
}

// ofServer returns the entries of the server that the query names. Without ?server= it returns all entries.
func ofServer[T any](list []T, query url.Values, server func(T) string) []T {
	if !query.Has("server") {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool { return server(t) != query.Get("server") })
}

// Usage implements status.Source.
func (r *remote) Usage(ctx context.Context) ([]status.ItemUsage, error) {
	var list []status.ItemUsage
	err := r.json(ctx, "/itemz", &list)
	return list, err
}

// Item implements status.Source.
func (r *remote) Item(ctx context.Context, kind, public string) ([]byte, error) {
	item, err := r.do(ctx, http.MethodGet, "/itemz?kind="+url.QueryEscape(kind)+"&public="+url.QueryEscape(public), nil)
	if no, ok := errors.AsType[*Refused](err); ok && no.Code == http.StatusNotFound {
		return nil, fmt.Errorf("item %q: %w", public, status.ErrNotThere)
	}
	return item, err
}
