package protocol

import "goblin-actor/protocol/rawjson"

// Params is what the gateway ever reads of a request's or notification's params, found in one pass.
// All spans are offsets into the frame's Raw and cover the raw value (strings with their quotes).
type Params struct {
	Name, URI, Cursor, Level, RequestID, TaskID rawjson.Span // params.name, .uri, .cursor, .level, .requestId, .taskId
	Arguments, InputResponses, RequestState     rawjson.Span // params.arguments, .inputResponses, .requestState
	Notifications                               rawjson.Span // params.notifications (subscriptions/listen)
	RefName, RefURI                             rawjson.Span // params.ref.name, params.ref.uri (completion/complete)
	Token                                       rawjson.Span // params.progressToken (notifications/progress)
	Version, Capabilities, ClientInfo           rawjson.Span // params.protocolVersion, .capabilities, .clientInfo (initialize)

	Meta          rawjson.Span // params._meta, the object
	ProgressToken rawjson.Span // params._meta.progressToken
	Project       rawjson.Span // params._meta["goblin-actor/project"]
	ProjectID     rawjson.Span // params._meta["projectId"], which means the same
	Prefer        rawjson.Span // params._meta["goblin-actor/prefer"]
	// params._meta["io.modelcontextprotocol/…"]
	MetaVersion, MetaCapabilities, MetaClientInfo, MetaLogLevel, SubscriptionID rawjson.Span

	Odd bool // of the keys above one in params or _meta has the value null, or stands there in another case
}

// ResultInfo is what the gateway ever reads of a result. Spans are offsets into the frame's Raw.
type ResultInfo struct {
	ResultType, NextCursor, TTL, CacheScope, Meta, InputRequests, RequestState rawjson.Span
	Tools, Prompts, Resources, Templates, Contents, Content, Messages          rawjson.Span // the arrays
	Version, Capabilities, ServerInfo, Instructions, SupportedVersions         rawjson.Span // initialize, server/discover
	Structured                                                                 rawjson.Span // structuredContent, of any type

	Odd bool // one of these keys has the value null, or stands there in another case
}

// Item is one element of a list: its bytes and where the members stand that the gateway renames. Offsets into Raw.
type Item struct {
	Raw                            []byte
	Name, URI, URITemplate, Meta   rawjson.Span
	Title, Description, MIMEType   rawjson.Span
	Annotations, InputSchema, Size rawjson.Span
}
