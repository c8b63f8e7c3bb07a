package config

import (
	"errors"
	"fmt"
	"strconv"
)

// NestingVariable tells a child how many gateways it runs under. A desktop program's file that names this gateway, given
// to the gateway itself, would else start gateways under gateways without end.
const NestingVariable = "GOBLIN_ACTOR_NESTING"

// maxNesting is how many gateways may run under each other: one behind another is of use, more is a circle.
const maxNesting = 3

// ErrNested is returned by CheckNesting when gateways start each other in a circle.
var ErrNested = errors.New("gateways start each other in a circle: an entry of mcpServers runs goblin-actor with the configuration " +
	"that it stands in; remove that entry")

// Nesting returns how many gateways this process runs under, by its environment.
func Nesting(getenv func(string) string) int {
	n, err := strconv.Atoi(getenv(NestingVariable))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// CheckNesting returns an error that wraps ErrNested when there are too many.
func CheckNesting(getenv func(string) string) error {
	if n := Nesting(getenv); n > maxNesting {
		return fmt.Errorf("%d gateways deep: %w", n, ErrNested)
	}
	return nil
}
