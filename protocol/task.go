package protocol

import "goblin-actor/protocol/rawjson"

// RelatedTask returns the span of the related task's id in the _meta of object (params or a result), or an absent span.
// MCP 2025-11-25, basic/utilities/tasks, related task metadata
func RelatedTask(raw []byte, object rawjson.Span) rawjson.Span {
	return rawjson.Member(raw, rawjson.Member(raw, rawjson.Member(raw, object, "_meta"), keyRelatedTask), "taskId")
}
