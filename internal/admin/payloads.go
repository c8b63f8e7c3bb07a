package admin

import (
	"context"
	"net/http"
	"net/url"

	"goblin-actor/internal/status"
)

// payloadz serves the kept payloads. With ?call= it serves those of one call with their texts, otherwise those of
// all calls without texts.
func payloadz(src status.Source) http.HandlerFunc {
	return storedEntries(func(ctx context.Context, query url.Values, _ uint64) ([]status.KeptPayloads, error) {
		return src.Payloads(ctx, status.PayloadQuery{Call: query.Get("call")})
	})
}

// Payloads implements status.Source.
func (r *remote) Payloads(ctx context.Context, q status.PayloadQuery) ([]status.KeptPayloads, error) {
	var list []status.KeptPayloads
	err := r.json(ctx, "/payloadz?call="+url.QueryEscape(q.Call), &list)
	return list, err
}
