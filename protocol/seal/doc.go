// Package seal encrypts and decrypts requestState, the text that a modern client returns when it retries a request after
// input_required (MCP 2026-07-28, basic/patterns/mrtr). The state holds what the gateway needs to continue the call. Clients
// are not trusted. So the state is encrypted and authenticated with AES-256-GCM, bound to the principal, the project, the
// method and a digest of name and arguments, and it expires.
//
//	sealer := seal.New(key)                       // 32 random bytes, kept in the state file
//	text, err := sealer.Seal(&seal.State{Kind: seal.Parked, Call: 7, …})
//	state, err := sealer.Open(text, now)          // on the retry
//	err = state.Check(principal, project, "tools/call", seal.Digest("tools/call", name, arguments))
//
// A Sealer stores nothing except its key. It does not prevent a client from using a requestState twice: the actor that holds
// the call answers a second retry like the first. The nonce is random and has 96 bits. So one key allows 2^32 seals with a
// probability of a repeated nonce below 2^-32 (NIST SP 800-38D, section 8.3): a hundred per second for more than a year.
//
// A requestState is the unpadded base64url encoding of these fields (sizes in bytes). In a cluster, the incarnation of the node
// that sealed it and a dot precede it (see Nodes).
//
//	version (1) | key id (4) | nonce (12) | ciphertext | tag (16)
//
// The version and the key id are authenticated but not encrypted. The plaintext consists of the fields of State in order:
// numbers and lengths as varints, times as Unix milliseconds. The key id is four bytes of an HMAC made with the key. With it,
// Open distinguishes a requestState that was sealed with another key (by another gateway, or before the state file was lost)
// from a modified one. Clients always get the same error: protocol.RequestStateInvalid.
package seal
