package container_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"goblin-actor/internal/cli"
)

// read returns a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compose is the part of compose.yaml that the test checks.
type compose struct {
	Services map[string]struct {
		Image    string
		Ports    []string
		Volumes  []string
		ReadOnly bool `yaml:"read_only"`
	}
	Volumes map[string]any
}

// The compose file uses an image that build.sh builds, files that exist, and the ports and directories of the image.
func TestCompose(t *testing.T) {
	var c compose
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	s := c.Services["goblin-actor"]
	file := read(t, "Containerfile")
	if name, target, _ := strings.Cut(s.Image, ":"); name != "goblin-actor" || !strings.Contains(file, " AS "+target+"\n") {
		t.Errorf("image %s is not a target of the Containerfile", s.Image)
	}
	if !s.ReadOnly {
		t.Error("the root is writable")
	}
	for _, volume := range s.Volumes {
		source, rest, _ := strings.Cut(volume, ":")
		target, _, _ := strings.Cut(rest, ":")
		if name, ok := strings.CutPrefix(source, "./"); ok {
			read(t, name)
			if !strings.Contains(file, "GOBLIN_CONFIG="+target) {
				t.Errorf("the image does not read %s", target)
			}
		} else if _, ok := c.Volumes[source]; !ok || !strings.Contains(file, "VOLUME "+target+"\n") {
			t.Errorf("volume %s is not one of the image", volume)
		}
	}
	configuration := read(t, "goblin.yaml")
	for _, port := range s.Ports {
		inside := port[strings.LastIndex(port, ":")+1:]
		if !strings.Contains(file, "EXPOSE "+inside+"\n") || !strings.Contains(configuration, `"0.0.0.0:`+inside+`"`) {
			t.Errorf("the gateway does not listen on port %s", inside)
		}
	}
}

// The configuration of the compose file passes config check once there is a key.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys.yaml")
	text := strings.ReplaceAll(read(t, "goblin.yaml"), "/var/lib/goblin-actor/keys.yaml", "keys.yaml")
	file := filepath.Join(dir, "goblin.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"key", "new", "laptop", "--file", keys}, {"config", "check", file}} {
		var out strings.Builder
		if code := cli.Run(t.Context(), args, strings.NewReader(""), &out, &out); code != 0 {
			t.Errorf("goblin-actor %q: exit code %d, %s", args, code, &out)
		}
	}
}

// The images run commands that exist, copy only files that build.sh puts into the context, and have the same labels and settings.
func TestContainerfile(t *testing.T) {
	file, build := read(t, "Containerfile"), read(t, "build.sh")
	for _, m := range regexp.MustCompile(`(?m)^COPY (?:--chmod=\S+ )?([^-\s]\S*) /`).FindAllStringSubmatch(file, -1) {
		if source := strings.ReplaceAll(m[1], "${TARGETARCH}", "$arch"); !strings.Contains(build, "$context/"+source) && !strings.Contains(build, "/"+source+` "$context/"`) {
			t.Errorf("build.sh does not prepare %s", m[1])
		}
	}
	root := cli.NewRoot()
	used := regexp.MustCompile(`"/usr/bin/goblin-actor", "([a-z]+)"|(?m)^CMD \["([a-z]+)"\]`).FindAllStringSubmatch(file, -1)
	for _, m := range used {
		if cmd, _, err := root.Find([]string{m[1] + m[2]}); err != nil || cmd == root {
			t.Errorf("the image runs the command %s%s, which does not exist", m[1], m[2])
		}
	}
	if len(used) != 4 {
		t.Errorf("%d commands found, want 4: serve and health in two images", len(used))
	}
	_, full, _ := strings.Cut(file, " AS full\n")
	full, minimal, _ := strings.Cut(full, "FROM scratch AS minimal\n")
	for _, directive := range []string{"LABEL", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"} {
		lines := regexp.MustCompile(`(?m)^` + directive + ` .*$`)
		if a, b := lines.FindAllString(full, -1), lines.FindAllString(minimal, -1); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s differs: %q in full, %q in minimal", directive, a, b)
		}
	}
}

// build.sh builds the program for the images with the same flags and linker variables as .goreleaser.yaml.
func TestSameBuildAsReleases(t *testing.T) {
	build, release := read(t, "build.sh"), read(t, "..", "..", ".goreleaser.yaml")
	for _, name := range []string{"version", "commit", "date"} {
		if !strings.Contains(build, fmt.Sprintf("-X $package.%s=", name)) || !strings.Contains(release, fmt.Sprintf("program.%s=", name)) {
			t.Errorf("the linker does not set %s", name)
		}
	}
	for _, flag := range []string{"-trimpath", "-buildvcs=false", "-s -w", "grpcnotrace", "CGO_ENABLED=0"} {
		if !strings.Contains(build, flag) || !strings.Contains(release, flag) {
			t.Errorf("build.sh and .goreleaser.yaml must both have %s", flag)
		}
	}
}
