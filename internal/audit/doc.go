// Package audit is the log of who did what: a file of JSON lines, one a call, a denial, a login, a change. It is a leaf: whoever
// has something to tell makes a Record and gives it to a Sink.
//
// Each line holds the SHA-256 of the line before it, over all files that a log was rotated into, so that a line that was changed or
// taken out shows. At least every 1000 lines, and every minute in which there were some, a checkpoint line is signed (Ed25519), so
// that nobody without the key can write the whole anew; its number is told to others, so that a tail that was cut off shows.
// Arguments are not in the log: their size is, and an HMAC, which tells whoever has the key whether two calls asked the same.
//
// Log owns the file. One goroutine of its own writes; Record never waits for it: what finds no room is dropped, counted, and the log
// says so. Where the log is required, calls are refused meanwhile (Refusing). Invariants: the numbers of lines rise by one, or a line
// says why not; what Commit was given is called exactly once; a file is never written by two processes.
//
//	log, err := audit.Open(audit.Settings{File: "audit.jsonl"}, audit.Options{Keys: keys, Log: slog})
//	log.Record(audit.Record{Event: audit.EventCall, Who: "key:ci", Server: "files", Item: "read_file", Outcome: "ok"})
//	report, err := audit.Verify("audit.jsonl", audit.Trust{Key: public})
package audit
