// Package token implements the actor of one login at a server. There is one actor for each server and lane. A lane is
// the principal that owns the login, or "" for the shared login. The actor discovers the authorization server, logs in,
// renews the token and ends the login. No other actor communicates with authorization servers.
//
// The actor owns the login. Connections read the current token through a [Handle] without sending a message, and report
// refusals to the actor. The store keeps the login, sealed, across restarts.
//
//	none ──────▶ discovering ──▶ needs-login ◀─────────┐
//	  │ stored        │ client        │ FinishLogin     │ invalid_grant
//	  ▼               ▼ credentials   ▼                 │
//	fresh ◀─────────────────────────────────▶ refreshing ◀──▶ stale
//	      at 70 to 80 % of its lifetime, or refused           a temporary failure
//
// # Invariants
//
//   - At most one renewal is in progress. A request that was refused with an older token is retried with the current one. A
//     request that was refused with the current token waits for the renewal, or fails if a renewal would not help or is
//     not due.
//   - A new refresh token is on disk, or writing it has failed or timed out, before the access token issued with it is used.
//   - A failed renewal ends a login only if the error is invalid_grant, and only after the state file was read again, since
//     another process may have renewed the login. After any other failure the old token stays in use and the renewal is
//     retried. A refused token without a refresh token ends the login, too.
//   - A pending login is bound to the principal that began it, and accepts one answer. It times out after 10 minutes, unless its
//     code is being redeemed.
//   - A token issued after its login was ended or canceled is revoked, if the authorization server supports revocation
//     and the actor has not stopped or restarted. A logout is answered when all its tokens have been handled and the
//     state file was written.
//   - Every refusal, BeginLogin, FinishLogin and EndLogin gets exactly one answer. A panic ends all that are pending.
//
// If the nodes of a cluster share the login, their shared record takes the place of the state file: a new refresh token is
// written into it, and only the node that has claimed it renews the login, so invalid_grant ends the login at once.
package token
