// Package policy decides what roles permit. It compiles config.Policy. Its decisions are pure functions. [Rates] and
// [Buckets] limit requests.
//
// A role is judged as a whole: it permits an item if its servers cover the item's server, its globs allow the item
// and, for a read-only role, the tool is read-only. A principal with several roles may do what any one of them permits
// as a whole. A deny therefore restricts only its own role, never what another role permits.
//
// Invariants:
//   - with a policy that does not only report, an item that no effective role permits is invisible;
//   - decisions use an item's public name, or its server and own name, never the client's spelling;
//   - no allow pattern matches a URI that its server may resolve to another one (dot segments, encoded slashes).
//
// Example:
//
//	p := policy.Compile(cfg.Policy)                // nil = no policy
//	rights := p.Rights(nil, "ci-nightly", false)   // "reader", part of the key of catalog views
//	set := p.InForce(rights, "alpha")              // the roles that apply in that project
//	shown := p.Permits(&item).Meets(set)
package policy
