package service

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected definitions in testdata")

// awkward has paths and values with all characters that the formats treat specially.
var awkward = definition{
	name:    "work",
	program: `/home/ana maría/bin/goblin-actor`,
	args:    []string{"serve", "--config", `/home/ana maría/a "b" 100% $HOME & <c>.yaml`, "--service", "work"},
	env:     []string{"LANG=es_ES.UTF-8", `PATH=/home/ana maría/.local/bin:/opt/50%\x:/usr/bin`},
	home:    "/home/ana maría",
	user:    `PC\ana maría`,
}

// The definitions equal the files in testdata. Those in XML are well-formed and contain the path of the configuration
// unchanged.
func TestDefinitions(t *testing.T) {
	for file, m := range map[string]manager{"systemd.service": systemd{}, "launchd.plist": launchd{}, "task.xml": tasks{}} {
		path := filepath.Join("testdata", file)
		got := m.render(awkward)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
		if strings.HasSuffix(file, ".service") {
			continue
		}
		var text strings.Builder
		for d := xml.NewDecoder(strings.NewReader(got)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if s, ok := token.(xml.CharData); ok {
				text.Write(s)
			}
		}
		if !strings.Contains(text.String(), awkward.args[2]) {
			t.Errorf("%s does not contain the configuration %s", file, awkward.args[2])
		}
	}
}

// The printed definition has no passwords of proxies.
func TestPasswordsOfProxiesAreMasked(t *testing.T) {
	d := definition{env: []string{
		"HTTPS_PROXY=http://ana:hunter2@proxy.example:3128", "HTTP_PROXY=http://proxy.example:3128", "LANG=a:b@c", "http_proxy=ana:hun/ter@2@proxy.example:3128", "https_proxy=http://ana@proxy.example",
	}}
	shown, passwords := d.masked()
	if !slices.Equal(passwords, []string{"HTTPS_PROXY", "http_proxy"}) {
		t.Errorf("passwords in %q", passwords)
	}
	want := []string{
		"HTTPS_PROXY=http://ana:***@proxy.example:3128", "HTTP_PROXY=http://proxy.example:3128", "LANG=a:b@c", "http_proxy=ana:***@proxy.example:3128", "https_proxy=http://ana@proxy.example",
	}
	if !slices.Equal(shown.env, want) || d.env[0] == want[0] {
		t.Errorf("got %q, want %q", shown.env, want)
	}
}
