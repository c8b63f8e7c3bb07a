package protocol

import "goblin-actor/protocol/rawjson"

// RelatedTask returns the id of the task that a message's params, or a result, say they belong to; absent when they say
// nothing. // MCP 2025-11-25, basic/utilities/tasks, related task metadata
func RelatedTask(raw []byte, object rawjson.Span) rawjson.Span {
	return rawjson.Member(raw, rawjson.Member(raw, rawjson.Member(raw, object, "_meta"), keyRelatedTask), "taskId")
}
