package identity

import "context"

// whoKey is the key of a context's principal.
type whoKey struct{}

// In returns a context of a request of that principal; nil = of nobody who is known.
func In(ctx context.Context, who *Principal) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// From is whose request it is; nil = nobody who is known, or nobody has found out.
func From(ctx context.Context) *Principal {
	who, _ := ctx.Value(whoKey{}).(*Principal)
	return who
}
