package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"goblin-actor/internal/status"
)

// recordz serves the recordings of actors' messages. With ?actor= it serves those of one actor, with ?call= only the
// messages about one call, and with ?after= only later ones.
func recordz(src status.Source) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, query url.Values, after uint64) ([]status.Recording, error) {
		return src.Records(ctx, status.RecordQuery{Actor: query.Get("actor"), Call: query.Get("call"), After: after})
	})
}

// Records implements status.Source.
func (r *remote) Records(ctx context.Context, q status.RecordQuery) ([]status.Recording, error) {
	var list []status.Recording
	err := r.json(ctx, "/recordz?actor="+url.QueryEscape(q.Actor)+"&call="+url.QueryEscape(q.Call)+"&after="+strconv.FormatUint(q.After, 10), &list)
	return list, err
}
