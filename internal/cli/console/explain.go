package console

import (
	"context"

	"goblin-actor/internal/status"
)

// Explain explains whether a principal of a gateway may use an item: who is the principal's name or ID. It is the
// function of the command policy explain, which this package may not import.
type Explain func(ctx context.Context, source status.Source, who, item string) (string, error)

// Of returns the console's function for one gateway.
func (e Explain) Of(source status.Source) func(ctx context.Context, who, item string) (string, error) {
	return func(ctx context.Context, who, item string) (string, error) {
		text, err := e(ctx, source, who, item)
		return text, withHint(err)
	}
}
