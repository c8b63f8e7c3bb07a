// Package seal encrypts and decrypts requestState, the text that a modern client returns when it retries a request after
// input_required (MCP 2026-07-28, basic/patterns/mrtr). It holds what the gateway needs to continue the call. Clients are not
// trusted: the state is encrypted and authenticated with AES-256-GCM, bound to the principal, the project, the method and a
// digest of name and arguments, and it expires.
//
//	sealer := seal.New(key)                       // 32 random bytes, kept in the state file
//	text, err := sealer.Seal(&seal.State{Kind: seal.Parked, Call: 7, …})
//	state, err := sealer.Open(text, now)          // on the retry
//	err = state.Check(principal, "tools/call", seal.Digest("tools/call", name, arguments))
//
// A Sealer has no state except its key. It does not prevent reuse of a state: the actor that holds the call answers a second
// retry like the first. The nonce is random and has 96 bits. So one key allows 2^32 seals with a probability of a repeated
// nonce below 2^-32 (NIST SP 800-38D, section 8.3): a hundred per second for more than a year.
//
// The text is unpadded base64url of
//
//	version 1 | key id 4 | nonce 12 | ciphertext | tag 16
//
// and the version and the key id are authenticated with it. The plaintext consists of the fields of State in order: numbers
// and lengths as varints, times as Unix milliseconds. The key id is four bytes of an HMAC of the key. It distinguishes states
// of another gateway, or of a gateway that lost its state file, from modified ones. Clients always get the same error:
// protocol.RequestStateInvalid.
package seal
