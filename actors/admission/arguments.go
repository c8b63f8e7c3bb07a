package admission

import (
	"fmt"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/toolschema"
)

// checkArguments refuses a call whose arguments certainly do not match the tool's inputSchema, if the server is
// configured with validateArguments. Calls that the policy denies are not checked, because the error would reveal the
// schema.
func checkArguments(x *downstream.Exchange, t *Target) *protocol.Fault {
	if x.Frame.Method != protocol.MethodToolsCall || t.Denied != nil {
		return nil
	}
	schema := t.Entry.Arguments()
	if schema == nil { // validateArguments is not set, or the schema cannot be checked
		return nil
	}
	faults := schema.Check(x.Frame.Raw, x.Params.Arguments)
	if faults == nil {
		return nil
	}
	message := fmt.Sprintf("the arguments do not match the inputSchema of tool %s: %s", t.public(x), first(faults))
	if more := len(faults) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more in error.data.problems)", more)
	}
	return &protocol.Fault{Name: protocol.InvalidParams, Server: t.Server.Name, Tool: t.public(x), Message: message, Details: schema.AppendProblems(nil, faults)}
}

func first(faults []toolschema.ArgumentFault) string {
	f := faults[0]
	if f.Pointer == "" {
		return f.Expected
	}
	return f.Pointer + ": " + f.Expected
}
