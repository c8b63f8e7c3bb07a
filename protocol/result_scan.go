package protocol

import "goblin-actor/protocol/rawjson"

// Keys of a result, in the order of resultKeys.
const (
	resultType field = iota + 1
	resultNextCursor
	resultTTL
	resultCacheScope
	resultMeta
	resultInputRequests
	resultRequestState
	resultTools
	resultPrompts
	resultResources
	resultTemplates
	resultContents
	resultContent
	resultMessages
	resultVersion
	resultCapabilities
	resultServerInfo
	resultInstructions
	resultSupportedVersions
	resultStructured
)

var resultKeys = newKeys(findResult, "resultType", "nextCursor", "ttlMs", "cacheScope", "_meta", "inputRequests", "requestState",
	"tools", "prompts", "resources", "resourceTemplates", "contents", "content", "messages",
	"protocolVersion", "capabilities", "serverInfo", "instructions", "supportedVersions",
	"structuredContent")

func findResult(key []byte) field {
	switch string(key) {
	case "resultType":
		return resultType
	case "nextCursor":
		return resultNextCursor
	case "ttlMs":
		return resultTTL
	case "cacheScope":
		return resultCacheScope
	case "_meta":
		return resultMeta
	case "inputRequests":
		return resultInputRequests
	case "requestState":
		return resultRequestState
	case "tools":
		return resultTools
	case "prompts":
		return resultPrompts
	case "resources":
		return resultResources
	case "resourceTemplates":
		return resultTemplates
	case "contents":
		return resultContents
	case "content":
		return resultContent
	case "messages":
		return resultMessages
	case "protocolVersion":
		return resultVersion
	case "capabilities":
		return resultCapabilities
	case "serverInfo":
		return resultServerInfo
	case "instructions":
		return resultInstructions
	case "supportedVersions":
		return resultSupportedVersions
	case "structuredContent":
		return resultStructured
	}
	return 0
}

// Scan finds the members of a parsed frame's result that the gateway reads. Null members count as absent. Types are not
// checked, since results of other methods may use the same names; the callers check them.
// It fails with a *ParseError if the result is not an object (ErrShape) or a known key occurs twice (ErrDuplicate).
func (r *ResultInfo) Scan(f *Frame) error {
	*r = ResultInfo{}
	if !f.Result.Present() || f.Raw[f.Result.Off] != '{' {
		return fault(ErrShape, int(f.Result.Off), "the result is "+rawjson.TypeName(f.Raw, f.Result)+"; an object was expected")
	}
	var seen keysSeen
	for w := rawjson.WalkMembers(f.Raw, f.Result); w.Next(); {
		field := resultKeys.note(&seen, w.Key)
		if seen.twice {
			return fault(ErrDuplicate, w.KeyAt, "the result has a member twice")
		}
		switch {
		case field == 0:
		case f.Raw[w.Value.Off] == 'n':
			r.Odd = true
		default:
			*r.member(field) = w.Value
		}
	}
	r.Odd = r.Odd || seen.odd
	return nil
}

func (r *ResultInfo) member(f field) *rawjson.Span {
	switch f {
	case resultType:
		return &r.ResultType
	case resultNextCursor:
		return &r.NextCursor
	case resultTTL:
		return &r.TTL
	case resultCacheScope:
		return &r.CacheScope
	case resultMeta:
		return &r.Meta
	case resultInputRequests:
		return &r.InputRequests
	case resultRequestState:
		return &r.RequestState
	case resultTools:
		return &r.Tools
	case resultPrompts:
		return &r.Prompts
	case resultResources:
		return &r.Resources
	case resultTemplates:
		return &r.Templates
	case resultContents:
		return &r.Contents
	case resultContent:
		return &r.Content
	case resultMessages:
		return &r.Messages
	case resultVersion:
		return &r.Version
	case resultCapabilities:
		return &r.Capabilities
	case resultServerInfo:
		return &r.ServerInfo
	case resultInstructions:
		return &r.Instructions
	case resultStructured:
		return &r.Structured
	}
	return &r.SupportedVersions
}
