// Package lint finds problems that a server's tools cause for clients and models: schemas that providers reject, names
// that had to be changed, missing or very long descriptions, invisible characters, and doubled prefixes. It also
// reports the size of the definitions.
//
//	report := lint.Check([]lint.Server{{Name: "files", Tools: tools}})
//	for _, f := range report.Servers[0].Findings { fmt.Println(f.Tool, f.Message) }
//
// Its functions are pure: they start no servers and fetch nothing.
package lint
