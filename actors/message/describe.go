package message

import "goblin-actor/actors/kernel"

// This file contains what a kernel.Recorder keeps of messages besides their types. The methods implement kernel.Described.

// describe returns the id of the call, and the size of the request's frame in bytes, or 0 if request is nil.
func (r CallRef) describe(request *Request) (call kernel.CallID, bytes int) {
	if request != nil {
		bytes = len(request.Frame.Raw)
	}
	return kernel.CallID{Holder: r.Holder, Number: r.Seq}, bytes
}

// ofReceiver returns the id of the call that the message's receiver holds under the number seq.
func ofReceiver(seq uint64, bytes int) (kernel.CallID, int) {
	return kernel.CallID{Number: seq}, bytes
}

// Describe implements kernel.Described.
func (d Dispatch) Describe() (kernel.CallID, int) { return d.Call.describe(d.Request) }

// Describe implements kernel.Described.
func (s Send) Describe() (kernel.CallID, int) { return s.Call.describe(s.Request) }

// Describe implements kernel.Described.
func (r NotExecuted) Describe() (kernel.CallID, int) { return r.Call.describe(r.Request) }

// Describe implements kernel.Described.
func (l ConnectionLost) Describe() (kernel.CallID, int) { return l.Call.describe(l.Request) }

// Describe implements kernel.Described.
func (c Cancel) Describe() (kernel.CallID, int) { return c.Call.describe(nil) }

// Describe implements kernel.Described.
func (c CancelSent) Describe() (kernel.CallID, int) { return c.Call.describe(nil) }

// Describe implements kernel.Described.
func (c CallEnded) Describe() (kernel.CallID, int) { return c.Call.describe(nil) }

// Describe implements kernel.Described.
func (c CallParked) Describe() (kernel.CallID, int) { return c.Call.describe(nil) }

// Describe implements kernel.Described.
func (m RequestWritten) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, 0) }

// Describe implements kernel.Described.
func (m Progress) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, len(m.Frame.Raw)) }

// Describe implements kernel.Described.
func (m Log) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, len(m.Frame.Raw)) }

// Describe implements kernel.Described.
func (m ServerRequest) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, len(m.Frame.Raw)) }

// Describe implements kernel.Described.
func (m ServerRequestCanceled) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, 0) }

// Describe implements kernel.Described.
func (m Done) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, len(m.Frame.Raw)) }

// Describe implements kernel.Described.
func (m Failed) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, 0) }

// Describe implements kernel.Described.
func (m TaskMade) Describe() (kernel.CallID, int) { return ofReceiver(m.Seq, 0) }

// Inbound and StatelessRequest are not about a call: they become one only when their receivers handle them.

// Describe implements kernel.Described.
func (i Inbound) Describe() (kernel.CallID, int) {
	return kernel.CallID{}, len(i.Exchange.Frame.Raw)
}

// Describe implements kernel.Described.
func (v StatelessRequest) Describe() (kernel.CallID, int) {
	return kernel.CallID{}, len(v.Exchange.Frame.Raw)
}

// Describe implements kernel.Described.
func (m ServerRequestResult) Describe() (kernel.CallID, int) {
	return kernel.CallID{}, len(m.Result) + len(m.Error)
}
