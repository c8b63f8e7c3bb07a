package status

import "fmt"

// Check returns an error that wraps ErrBadAction if a has a member that its verb does not take, or if Enable or Disable has no
// server. It accepts every action with an unknown verb.
func (a Action) Check() error {
	rest := a
	switch a.Verb {
	case Restart:
		rest.Server = ""
	case Cancel:
		rest.Call = ""
	case End:
		rest.Session = ""
	case Record:
		rest.Actor, rest.Server, rest.Seconds = "", "", 0
	case Payloads:
		rest.Server, rest.Stop = "", false
	case Enable, Disable:
		if rest.Server, rest.Tool = "", ""; a.Server == "" {
			return fmt.Errorf("%w: %s needs the member server", ErrBadAction, a.Verb)
		}
	case Drain, Reload:
	default:
		return nil
	}
	for _, member := range []struct {
		name string
		set  bool
	}{{"server", rest.Server != ""}, {"tool", rest.Tool != ""}, {"call", rest.Call != ""}, {"session", rest.Session != ""}, {"actor", rest.Actor != ""}, {"seconds", rest.Seconds != 0}, {"stop", rest.Stop}} {
		if member.set {
			return fmt.Errorf("%w: %s takes no member %s; remove it", ErrBadAction, a.Verb, member.name)
		}
	}
	return nil
}
