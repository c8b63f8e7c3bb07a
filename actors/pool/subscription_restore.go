package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// resubscribe takes over the subscriptions of a client after its previous pool was replaced or restarted.
func (s *state) resubscribe(m message.Resubscribe, out []kernel.Effect) []kernel.Effect {
	if !m.Own.Of().Fits(&s.server) {
		return out
	}
	for _, uri := range m.URIs {
		key := subKey{m.Own.KeyOf(), uri}
		sub := s.subscriptions.add(key, m.Own)
		sub.subscribers.Add(m.From)
		switch {
		case sub.conn == nil || sub.ending:
			sub.missed = true
			out = s.queueTurn(key, sub, out)
		default:
			if u, ok := message.UpdatedURI(uri); ok {
				out = append(out, kernel.Tell(m.From, s.resourceUpdated(u)))
			}
		}
	}
	return out
}

// retryRefused subscribes again, after a pause, to a resource whose subscription the server refused although clients
// rely on it. They were subscribed before, perhaps at another replica, and would otherwise get no notifications. All
// refused subscriptions share a timer.
func (s *state) retryRefused(sub *subscription, out []kernel.Effect) []kernel.Effect {
	if !sub.wanted() {
		return out
	}
	sub.refused, sub.missed = true, true
	return s.retryLater(out)
}

// retryLater starts the timer after which all subscriptions without a connection are tried again.
func (s *state) retryLater(out []kernel.Effect) []kernel.Effect {
	if s.subscriptions.retryArmed {
		return out
	}
	s.subscriptions.retryArmed = true
	pause := min(firstRetryPause<<min(s.subscriptions.refusals, 20), maxRetryPause)
	s.subscriptions.refusals++
	return append(out, kernel.WakeAfter(pause, retryDue{}))
}

// retrySubscriptions retries the subscriptions that no connection reports on.
func (s *state) retrySubscriptions(out []kernel.Effect) []kernel.Effect {
	s.subscriptions.retryArmed = false
	return s.restoreSubscriptions(out)
}

// restoreSubscriptions subscribes again to every resource that no connection reports on, if a connection is ready. It
// runs whenever the leader may have changed, when the pause before a retry is over, and when a replica has refused
// legacy connections. Waiting subscribers of a tenant that cannot get a connection are answered.
func (s *state) restoreSubscriptions(out []kernel.Effect) []kernel.Effect {
	if len(s.subscriptions.byKey) == 0 {
		return out
	}
	out = s.addForSubscribers(out)
	can := map[string]bool{"": s.replicas.hasReadyLeader()}
	for _, conn := range s.replicas.connections {
		can[conn.tenant.KeyOf()] = can[conn.tenant.KeyOf()] || conn.tenant != nil && s.canSubscribe(conn.tenant.Key)
	}
	unheld := s.subscriptions.sortedKeys(func(key subKey, sub *subscription) bool {
		if sub.conn != nil || sub.query != 0 || sub.queued {
			return false
		}
		return can[key.tenant] || key.tenant != "" && len(sub.waiting) > 0 && !s.maySubscribeLater(key.tenant)
	})
	for _, key := range unheld {
		if sub := s.subscriptions.byKey[key]; sub != nil {
			out = s.queueTurn(key, sub, out)
		}
	}
	return out
}
