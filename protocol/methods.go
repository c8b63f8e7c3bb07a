package protocol

import "goblin-actor/protocol/rawjson"

// Method is a JSON-RPC method of MCP as a number, so that routing is a switch and not string comparisons.
type Method uint8

// The methods and notifications of all versions; their table says what each is about.
const (
	MethodOther Method = iota // any method not named here; its text stands in the frame

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
	MethodSamplingCreateMessage // asked by servers
	MethodElicitationCreate     // asked by servers
	MethodRootsList             // asked by servers
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

// String returns the method as it stands on the wire; "other" for MethodOther, so that it can serve as a metric label.
func (m Method) String() string { return m.row().name }

// ParseMethod returns the number of a method name (without quotes, escapes decoded), MethodOther for names it does not know.
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

// methodsByLength are the methods whose names have so many bytes: never more than a few.
var methodsByLength = func() (found [64][]Method) {
	for m := MethodOther + 1; m < methodCount; m++ {
		length := len(methods[m].name)
		found[length] = append(found[length], m)
	}
	return found
}()

// Owner says who answers requests of the method; OwnerNone for notifications and for methods without a row.
func (m Method) Owner() Owner { return m.row().owner }

// Names says what requests of the method name.
func (m Method) Names() Subject { return m.row().names }

// Named returns the value of params that names what the request is about, absent when it names nothing.
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

// In reports whether the era has the method.
func (m Method) In(era Era) bool {
	switch eras := m.row().eras; era {
	case EraLegacy:
		return eras&inLegacy != 0
	case EraModern:
		return eras&inModern != 0
	}
	return false
}

// MayAsk reports whether a server may answer the method with input_required. // MCP 2026-07-28, basic/patterns/mrtr, supported
// requests
func (m Method) MayAsk() bool { return m.is(asks) }

// Repeatable reports whether a request of the method may be sent again when nobody knows whether it was carried out: it only
// asks. Of a method without a row nobody knows.
func (m Method) Repeatable() bool { return m != MethodOther && !m.is(acts) }

func (m Method) row() *methodRow {
	if m >= methodCount {
		m = MethodOther
	}
	return &methods[m]
}

func (m Method) is(t methodTraits) bool { return m.row().traits&t != 0 }
