package protocol

// Owner is the component that answers a request.
type Owner uint8

// The owners of requests.
const (
	OwnerNone    Owner = iota // a notification, which has no response, or an unknown method
	OwnerGateway              // the gateway itself
	OwnerCatalog              // the gateway, from its servers' lists
	OwnerServer               // the server that has the named item
	OwnerTasks                // the servers that run the client's tasks
	OwnerClient               // the client whose call caused the server's request
)

// Subject is the kind of item that a request names in its params.
type Subject uint8

// The subjects, with the member of params that names each.
const (
	SubjectNone      Subject = iota
	SubjectTool              // params.name
	SubjectPrompt            // params.name
	SubjectResource          // params.uri
	SubjectReference         // params.ref: a prompt's name or a resource's URI
	SubjectTask              // params.taskId
	SubjectChanges           // params.notifications: the changes that a client subscribes to
)

// member returns the name of the member of params that names the subject.
func (s Subject) member() string {
	return [...]string{"", "name", "name", "uri", "ref", "taskId", "notifications"}[s]
}

// peers is the set of peers that send messages of a method.
type peers uint8

const (
	client peers = 1 << iota
	server
	either = client | server
)

// eraSet is the set of eras that have a method.
type eraSet uint8

const (
	inLegacy eraSet = 1 << iota
	inModern
	inBoth = inLegacy | inModern
)

// methodTraits is a set of further properties of a method.
type methodTraits uint8

const (
	asks      methodTraits = 1 << iota // a server may answer with input_required (MCP 2026-07-28, basic/patterns/mrtr)
	acts                               // may have side effects, so a request that may have been executed is not sent again, except to an idempotent tool
	cached                             // results carry a caching hint (MCP 2026-07-28, server/utilities/caching)
	extension                          // belongs to an extension in the modern era
)

// methodRow describes a method.
type methodRow struct {
	name   string // on the wire
	from   peers
	eras   eraSet
	names  Subject
	owner  Owner
	traits methodTraits
}

// methods describes all methods. Everything else that depends on the method of a message is derived from this table.
// MCP 2025-11-25 and 2026-07-28, schema; extension io.modelcontextprotocol/tasks.
var methods = [methodCount]methodRow{
	MethodOther: {"other", either, inBoth, SubjectNone, OwnerNone, 0},

	MethodInitialize:            {"initialize", client, inLegacy, SubjectNone, OwnerGateway, 0},
	MethodPing:                  {"ping", either, inLegacy, SubjectNone, OwnerGateway, 0},
	MethodToolsList:             {"tools/list", client, inBoth, SubjectNone, OwnerCatalog, cached},
	MethodToolsCall:             {"tools/call", client, inBoth, SubjectTool, OwnerServer, asks | acts},
	MethodPromptsList:           {"prompts/list", client, inBoth, SubjectNone, OwnerCatalog, cached},
	MethodPromptsGet:            {"prompts/get", client, inBoth, SubjectPrompt, OwnerServer, asks},
	MethodResourcesList:         {"resources/list", client, inBoth, SubjectNone, OwnerCatalog, cached},
	MethodTemplatesList:         {"resources/templates/list", client, inBoth, SubjectNone, OwnerCatalog, cached},
	MethodResourcesRead:         {"resources/read", client, inBoth, SubjectResource, OwnerServer, asks | cached},
	MethodResourcesSubscribe:    {"resources/subscribe", client, inLegacy, SubjectResource, OwnerGateway, 0},
	MethodResourcesUnsubscribe:  {"resources/unsubscribe", client, inLegacy, SubjectResource, OwnerGateway, 0},
	MethodCompletionComplete:    {"completion/complete", client, inBoth, SubjectReference, OwnerServer, 0},
	MethodLoggingSetLevel:       {"logging/setLevel", client, inLegacy, SubjectNone, OwnerGateway, 0},
	MethodServerDiscover:        {"server/discover", client, inModern, SubjectNone, OwnerGateway, cached},
	MethodSubscriptionsListen:   {"subscriptions/listen", client, inModern, SubjectChanges, OwnerGateway, 0},
	MethodSamplingCreateMessage: {"sampling/createMessage", server, inBoth, SubjectNone, OwnerClient, 0},
	MethodElicitationCreate:     {"elicitation/create", server, inBoth, SubjectNone, OwnerClient, 0},
	MethodRootsList:             {"roots/list", server, inBoth, SubjectNone, OwnerClient, 0},
	MethodTasksGet:              {"tasks/get", client, inBoth, SubjectTask, OwnerTasks, extension},
	MethodTasksResult:           {"tasks/result", client, inLegacy, SubjectTask, OwnerTasks, 0},
	MethodTasksCancel:           {"tasks/cancel", client, inBoth, SubjectTask, OwnerTasks, extension},
	MethodTasksList:             {"tasks/list", client, inLegacy, SubjectNone, OwnerTasks, 0},
	MethodTasksUpdate:           {"tasks/update", client, inModern, SubjectTask, OwnerTasks, extension},

	NotificationInitialized:               {"notifications/initialized", client, inLegacy, SubjectNone, OwnerNone, 0},
	NotificationCancelled:                 {"notifications/cancelled", either, inBoth, SubjectNone, OwnerNone, 0},
	NotificationProgress:                  {"notifications/progress", either, inBoth, SubjectNone, OwnerNone, 0},
	NotificationMessage:                   {"notifications/message", server, inBoth, SubjectNone, OwnerNone, 0},
	NotificationToolsListChanged:          {"notifications/tools/list_changed", server, inBoth, SubjectNone, OwnerNone, 0},
	NotificationPromptsListChanged:        {"notifications/prompts/list_changed", server, inBoth, SubjectNone, OwnerNone, 0},
	NotificationResourcesListChanged:      {"notifications/resources/list_changed", server, inBoth, SubjectNone, OwnerNone, 0},
	NotificationResourcesUpdated:          {"notifications/resources/updated", server, inBoth, SubjectResource, OwnerNone, 0},
	NotificationRootsListChanged:          {"notifications/roots/list_changed", client, inLegacy, SubjectNone, OwnerNone, 0},
	NotificationElicitationComplete:       {"notifications/elicitation/complete", server, inLegacy, SubjectNone, OwnerNone, 0},
	NotificationSubscriptionsAcknowledged: {"notifications/subscriptions/acknowledged", server, inModern, SubjectNone, OwnerNone, 0},
	NotificationTasksStatus:               {"notifications/tasks/status", either, inLegacy, SubjectTask, OwnerNone, 0},
	NotificationTasks:                     {"notifications/tasks", server, inModern, SubjectTask, OwnerNone, extension},
}
