package protocol

// Owner is whose a request is: who answers it.
type Owner uint8

// Everybody who may answer a request.
const (
	OwnerNone    Owner = iota // nobody: a notification
	OwnerGateway              // the gateway by itself
	OwnerCatalog              // the gateway, from what its servers list
	OwnerServer               // the server that has what the request names
	OwnerTasks                // the servers that do the client's tasks
	OwnerClient               // the client whose call it belongs to: servers ask it
)

// Subject is what a request names in its params.
type Subject uint8

// Subjects by the member of params that names them.
const (
	SubjectNone      Subject = iota
	SubjectTool              // params.name
	SubjectPrompt            // params.name
	SubjectResource          // params.uri
	SubjectReference         // params.ref: a prompt's name or a resource's URI
	SubjectTask              // params.taskId
	SubjectChanges           // params.notifications: the changes that a client wants to hear of
)

// member is the member of params that names the subject.
func (s Subject) member() string {
	return [...]string{"", "name", "name", "uri", "ref", "taskId", "notifications"}[s]
}

// peers says who sends messages of a method.
type peers uint8

const (
	client peers = 1 << iota
	server
	either = client | server
)

// eraSet says in which eras a method exists.
type eraSet uint8

const (
	inLegacy eraSet = 1 << iota
	inModern
	inBoth = inLegacy | inModern
)

// methodTraits is what else tells a method from others.
type methodTraits uint8

const (
	asks      methodTraits = 1 << iota // its server may answer with questions (MCP 2026-07-28, basic/patterns/mrtr)
	acts                               // it may do something: nobody sends it again unless it is known not to have arrived
	cached                             // its results say how long they may be kept (MCP 2026-07-28, server/utilities/caching)
	extension                          // in the modern era it belongs to an extension
)

// methodRow is all that is known of a method but how it is carried out.
type methodRow struct {
	name   string // on the wire
	from   peers
	eras   eraSet
	names  Subject
	owner  Owner
	traits methodTraits
}

// methods is the one table of methods: whatever depends on which method a message has is derived from it.
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
