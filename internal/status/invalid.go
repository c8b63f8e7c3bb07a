package status

import "fmt"

// invalidShown is the maximum number of a server's invalid tools that warnings name.
const invalidShown = 5

// Invalid is a tool whose definition is not valid.
type Invalid struct {
	Tool    string `json:"tool"`             // name as the server defines it
	Pointer string `json:"pointer"`          // JSON pointer into the definition
	Reason  string `json:"reason"`           // what was expected there
	Hidden  bool   `json:"hidden,omitempty"` // the tool is not listed and cannot be called
	Output  bool   `json:"output,omitempty"` // only its outputSchema is invalid
}

// String returns a sentence about the tool.
func (i Invalid) String() string {
	how := "has an invalid definition"
	switch {
	case i.Hidden:
		how = "is hidden because its definition is invalid"
	case i.Output:
		how = "has an invalid outputSchema"
	}
	return fmt.Sprintf("tool %q %s: %s: %s", i.Tool, how, i.Pointer, i.Reason)
}

// InvalidWarnings returns sentences about the first invalid tools of a server, and one with the number of the others.
func InvalidWarnings(list []Invalid) (warnings []string) {
	for i, t := range list {
		if i == invalidShown {
			if len(list)-i == 1 {
				return append(warnings, "1 more tool has an invalid definition; run goblin-actor lint to list it")
			}
			return append(warnings, fmt.Sprintf("%d more tools have invalid definitions; run goblin-actor lint to list them", len(list)-i))
		}
		warnings = append(warnings, t.String())
	}
	return warnings
}
