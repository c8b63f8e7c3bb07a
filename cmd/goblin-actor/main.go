// Command goblin-actor is a gateway for the Model Context Protocol. It puts many MCP servers behind one endpoint. The
// command line is in internal/cli. This package also has the tests that run the whole program, and those that check the
// repository: which package may import which, and that the docs name what exists.
package main

import (
	"context"
	"os"

	"goblin-actor/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
