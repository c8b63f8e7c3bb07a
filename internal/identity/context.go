package identity

import "context"

// whoKey is the context key of the principal.
type whoKey struct{}

// In returns a copy of ctx with the principal of a request; nil = unknown.
func In(ctx context.Context, who *Principal) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// From returns the principal of a request, or nil if it is unknown.
func From(ctx context.Context) *Principal {
	who, _ := ctx.Value(whoKey{}).(*Principal)
	return who
}
