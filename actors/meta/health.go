package meta

import (
	"context"
	"errors"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// health is a server's state as clients may see it. It omits what only the operator may see, such as the output of
// the server's process and the calls of other clients.
type health struct {
	Server      string     `json:"server"`
	State       string     `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	NextAttempt *time.Time `json:"nextAttempt,omitempty"`
	LoginURL    string     `json:"loginUrl,omitempty"` // where the caller can log in
	Description string     `json:"description,omitempty"`
	Tools       int        `json:"tools,omitempty"`
	Prompts     int        `json:"prompts,omitempty"`
	Resources   int        `json:"resources,omitempty"`
	Templates   int        `json:"templates,omitempty"`
}

// serverStatus reports the servers in the caller's view, with the number of items of each that the caller sees.
func serverStatus(ctx context.Context, a *access, _ arguments) (any, error) {
	reply := make(chan *status.Snapshot, 1)
	a.monitor.Tell(message.GetStatus{Reply: reply})
	var overview *status.Snapshot
	select {
	case overview = <-reply:
	case <-ctx.Done():
	}
	if overview == nil {
		return nil, errors.New("the gateway cannot report the status of its servers now; try again")
	}
	pools := make(map[string]*status.Server, len(overview.Servers))
	for i := range overview.Servers {
		pools[overview.Servers[i].Name] = &overview.Servers[i]
	}
	counts := a.counts()
	list := make([]health, 0, len(a.view.Servers()))
	for _, s := range a.view.Servers() {
		n := counts[s.Name]
		h := health{
			Server: s.Name, State: string(message.Idle), Description: line(s.Rules.Description, maxLine),
			Tools: n[protocol.Tools], Prompts: n[protocol.Prompts], Resources: n[protocol.Resources], Templates: n[protocol.Templates],
		}
		if p := pools[s.Name]; p != nil { // else the pool has not started yet or did not answer in time
			h.State, h.Reason = p.State, line(p.Public, 2*maxLine)
			if !p.NextAttempt.IsZero() {
				h.NextAttempt = &p.NextAttempt
			}
			if p.State == string(message.NeedsLogin) && s.Login != nil && !s.Login.Done {
				h.LoginURL = s.Login.URL()
			}
		}
		list = append(list, h)
	}
	return struct {
		Servers []health `json:"servers"`
	}{list}, nil
}

// counts returns the number of items the caller sees, by server and kind.
func (a *access) counts() map[string][protocol.ItemKinds]int {
	counts := map[string][protocol.ItemKinds]int{}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range a.view.Entries(kind) {
			n := counts[e.Server.Name]
			n[kind]++
			counts[e.Server.Name] = n
		}
	}
	return counts
}
