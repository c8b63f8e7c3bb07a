package clientcalls

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// failureOf describes a gateway error for operators.
func failureOf(fault *protocol.Fault) *status.Failure {
	return &status.Failure{Code: string(fault.Name), Text: status.Cut(fault.Error(), status.MaxErrorText)}
}

// failureIn describes a server's error for operators.
func failureIn(frame *protocol.Frame) *status.Failure {
	code := rawjson.Member(frame.Raw, frame.Error, "code").Of(frame.Raw)
	text := beginning(rawjson.Member(frame.Raw, frame.Error, "message").Of(frame.Raw), status.MaxErrorText)
	return &status.Failure{Code: status.Cut(string(code[:min(len(code), 24)]), 24), Text: text}
}

// beginning returns the decoded beginning of a JSON string, cut to the limit in bytes as status.Cut does. Its cost does not
// depend on the length of the string. For any other value, it returns "".
func beginning(raw []byte, limit int) string {
	most := 6*limit + 2 // an escaped byte takes at most six bytes
	if len(raw) <= most {
		text, _ := rawjson.Unquote(raw)
		return status.Cut(text, limit)
	}
	for end := most; end > most-6; end-- { // the last escape may be incomplete
		if text, ok := rawjson.AppendUnescaped(nil, raw[1:end]); ok {
			return status.Cut(string(text), min(limit, len(text)-1))
		}
	}
	return ""
}

// CallRefused stores a request that did not become a call.
type CallRefused struct {
	ended status.Ended // its Session is set by Store
}

// Store adds the request to those that no server got. The parameter session is the name of its holder.
func (c CallRefused) Store(m *status.Metrics, session string) {
	now := time.Now()
	if c.ended.Session = session; c.ended.Began.IsZero() {
		c.ended.Began = now
	}
	c.ended.Took = now.Sub(c.ended.Began)
	m.Refused(c.ended)
}

// Refused returns the effect that stores a request which did not become a call, for operators. The parameter client is the
// name of the client, and denied says what the policy denied; nil = nothing.
func Refused(x *downstream.Exchange, client, version string, fault *protocol.Fault, denied *admission.Denied) kernel.Effect {
	e := status.Ended{
		Client: client, Who: message.NameOf(x.Origin.Principal), Method: x.Frame.Method, Public: beginning(nameIn(x).Of(x.Frame.Raw), status.MaxErrorText),
		Outcome: outcomeOf(fault), Began: x.Began, In: int64(len(x.Frame.Raw)), Version: version, Failure: failureOf(fault),
	}
	if denied != nil && !denied.Report { // the client is only told that the item does not exist
		e.Item, e.Failure = denied.Item, &status.Failure{Code: string(protocol.PolicyDenied), Text: ruleNone}
	}
	return kernel.Act(CallRefused{e})
}
