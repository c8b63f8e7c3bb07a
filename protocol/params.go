package protocol

// Params is what the gateway ever reads of a request's or notification's params, found in one pass.
// All spans are offsets into the frame's Raw and cover the raw value (strings with their quotes).
type Params struct {
	Name, URI, Cursor, Level, RequestID, TaskID Span // params.name, .uri, .cursor, .level, .requestId, .taskId
	Arguments, InputResponses, RequestState     Span // params.arguments, .inputResponses, .requestState
	Notifications                               Span // params.notifications (subscriptions/listen)
	RefName, RefURI                             Span // params.ref.name, params.ref.uri (completion/complete)
	Token                                       Span // params.progressToken (notifications/progress)
	Version, Capabilities, ClientInfo           Span // params.protocolVersion, .capabilities, .clientInfo (initialize)

	Meta          Span // params._meta, the object
	ProgressToken Span // params._meta.progressToken
	Project       Span // params._meta["goblin-actor/project"]
	ProjectID     Span // params._meta["projectId"], which means the same
	Prefer        Span // params._meta["goblin-actor/prefer"]
	// params._meta["io.modelcontextprotocol/…"]
	MetaVersion, MetaCapabilities, MetaClientInfo, MetaLogLevel, SubscriptionID Span

	Odd bool // of the keys above one in params or _meta has the value null, or stands there in another case
}

// ResultInfo is what the gateway ever reads of a result. Spans are offsets into the frame's Raw.
type ResultInfo struct {
	ResultType, NextCursor, TTL, CacheScope, Meta, InputRequests, RequestState Span
	Tools, Prompts, Resources, Templates, Contents, Content, Messages          Span // the arrays
	Version, Capabilities, ServerInfo, Instructions, SupportedVersions         Span // initialize, server/discover
	Structured                                                                 Span // structuredContent, of any type

	Odd bool // one of these keys has the value null, or stands there in another case
}

// Item is one element of a list: its bytes and where the members stand that the gateway renames. Offsets into Raw.
type Item struct {
	Raw                            []byte
	Name, URI, URITemplate, Meta   Span
	Title, Description, MIMEType   Span
	Annotations, InputSchema, Size Span
}
