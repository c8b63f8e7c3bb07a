package config

import (
	"errors"
	"fmt"
	"strconv"
)

// NestingVariable is the environment variable that tells a child how many gateways it runs under. Without it, a desktop client's file that
// contains this gateway, used as the gateway's own configuration, would start gateways endlessly.
const NestingVariable = "GOBLIN_ACTOR_NESTING"

// maxNesting is the maximum number of gateways that a gateway may run under. Running one gateway behind another is
// useful; deeper nesting indicates a loop.
const maxNesting = 3

// ErrNested is returned by CheckNesting if gateways start each other in a loop.
var ErrNested = errors.New("gateways start each other in a loop: an entry of mcpServers runs goblin-actor with the configuration " +
	"that contains the entry; remove it")

// Nesting returns the number of gateways that this process runs under, according to its environment.
func Nesting(getenv func(string) string) int {
	n, err := strconv.Atoi(getenv(NestingVariable))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// CheckNesting returns an error that wraps ErrNested if gateways are nested too deeply.
func CheckNesting(getenv func(string) string) error {
	if n := Nesting(getenv); n > maxNesting {
		return fmt.Errorf("%d nested gateways: %w", n, ErrNested)
	}
	return nil
}
