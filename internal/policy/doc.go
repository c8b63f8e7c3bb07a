// Package policy says what roles permit: config.Policy compiled, pure, and safe from any goroutine.
//
// A role is judged as a whole: it permits an item when its servers cover it, its globs let it through and, of a role that is
// read-only, the tool only reads. Who has several roles may do what any of them permits as a whole. So a deny narrows the role
// it stands in and no other: nothing that one role permits is taken away by a second one.
//
// Invariants:
//   - with a policy, what no role in force permits is not there: there is no default but that;
//   - an item's public name, or its server and own name, are judged, never what a client has written: every spelling of an item
//     means the item;
//   - a URI that may mean another one to its server (dot segments, encoded slashes) matches no allow.
//
// Example:
//
//	p := policy.Compile(cfg.Policy)                // nil = there is no policy
//	rights := p.Rights(nil, "ci-nightly", false)   // "reader", part of the key of catalog views
//	set := p.InForce(rights, "alpha")              // the roles that count in that project
//	shown := p.Permits(&item).Meets(set)
package policy
