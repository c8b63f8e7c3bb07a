package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"goblin-actor/internal/audit"
)

// nodes CALLS runs the audit logs a.jsonl, b.jsonl and c.jsonl of three nodes for a while. Each node quotes the last
// checkpoints of the others and records CALLS calls. At the end all nodes stop.
func nodes(ts *testscript.TestScript, _ bool, args []string) {
	calls, err := strconv.Atoi(args[0])
	ts.Check(err)
	names := []string{"a", "b", "c"}
	before := map[string]audit.Checkpoint{}
	for _, name := range names {
		if c, ok := lastCheckpoint(ts, ts.MkAbs(name+".jsonl")); ok {
			before[name] = c
		}
	}
	var logs []*audit.Log
	for i, name := range names {
		keys := func() (*audit.Keys, error) { return audit.NewKeys([32]byte{byte(1 + i)}), nil }
		log, err := audit.Open(audit.Settings{File: ts.MkAbs(name + ".jsonl"), Sync: audit.SyncSecond, Size: 8 << 10}, audit.Options{Keys: keys, Log: slog.New(slog.DiscardHandler), Node: name})
		ts.Check(err)
		log.ShareArguments([32]byte{7})
		for other, c := range before {
			if other != name {
				ts.Check(log.Witness(other, c))
			}
		}
		logs = append(logs, log)
	}
	for call := range calls {
		for i, log := range logs {
			log.Record(audit.Record{Event: audit.EventCall, Who: "key:ci", Via: "key", Method: "tools/call", Server: "notes", Item: fmt.Sprintf("tool_%s%d", names[i], call),
				Decision: audit.Allow, Outcome: "ok", Arguments: []byte(`{"n":1}`)})
			time.Sleep(time.Millisecond)
		}
	}
	for _, log := range logs {
		ts.Check(log.Close())
	}
}

// lastCheckpoint returns the last line of a stopped node's log.
func lastCheckpoint(ts *testscript.TestScript, path string) (c audit.Checkpoint, ok bool) {
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return c, false
	}
	ts.Check(err)
	head, err := audit.Head(path)
	ts.Check(err)
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	return audit.Checkpoint{Key: head.Key, Line: string(raw[bytes.LastIndexByte(raw, '\n')+1:])}, true
}
