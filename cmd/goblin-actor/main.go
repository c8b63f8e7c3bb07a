// Command goblin-actor is a gateway for the Model Context Protocol. It offers many MCP servers at one endpoint. Its
// commands are in internal/cli. This package also contains the tests that run the whole program, and tests that check
// the imports between packages and the names in the docs.
package main

import (
	"context"
	"os"

	"goblin-actor/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
