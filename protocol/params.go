package protocol

import "goblin-actor/protocol/rawjson"

// Params holds the spans of all params of a request or notification that the gateway reads, found in one pass.
// Spans are offsets into the frame's Raw and cover the raw value, including the quotes of strings.
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
	ProjectID     rawjson.Span // params._meta["projectId"], an alias of Project
	Prefer        rawjson.Span // params._meta["goblin-actor/prefer"]
	// params._meta["io.modelcontextprotocol/…"]
	MetaVersion, MetaCapabilities, MetaClientInfo, MetaLogLevel, SubscriptionID rawjson.Span

	Odd bool // a member of params, ref or _meta that the gateway reads is null, has the wrong type, or its key is in another case
}

// ResultInfo holds the spans of all members of a result that the gateway reads. Spans are offsets into the frame's Raw.
type ResultInfo struct {
	ResultType, NextCursor, TTL, CacheScope, Meta, InputRequests, RequestState rawjson.Span
	Tools, Prompts, Resources, Templates, Contents, Content, Messages          rawjson.Span // the arrays
	Version, Capabilities, ServerInfo, Instructions, SupportedVersions         rawjson.Span // initialize, server/discover
	Structured                                                                 rawjson.Span // structuredContent, of any type

	Odd bool // a member that the gateway reads is null, or its key is in another case
}

// Item is an element of a list: its bytes, and the spans in Raw of the members that the gateway reads or rewrites.
type Item struct {
	Raw                            []byte
	Name, URI, URITemplate, Meta   rawjson.Span
	Title, Description, MIMEType   rawjson.Span
	Annotations, InputSchema, Size rawjson.Span
}
