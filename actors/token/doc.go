// Package token is the actor that is one login at a server: one for each server and lane (whose login it is). It finds out where to log
// in, logs in, keeps the token fresh and forgets it; nobody else speaks with authorization servers.
//
// The actor owns what is known of the login. Links read the token of now without asking it ([Handle], an immutable value behind an atomic
// pointer, as with the sealer), and tell it of refusals. What must survive a restart is told to the store, sealed there.
//
//	none ──────▶ discovering ──▶ needs-login ◀─────────┐
//	  │ kept          │ client        │ FinishLogin     │ invalid_grant
//	  ▼               ▼ credentials   ▼                 │
//	fresh ◀─────────────────────────────────▶ refreshing ◀──▶ stale
//	      at 80 % of its life, or refused                    a fault that may pass
//
// # Invariants
//
//   - One request for a token is under way at a time, whoever wants one: who was refused with a value that is no longer the value of now is told
//     to try again, and all others wait for the same renewal.
//   - A new refresh token is on disk, or known not to get there, before the access token that came with it is used.
//   - Only invalid_grant ends a login, and only after the state file was looked at: another process may have renewed it. Anything
//     else backs off on the old token.
//   - A login under way is bound to who began it, is over after 10 min, and good for one answer.
//   - A token that comes after its login was given up is revoked, and whoever gave it up is told when the authorization server has heard of all there was.
//   - Every refusal, BeginLogin, FinishLogin and EndLogin gets exactly one answer.
package token
