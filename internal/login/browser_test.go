package login

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// OpenPage reports a program that fails at once, such as xdg-open without a browser, and does not wait for one that keeps running.
func TestOpenPage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test replaces xdg-open")
	}
	for _, c := range []struct{ name, script, page, want string }{
		{"opens", "exit 0", "https://login.example.com/?a=b", ""},
		{"keeps running", "exec sleep 3", "https://login.example.com/", ""},
		{"no browser", "exit 3", "https://login.example.com/", "xdg-open: exit status 3"},
		{"no page", "exit 0", "file:///etc/passwd", "the URL is not an HTTP or HTTPS URL"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		began, got := time.Now(), ""
		if err := OpenPage(t.Context(), c.page); err != nil {
			got = err.Error()
		}
		if took := time.Since(began); got != c.want || took > 2500*time.Millisecond {
			t.Errorf("%s: %q after %v, want %q", c.name, got, took, c.want)
		}
	}
}
