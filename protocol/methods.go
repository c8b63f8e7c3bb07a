package protocol

// Method is a JSON-RPC method of MCP as a number, so that routing is a switch and not string comparisons.
type Method uint8

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

var methodNames = [methodCount]string{
	MethodInitialize:                      "initialize",
	MethodPing:                            "ping",
	MethodToolsList:                       "tools/list",
	MethodToolsCall:                       "tools/call",
	MethodPromptsList:                     "prompts/list",
	MethodPromptsGet:                      "prompts/get",
	MethodResourcesList:                   "resources/list",
	MethodTemplatesList:                   "resources/templates/list",
	MethodResourcesRead:                   "resources/read",
	MethodResourcesSubscribe:              "resources/subscribe",
	MethodResourcesUnsubscribe:            "resources/unsubscribe",
	MethodCompletionComplete:              "completion/complete",
	MethodLoggingSetLevel:                 "logging/setLevel",
	MethodServerDiscover:                  "server/discover",
	MethodSubscriptionsListen:             "subscriptions/listen",
	MethodSamplingCreateMessage:           "sampling/createMessage",
	MethodElicitationCreate:               "elicitation/create",
	MethodRootsList:                       "roots/list",
	MethodTasksGet:                        "tasks/get",
	MethodTasksResult:                     "tasks/result",
	MethodTasksCancel:                     "tasks/cancel",
	MethodTasksList:                       "tasks/list",
	MethodTasksUpdate:                     "tasks/update",
	NotificationInitialized:               "notifications/initialized",
	NotificationCancelled:                 "notifications/cancelled",
	NotificationProgress:                  "notifications/progress",
	NotificationMessage:                   "notifications/message",
	NotificationToolsListChanged:          "notifications/tools/list_changed",
	NotificationPromptsListChanged:        "notifications/prompts/list_changed",
	NotificationResourcesListChanged:      "notifications/resources/list_changed",
	NotificationResourcesUpdated:          "notifications/resources/updated",
	NotificationRootsListChanged:          "notifications/roots/list_changed",
	NotificationElicitationComplete:       "notifications/elicitation/complete",
	NotificationSubscriptionsAcknowledged: "notifications/subscriptions/acknowledged",
	NotificationTasksStatus:               "notifications/tasks/status",
	NotificationTasks:                     "notifications/tasks",
}

// String returns the method as it stands on the wire; "other" for MethodOther, so that it can serve as a metric label.
func (m Method) String() string {
	if m == MethodOther || m >= methodCount {
		return "other"
	}
	return methodNames[m]
}

// ParseMethod returns the number of a method name (without quotes, escapes decoded), MethodOther for names it does not know.
// It does not allocate.
func ParseMethod(name []byte) Method {
	switch string(name) {
	case "initialize":
		return MethodInitialize
	case "ping":
		return MethodPing
	case "tools/list":
		return MethodToolsList
	case "tools/call":
		return MethodToolsCall
	case "prompts/list":
		return MethodPromptsList
	case "prompts/get":
		return MethodPromptsGet
	case "resources/list":
		return MethodResourcesList
	case "resources/templates/list":
		return MethodTemplatesList
	case "resources/read":
		return MethodResourcesRead
	case "resources/subscribe":
		return MethodResourcesSubscribe
	case "resources/unsubscribe":
		return MethodResourcesUnsubscribe
	case "completion/complete":
		return MethodCompletionComplete
	case "logging/setLevel":
		return MethodLoggingSetLevel
	case "server/discover":
		return MethodServerDiscover
	case "subscriptions/listen":
		return MethodSubscriptionsListen
	case "sampling/createMessage":
		return MethodSamplingCreateMessage
	case "elicitation/create":
		return MethodElicitationCreate
	case "roots/list":
		return MethodRootsList
	case "tasks/get":
		return MethodTasksGet
	case "tasks/result":
		return MethodTasksResult
	case "tasks/cancel":
		return MethodTasksCancel
	case "tasks/list":
		return MethodTasksList
	case "tasks/update":
		return MethodTasksUpdate
	}
	return parseNotification(name)
}

func parseNotification(name []byte) Method {
	switch string(name) {
	case "notifications/initialized":
		return NotificationInitialized
	case "notifications/cancelled":
		return NotificationCancelled
	case "notifications/progress":
		return NotificationProgress
	case "notifications/message":
		return NotificationMessage
	case "notifications/tools/list_changed":
		return NotificationToolsListChanged
	case "notifications/prompts/list_changed":
		return NotificationPromptsListChanged
	case "notifications/resources/list_changed":
		return NotificationResourcesListChanged
	case "notifications/resources/updated":
		return NotificationResourcesUpdated
	case "notifications/roots/list_changed":
		return NotificationRootsListChanged
	case "notifications/elicitation/complete":
		return NotificationElicitationComplete
	case "notifications/subscriptions/acknowledged":
		return NotificationSubscriptionsAcknowledged
	case "notifications/tasks/status":
		return NotificationTasksStatus
	case "notifications/tasks":
		return NotificationTasks
	}
	return MethodOther
}
