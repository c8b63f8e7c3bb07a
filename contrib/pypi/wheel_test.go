package pypi_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packCode packs wheels with the version argv[3] for all platforms into argv[2]. The program is the file argv[1].
const packCode = `
import pathlib, sys
sys.path.insert(0, "../release/dist")
import pypi, release
program, dist, version = sys.argv[1:]
pypi.pack(release.Release(version, "someone", {p: pathlib.Path(program) for p in release.PLATFORMS}, pathlib.Path(dist)))
`

// python runs Python with args and returns its output.
func python(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs python3")
	}
	out, err := exec.Command("python3", append([]string{"-B"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// pack returns the directory of the packed wheels.
func pack(t *testing.T, version string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"ran with $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dist := t.TempDir()
	python(t, "-c", packCode, program, dist, version)
	return filepath.Join(dist, "pypi")
}

func TestWheelsOfAllPlatforms(t *testing.T) {
	const version = "1.2.0"
	dir, again := pack(t, version), pack(t, version)
	for _, tags := range []string{"manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64", "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
		"macosx_12_0_x86_64", "macosx_12_0_arm64", "win_amd64", "win_arm64"} {
		name := "goblin_actor-" + version + "-py3-none-" + tags + ".whl"
		wheel, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if other, _ := os.ReadFile(filepath.Join(again, name)); !bytes.Equal(wheel, other) {
			t.Errorf("%s: two builds differ", name)
		}
		checkRecord(t, wheel)
	}
}

// checkRecord checks that the wheel's RECORD lists each file with its hash, and that the program is executable.
func checkRecord(t *testing.T, wheel []byte) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	var want, record string
	for _, file := range archive.File {
		if strings.Contains(file.Name, ".data/scripts/") && file.Mode() != 0o755 {
			t.Errorf("%s: mode %v", file.Name, file.Mode())
		}
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file.Name, "/RECORD") {
			want += file.Name + ",,\n"
			record = string(data)
			continue
		}
		want += fmt.Sprintf("%s,sha256=%s,%d\n", file.Name, base64.RawURLEncoding.EncodeToString(sha256Of(data)), len(data))
	}
	if record != want {
		t.Errorf("RECORD:\n%s\nwant\n%s", record, want)
	}
}

func sha256Of(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// TestWheelVersions checks that versions are converted to the form of PEP 440. Package indexes refuse other forms.
func TestWheelVersions(t *testing.T) {
	versions := []string{"1.2.0", "1.2.0-rc.1", "1.2.0-beta", "0.0.1-snapshot.4f2a", "0.0.1-SNAPSHOT-none"}
	const want = "1.2.0 1.2.0rc1 1.2.0b0 0.0.1.dev0+4f2a 0.0.1.dev0+snapshot.none\n"
	const code = "import sys; sys.path.insert(0, '../release/dist'); import pypi; print(*map(pypi.pep440, sys.argv[1:]))"
	if got := python(t, append([]string{"-c", code}, versions...)...); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWheelInstalls installs a wheel in a new virtual environment, without an index, and runs the program.
func TestWheelInstalls(t *testing.T) {
	environment := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command("python3", "-m", "venv", environment).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip("needs venv")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	pip := exec.Command(filepath.Join(environment, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir",
		"--no-index", "--find-links", pack(t, "1.2.0"), "goblin-actor")
	if out, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(environment, "bin", "goblin-actor"), "serve", "--demo").CombinedOutput()
	if err != nil || string(out) != "ran with serve --demo\n" {
		t.Errorf("%q, %v", out, err)
	}
}
