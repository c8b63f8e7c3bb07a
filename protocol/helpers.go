package protocol

import "goblin-actor/protocol/rawjson"

// IDBytes returns the raw id, nil when absent.
func (f *Frame) IDBytes() []byte { return f.ID.Of(f.Raw) }

// ParamsBytes returns the raw params, nil when absent.
func (f *Frame) ParamsBytes() []byte { return f.Params.Of(f.Raw) }

// ResultBytes returns the raw result, nil when absent.
func (f *Frame) ResultBytes() []byte { return f.Result.Of(f.Raw) }

// ErrorBytes returns the raw error object, nil when absent.
func (f *Frame) ErrorBytes() []byte { return f.Error.Of(f.Raw) }

// MethodText returns the method without quotes and escapes, "" when the frame is an answer.
// It allocates for methods that have no number of their own only.
func (f *Frame) MethodText() string {
	if f.M != MethodOther {
		return f.M.String()
	}
	text, _ := rawjson.Unquote(f.Method.Of(f.Raw))
	return text
}
