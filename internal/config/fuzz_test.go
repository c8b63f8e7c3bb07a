package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzParse checks that Parse does not panic and takes less than a minute, that it returns a Config exactly if there are
// no errors, that findings have valid positions, that the output of Show parses, and that no message contains the value
// of a variable.
func FuzzParse(f *testing.F) {
	archives, _ := filepath.Glob("testdata/report/*.txtar")
	for _, path := range append(archives, "testdata/full.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, seed := range []string{"", "a: &a [*a]", "? ", "- - -", "{a: {b: [", "\ufeff{}", "\xff\xfea\x00", "a: |\n b\n", "!!str a: !!int b",
		"mcpServers: {a: {command: ~, args: [a:b, ~], cwd: ~}}", "<<: {listen: []}", "mcpServers: {a: {url: \"${X}\", headers: {A: \"${X}\"}}}",
		"cluster: {node: a, listen: ':1', routes: '[::1]:2', seeds: [a, 'b:3', '::2'], secrets: ['${A}', '${file:x}'], voters: [a, b, c], tls: {cert: a, key: b, ca: c}}\nmcpServers: {a: {command: x, run: one}}",
		"cluster: {name: x, secrets: '${A}', nats: {url: 'tls://u:p@h', credentials: c}}\nmcpServers: {a: {url: 'http://h', run: '${X}'}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const secret = "s3cr3t\nvalue, long enough for a cluster"
		env := func(name string) (string, bool) { return secret, name != "NO" }
		start := time.Now()
		cfg, report := Parse("f.yaml", data, env)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("Parse took %v, want at most a minute", took)
		}
		if (cfg == nil) != (len(report.Faults) > 0) {
			t.Fatalf("Config %v with errors %v", cfg, report.Err())
		}
		told := render(report)
		for _, finding := range append(report.Faults, report.Warnings...) {
			if finding.Line < 0 || finding.Column < 0 || finding.Message == "" {
				t.Errorf("finding %+v has an invalid position or no message", finding)
			}
		}
		if cfg != nil {
			var b bytes.Buffer
			if err := Show(&b, cfg, report); err != nil {
				t.Fatal(err)
			}
			told += b.String()
			if again, second := Parse("f.yaml", b.Bytes(), env); again == nil {
				t.Errorf("the output of Show is not valid: %v\n%s", second.Err(), b.String())
			}
			if !Diff(cfg, cfg).Empty() {
				t.Error("a config differs from itself")
			}
		}
		if strings.Contains(told, "s3cr3t") && !bytes.Contains(data, []byte("s3cr3t")) {
			t.Errorf("a message contains the value of a variable:\n%s", told)
		}
	})
}

// FuzzEnvFile checks that no line gives more than one variable or error, and that a rendered line parses to the same
// variable.
func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"", "A=1\nexport B='x\ny'\nC=\"\\n\\\"$\" # c\n", "A='", "=x", "\ufeffA = b #c", "A=\"\r\n\""} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		vars, bad := ParseEnvFile(text)
		if lines := strings.Count(text, "\n") + 1; len(vars)+len(bad) > lines {
			t.Errorf("%d variables and %d bad lines of %d lines", len(vars), len(bad), lines)
		}
		if strings.Contains(value, "\x00") {
			return
		}
		written := RenderEnvLine("A", value)
		again, bad := ParseEnvFile(written)
		if len(bad) > 0 || len(again) != 1 || again[0].Value != value {
			t.Errorf("%q is written as %q and parsed as %+v", value, written, again)
		}
	})
}
