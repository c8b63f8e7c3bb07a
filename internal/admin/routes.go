package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

const (
	maxActionBytes = 64 << 10
	eventStep      = 200 * time.Millisecond // interval between polls for new events
	eventBeat      = 15 * time.Second       // interval between comments on a stream, which detect disconnected clients
)

func metricsz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		text, err := src.Metrics(ctx)
		if err != nil {
			http.Error(w, "no metrics: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", status.PrometheusText)
		_, _ = io.WriteString(w, text)
	}
}

// catalogz serves the catalog, or status 304 if ?known is its version.
func catalogz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		known, err := number(r, "known")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		items, err := src.Items(ctx, known)
		switch {
		case err != nil:
			http.Error(w, "no catalog: "+err.Error(), http.StatusServiceUnavailable)
		case items == nil:
			w.WriteHeader(http.StatusNotModified)
		default:
			writeJSON(w, http.StatusOK, items, r.URL.Query().Has("pretty"))
		}
	}
}

// eventz serves server-sent events: the log without ?want or with ?want=log, and changes to the catalog with ?want=catalog. With any other
// ?want, which may list several wants, it serves one stream of all of them.
func eventz(src status.Source) http.HandlerFunc {
	log, changes, all := logz(src), changesz(src), streamz(src)
	return func(w http.ResponseWriter, r *http.Request) {
		switch want := r.URL.Query().Get("want"); want {
		case "", "log":
			log(w, r)
		case "catalog":
			changes(w, r)
		default:
			all(w, r)
		}
	}
}

// logz serves log lines as server-sent events whose ids are the numbers of the events. It ends when the client disconnects, or with
// ?once after the stored ones. Last-Event-ID or ?after skips earlier events.
func logz(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after, err := number(r, "after")
		if id := r.Header.Get("Last-Event-ID"); err == nil && id != "" {
			if after, err = strconv.ParseUint(id, 10, 64); err != nil {
				err = errors.New("Last-Event-ID: want the number of an event, for example 17")
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		step, beat := time.NewTicker(eventStep), time.NewTicker(eventBeat)
		defer step.Stop()
		defer beat.Stop()
		flush := http.NewResponseController(w)
		for {
			events, err := src.Events(r.Context(), after)
			if err != nil {
				return
			}
			var b strings.Builder
			for _, e := range events {
				line, err := json.Marshal(e)
				if err != nil {
					return
				}
				fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", e.Number, line)
				after = e.Number
			}
			if _, err := io.WriteString(w, b.String()); err != nil || r.URL.Query().Has("once") || flush.Flush() != nil {
				return
			}
			select {
			case <-step.C:
			case <-beat.C:
				if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	}
}

// act performs an operator's action. It answers 204 once the action has started, or once a changed configuration is in force.
func act(src status.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		var a status.Action
		if err := decode.Reader(http.MaxBytesReader(w, r.Body, maxActionBytes), "the body", &a); err != nil {
			http.Error(w, fmt.Sprintf("%v; send an object such as {\"server\": \"files\"}", err), http.StatusBadRequest)
			return
		}
		a.Verb = status.Verb(r.PathValue("verb"))
		switch err := src.Act(ctx, a); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, status.ErrNotThere), errors.Is(err, status.ErrUnknownVerb):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, status.ErrRestarted), errors.Is(err, status.ErrAlready):
			http.Error(w, err.Error(), http.StatusConflict)
		case errors.Is(err, status.ErrForbidden):
			http.Error(w, err.Error(), http.StatusForbidden)
		case errors.Is(err, status.ErrBadAction):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, status.ErrNotReloaded), errors.Is(err, status.ErrNotEdited):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

// number returns a numeric query parameter, or 0 if it is absent.
func number(r *http.Request, name string) (uint64, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a number", name, value)
	}
	return n, nil
}
