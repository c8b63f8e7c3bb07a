package ask

import (
	"errors"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/form"
)

// arguments converts the pairs to a JSON object. Unknown, invalid and missing arguments are usage errors. name is the
// tool's name for messages.
func arguments(s form.Schema, name string, pairs []command.Pair) ([]byte, error) {
	typed := make([]form.Pair, len(pairs))
	for i, p := range pairs {
		typed[i] = form.Pair(p)
	}
	raw, err := s.Arguments(name, typed)
	if invalid, ok := errors.AsType[*form.ArgumentError](err); ok {
		return nil, command.UsageError(invalid.Hint, "%w", invalid)
	}
	return raw, err
}
