// Package filter says whether patterns let names and URIs through: of a server's rules, a project's, a role's. Pure.
//
// A glob matches a name as a whole (glob.go). A URI can be spelled in many ways that mean the same to its server, so it is held against
// patterns in all of them, and one that may mean another is refused where rules stand (judge.go).
//
// Example:
//
//	filter.Glob("github_*", "github_create_issue") // true
//	j := filter.New(&config.Filter{Allow: []string{"file:///ok/*"}})
//	j.Admits("", "file:///ok/../etc/passwd")       // false
package filter
