package bench

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// The gateways that identity compares, named after what is configured. The base of the ratios is openGateway.
const (
	openGateway    = "gateway"
	keyedGateway   = "gateway, keys"
	ruledGateway   = "gateway, keys and roles"
	auditedGateway = "gateway, audit"
)

// identity measures the cost of authentication, roles and the audit log. It sends the same calls through separate
// gateways to one server. The gateways differ in the sections of their configurations.
func (s *setup) identity(result *report.Report) error {
	tail := wire.SmallTail()
	web, err := s.Helper("server")
	if err != nil {
		return err
	}
	key, keys, err := s.newKey("bench")
	if err != nil {
		return err
	}
	auth := map[string]any{"keys": keys}
	rules := map[string]any{
		"roles": map[string]any{
			"caller": map[string]any{"servers": []string{"h*"}, "tools": map[string]any{"allow": []string{"*_echo", "*_big"}, "deny": []string{"*_delete"}}, "rate": "1000000/s", "toolRate": "1000000/s"},
			"reader": map[string]any{"readOnly": true},
		},
		"bind": []any{map[string]any{"role": "caller", "keys": []string{"ben*"}}, map[string]any{"role": "reader", "keys": []string{"*"}}},
	}
	var targets []*load.Target
	for i, variant := range []struct {
		name     string
		settings map[string]any
	}{
		{openGateway, nil},
		{keyedGateway, map[string]any{"auth": auth}},
		{ruledGateway, map[string]any{"auth": auth, "policy": rules}},
		{auditedGateway, map[string]any{"audit": map[string]any{"file": filepath.Join(s.Dir, "audit.jsonl")}}},
	} {
		at, err := s.gatewayOver(web, strconv.Itoa(i), variant.settings)
		if err != nil {
			return fmt.Errorf("%s: %w", variant.name, err)
		}
		t := &load.Target{Name: variant.name, At: at.Process, Method: "tools/call", Params: []string{wire.CallParams("h0_echo")}, Tail: tail}
		if variant.settings["auth"] != nil {
			t.Headers = "Authorization: Bearer " + key + "\r\n"
		}
		t.Scrape = t.Headers == ""
		targets = append(targets, t)
	}
	result.Bytes, result.Base = len(wire.ResponseHead)+wire.IDDigits+len(tail), openGateway
	s.plan(len(s.o.Concurrency) * load.Turns(s.o.Rounds, targets))
	return s.rows(result, targets)
}

// gatewayOver starts a separate gateway for the server, with its own directory.
func (s *setup) gatewayOver(web *process.Process, directory string, settings map[string]any) (*process.Gateway, error) {
	dir := filepath.Join(s.Dir, directory)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	servers := map[string]any{"h0": map[string]any{"url": web.URL.String(), "type": "http", "maxConcurrent": 0}}
	all := maps.Clone(s.Settings)
	maps.Copy(all, settings)
	return s.GatewayIn(dir, servers, all)
}

// newKey creates a key file with one key, using the gateway's command line.
func (s *setup) newKey(name string) (key, file string, err error) {
	file = filepath.Join(s.Dir, "keys.yaml")
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, s.o.gateway(), "key", "new", name, "--file", file).Output()
	if err != nil {
		return "", "", fmt.Errorf("create a key: %w", err)
	}
	return string(bytes.TrimSpace(text)), file, nil
}
