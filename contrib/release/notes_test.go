// Package release_test tests the scripts in this directory.
package release_test

import (
	"os/exec"
	"strings"
	"testing"
)

func TestReleaseNotesAreTheSectionOfTheVersion(t *testing.T) {
	command := exec.Command("bash", "notes.sh", "v0.1.0")
	command.Env = append(command.Environ(), "GOBLIN_OWNER=you")
	out, err := command.CombinedOutput()
	notes := string(out)
	if err != nil || !strings.HasPrefix(notes, "This is the first version.") || strings.Contains(notes, "\n## ") {
		t.Fatalf("%v\n%.300s", err, notes)
	}
	if !strings.Contains(notes, "](https://github.com/you/goblin-actor/blob/v0.1.0/docs/rough-edges.md)") {
		t.Error("the notes have no link to a file of the version")
	}
}

func TestReleaseNotesOfAnUnknownVersion(t *testing.T) {
	out, err := exec.Command("bash", "notes.sh", "v9.9.9").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CHANGELOG.md has no section for 9.9.9") {
		t.Errorf("%v: %s", err, out)
	}
}
