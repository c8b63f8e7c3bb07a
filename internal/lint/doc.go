// Package lint finds what in a server's tools would trouble a client or a model: schemas that providers reject, names that had to be
// changed, missing or very long descriptions, invisible characters, and the weight of the list.
//
//	report := lint.Check([]lint.Server{{Name: "files", Tools: tools}})
//	for _, f := range report.Servers[0].Findings { fmt.Println(f.Tool, f.Message) }
//
// It starts nothing and fetches nothing: everything in this package is a pure function.
package lint
