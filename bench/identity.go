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
)

// The gateways of bench identity, by what they check. The others are divided by the first one.
const (
	openGateway    = "gateway"
	keyedGateway   = "gateway, keys"
	ruledGateway   = "gateway, keys and roles"
	auditedGateway = "gateway, audit"
)

// identity measures the cost of authentication, roles and the audit log: the same calls through separate gateways to one server, each with
// different sections in its configuration.
func (s *setup) identity(report *Report) error {
	raw := newRawServer(ServerOptions{})
	web, err := s.helper("server")
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
	var targets []*target
	for i, variant := range []struct {
		name     string
		settings map[string]any
	}{
		{openGateway, nil},
		{keyedGateway, map[string]any{"auth": auth}},
		{ruledGateway, map[string]any{"auth": auth, "policy": rules}},
		{auditedGateway, map[string]any{"audit": map[string]any{"file": filepath.Join(s.dir, "audit.jsonl")}}},
	} {
		at, err := s.gatewayOver(web, strconv.Itoa(i), variant.settings)
		if err != nil {
			return fmt.Errorf("%s: %w", variant.name, err)
		}
		t := &target{name: variant.name, at: at.process, method: "tools/call", params: []string{callParams("h0_echo")}, tail: raw.small}
		if variant.settings["auth"] != nil {
			t.headers = "Authorization: Bearer " + key + "\r\n"
		}
		t.scrape = t.headers == ""
		targets = append(targets, t)
	}
	report.Bytes, report.Base = len(answerHead)+idDigits+len(raw.small), openGateway
	s.plan(len(s.o.Concurrency) * turns(s.o, targets))
	return s.rows(report, targets)
}

// gatewayOver starts a separate gateway for the server, with its own directory.
func (s *setup) gatewayOver(web *process, directory string, settings map[string]any) (*gateway, error) {
	dir := filepath.Join(s.dir, directory)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	servers := map[string]any{"h0": map[string]any{"url": web.url.String(), "type": "http", "maxConcurrent": 0}}
	all := maps.Clone(s.settings)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, settings)
	g, err := startGateway(s.ctx, s.o, dir, servers, all)
	if err == nil {
		s.running = append(s.running, g.process)
	}
	return g, err
}

// newKey creates a key file with one key through the command line.
func (s *setup) newKey(name string) (key, file string, err error) {
	file = filepath.Join(s.dir, "keys.yaml")
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, s.o.gateway(), "key", "new", name, "--file", file).Output()
	if err != nil {
		return "", "", fmt.Errorf("create a key: %w", err)
	}
	return string(bytes.TrimSpace(text)), file, nil
}
