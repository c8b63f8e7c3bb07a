// Package audit writes the audit log: a file of JSON lines that record calls, denials, logins and changes. It knows no
// other part of the gateway: callers build a Record and pass it to a Sink.
//
// Each line holds the SHA-256 of the previous line, across all files of a rotated log, so that a changed or removed
// line is detected. At least every 1000 lines, and every minute with new lines, a signed checkpoint (Ed25519) is
// written, so that the log cannot be forged without the key. Its number and hash are also stored elsewhere, so that a
// truncated log is detected. The log does not contain arguments, only their size and an HMAC, which is equal for
// equal arguments. Only a holder of the key can check whether a call had certain arguments.
//
// Log owns the file, and one goroutine writes it. Record never waits for that goroutine: a record that does not fit
// into the queue is dropped and counted, and the log says so. While a required log cannot be written, new calls are
// refused (Refusing). Invariants: line numbers rise by one, or a line explains the gap; the callback passed to Commit
// is called exactly once; two processes never write the same file.
//
//	log, err := audit.Open(audit.Settings{File: "audit.jsonl"}, audit.Options{Keys: keys, Log: slog})
//	log.Record(audit.Record{Event: audit.EventCall, Who: "key:ci", Server: "files", Item: "read_file", Outcome: "ok"})
//	report, err := audit.Verify("audit.jsonl", audit.Trust{Key: public})
package audit
