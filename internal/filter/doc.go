// Package filter decides whether the patterns of a server, project or role admit a name or URI. Its functions are pure.
//
// A glob matches a whole name (glob.go). A URI has many spellings that mean the same to its server, so all of them
// are compared with the patterns. If there are rules, a URI that may mean another URI to its server is refused
// (judge.go).
//
// Example:
//
//	filter.Glob("github_*", "github_create_issue") // true
//	j := filter.New(&config.Filter{Allow: []string{"file:///ok/*"}})
//	j.Admits("", "file:///ok/../etc/passwd")       // false
package filter
