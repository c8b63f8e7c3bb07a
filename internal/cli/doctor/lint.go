package doctor

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/lint"
)

// otherFindings counts the lint findings about a server's tools that doctor does not report itself.
func otherFindings(listed []catalog.ListedTool) (n int) {
	report := lint.Check([]lint.Server{{Tools: local.LintTools(listed)}})
	for _, f := range report.Servers[0].Findings {
		if f.Rule != lint.InvalidSchema && f.Rule != lint.InvalidOutputSchema {
			n++
		}
	}
	return n
}
