package clientcalls

import (
	"fmt"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Report returns the held calls for the status. session is the name of their holder. The function who returns the name of
// a call's principal. The function waits returns a text for WaitsFor for each server request that the call's client has
// not answered.
func (c *Calls[H, K, R]) Report(session string, who func(H) string, waits func(H) []string) (all []status.Call) {
	for _, seq := range kernel.SortedKeys(c.held) {
		h := c.held[seq]
		b := h.Base()
		all = append(all, status.Call{
			ID: c.holder.CallName(seq), Session: session, Client: b.Client, Who: who(h), Server: b.Server, Method: b.Method.String(), Item: b.Item, Public: b.Public,
			State: string(b.State), Began: b.Began, Deadline: b.Ends(), In: int64(b.in), Taken: b.Taken, Written: b.Sent, Asked: b.Asked,
			Progress: b.Progress, Total: b.Total,
		})
		switch r := &all[len(all)-1]; b.State {
		case call.Written:
			if r.WaitsFor = "the server"; b.Limits.Patient {
				r.WaitsFor = "the end of its task"
			}
		case call.Parked:
			r.WaitsFor = joined(waits(h))
		}
	}
	return all
}

// maxShownFields limits the number of fields of a form that are counted.
const maxShownFields = 1000

// joined returns the first text, and the number of the others.
func joined(waits []string) string {
	switch len(waits) {
	case 0:
		return "its client's answer"
	case 1:
		return waits[0]
	}
	return fmt.Sprintf("%s, and %d more", waits[0], len(waits)-1)
}

// WaitsFor returns what the client has not done while a server request is open, in plain words.
func WaitsFor(f *protocol.Frame) string {
	switch protocol.InputKindOf(f.Raw, f.Method, f.Params) {
	case protocol.InputForm:
		return "its user has not answered a form of " + fields(f)
	case protocol.InputURL:
		return "its user has not opened a page"
	case protocol.InputSample, protocol.InputSampleTools:
		return "its client has not answered a request for sampling"
	case protocol.InputRoots:
		return "its client has not sent its roots"
	}
	return "its client has not answered a request of an unknown kind"
}

// fields counts the fields of the form in an elicitation.
func fields(f *protocol.Frame) string {
	n := 0
	schema := rawjson.Member(f.Raw, f.Params, "requestedSchema")
	for range rawjson.Members(f.Raw, rawjson.Member(f.Raw, schema, "properties")) {
		if n++; n > maxShownFields {
			return fmt.Sprintf("more than %d fields", maxShownFields)
		}
	}
	if n == 1 {
		return "1 field"
	}
	return fmt.Sprintf("%d fields", n)
}
