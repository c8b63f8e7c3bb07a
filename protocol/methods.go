package protocol

import "goblin-actor/protocol/rawjson"

// Method is an MCP method or notification as a number, so that routing is a switch instead of string comparisons.
type Method uint8

// The methods and notifications of all protocol versions. The table methods describes them.
const (
	MethodOther Method = iota // any other method; the frame has its name

	MethodInitialize
	MethodPing
	MethodToolsList
	MethodToolsCall
	MethodPromptsList
	MethodPromptsGet
	MethodResourcesList
	MethodTemplatesList
	MethodResourcesRead
	MethodResourcesSubscribe
	MethodResourcesUnsubscribe
	MethodCompletionComplete
	MethodLoggingSetLevel
	MethodServerDiscover        // MCP 2026-07-28
	MethodSubscriptionsListen   // MCP 2026-07-28
	MethodSamplingCreateMessage // sent by servers
	MethodElicitationCreate     // sent by servers
	MethodRootsList             // sent by servers
	MethodTasksGet
	MethodTasksResult // MCP 2025-11-25
	MethodTasksCancel
	MethodTasksList   // MCP 2025-11-25
	MethodTasksUpdate // extension io.modelcontextprotocol/tasks

	NotificationInitialized
	NotificationCancelled
	NotificationProgress
	NotificationMessage
	NotificationToolsListChanged
	NotificationPromptsListChanged
	NotificationResourcesListChanged
	NotificationResourcesUpdated
	NotificationRootsListChanged
	NotificationElicitationComplete       // MCP 2025-11-25
	NotificationSubscriptionsAcknowledged // MCP 2026-07-28
	NotificationTasksStatus               // MCP 2025-11-25
	NotificationTasks                     // extension io.modelcontextprotocol/tasks

	methodCount
)

// String returns the method's name on the wire, or "other" for MethodOther. It can serve as a metric label.
func (m Method) String() string { return m.row().name }

// ParseMethod returns the method with the given name (unquoted, escapes decoded), or MethodOther if the name is unknown.
// It does not allocate.
func ParseMethod(name []byte) Method {
	if len(name) >= len(methodsByLength) {
		return MethodOther
	}
	for _, m := range methodsByLength[len(name)] {
		if string(name) == methods[m].name {
			return m
		}
	}
	return MethodOther
}

// methodsByLength indexes methods by name length. Each bucket is small.
var methodsByLength = func() (found [64][]Method) {
	for m := MethodOther + 1; m < methodCount; m++ {
		length := len(methods[m].name)
		found[length] = append(found[length], m)
	}
	return found
}()

// Owner returns the component that answers requests of the method, or OwnerNone for notifications and MethodOther.
func (m Method) Owner() Owner { return m.row().owner }

// Names returns the kind of item that a request of the method identifies in its params.
func (m Method) Names() Subject { return m.row().names }

// Named returns the span in params of the name, URI or id that the request is about, or an absent span.
func (m Method) Named(p *Params) rawjson.Span {
	switch m.Names() {
	case SubjectTool, SubjectPrompt:
		return p.Name
	case SubjectResource:
		return p.URI
	case SubjectReference:
		if p.RefName.Present() {
			return p.RefName
		}
		return p.RefURI
	case SubjectTask:
		return p.TaskID
	case SubjectChanges:
		return p.Notifications
	}
	return rawjson.Span{}
}

// In reports whether the method exists in the era.
func (m Method) In(era Era) bool {
	switch eras := m.row().eras; era {
	case EraLegacy:
		return eras&inLegacy != 0
	case EraModern:
		return eras&inModern != 0
	}
	return false
}

// MayRequireInput reports whether a server may answer the method with input_required.
// MCP 2026-07-28, basic/patterns/mrtr, supported requests
func (m Method) MayRequireInput() bool { return m.is(asks) }

// Repeatable reports whether a request of the method may be sent again when it is unknown whether it was executed. It
// is false for tools/call, which may have side effects, and for MethodOther.
func (m Method) Repeatable() bool { return m != MethodOther && !m.is(acts) }

func (m Method) row() *methodRow {
	if m >= methodCount {
		m = MethodOther
	}
	return &methods[m]
}

func (m Method) is(t methodTraits) bool { return m.row().traits&t != 0 }
