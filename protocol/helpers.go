package protocol

import "goblin-actor/protocol/rawjson"

// IDBytes returns the raw id, or nil if absent.
func (f *Frame) IDBytes() []byte { return f.ID.Of(f.Raw) }

// ParamsBytes returns the raw params, or nil if absent.
func (f *Frame) ParamsBytes() []byte { return f.Params.Of(f.Raw) }

// ResultBytes returns the raw result, or nil if absent.
func (f *Frame) ResultBytes() []byte { return f.Result.Of(f.Raw) }

// ErrorBytes returns the raw error object, or nil if absent.
func (f *Frame) ErrorBytes() []byte { return f.Error.Of(f.Raw) }

// MethodText returns the unquoted method, or "" if the frame is a response. It allocates only for MethodOther.
func (f *Frame) MethodText() string {
	if f.Method != MethodOther {
		return f.Method.String()
	}
	text, _ := rawjson.Unquote(f.RawMethod.Of(f.Raw))
	return text
}
