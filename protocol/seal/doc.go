// Package seal makes and reads requestState, the text a modern client carries from one round of a question to the next (MCP
// 2026-07-28, basic/patterns/mrtr): what the gateway must find again when the client retries. Clients are not trusted with
// it: it is encrypted and authenticated with AES-256-GCM, bound to principal, method and a digest of name and arguments, and
// expires.
//
//	sealer := seal.New(key)                       // 32 random bytes, kept in the state file
//	text, err := sealer.Seal(&seal.State{Kind: seal.Parked, Call: 7, …})
//	state, err := sealer.Open(text, now)          // on the retry
//	err = state.Check(principal, "tools/call", seal.Digest("tools/call", name, arguments))
//
// A Sealer has no state but its key. It does not make a state good for one use only: whoever holds the call answers a second
// retry like the first. The nonce is random, 96 bits, so one key serves 2^32 seals with a chance of a repeated nonce below
// 2^-32 (NIST SP 800-38D, 8.3): a hundred a second for a year and more.
//
// The text is unpadded base64url of
//
//	version 1 | key id 4 | nonce 12 | ciphertext | tag 16
//
// and the version and the key id are authenticated with it. The plaintext is the fields of State in their order: numbers and
// lengths as varints, times as Unix milliseconds. The key id, four bytes that HMAC makes of the key, tells states of another
// gateway, or of one that lost its state file, from changed ones. Whatever is wrong, clients are told the same:
// protocol.RequestStateInvalid.
package seal
