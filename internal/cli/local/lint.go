package local

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/lint"
)

// LintTools converts listed tools for package lint.
func LintTools(listed []catalog.ListedTool) []lint.Tool {
	tools := make([]lint.Tool, len(listed))
	for i, t := range listed {
		tools[i] = lint.Tool{Own: t.Own, Raw: t.Raw, Name: t.Name, Public: t.Public, Denied: t.Denied, Again: t.Again, Fault: t.Fault}
	}
	return tools
}
