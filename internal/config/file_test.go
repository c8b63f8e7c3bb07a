package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, path, data string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFileReplace checks that a replaced file keeps its encoding, mode and links, and that the backup has the old content.
func TestFileReplace(t *testing.T) {
	for name, c := range map[string]struct{ before, text, after string }{
		"UTF-8":             {"a\r\né", "a\r\né", "b\r\né"},
		"with BOM":          {"\xef\xbb\xbfaé", "aé", "\xef\xbb\xbfbé"},
		"UTF-16":            {"\xff\xfea\x00\xe9\x00=\xd8\x00\xde", "aé😀", "\xff\xfeb\x00\xe9\x00=\xd8\x00\xde"},
		"big endian":        {"\xfe\xff\x00a\x00\xe9", "aé", "\xfe\xff\x00b\x00\xe9"},
		"UTF-16, no BOM":    {"a\x00\xe9\x00", "aé", "b\x00\xe9\x00"},
		"empty":             {"", "", "b"},
		"BOM only":          {"\xff\xfe", "", "\xff\xfeb\x00"},
		"one byte":          {"a", "a", "b"},
		"big, no BOM":       {"\x00a", "a", "\x00b"},
		"NUL in the middle": {"ab\x00", "ab\x00", "bb\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, link := filepath.Join(dir, "real", "f.json"), filepath.Join(dir, "link.json")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, path, c.before, 0o640)
			if runtime.GOOS == "windows" {
				link = path
			} else if err := os.Symlink(filepath.Join("real", "f.json"), link); err != nil {
				t.Fatal(err)
			}
			f, err := OpenFile(link, 1<<20)
			if err != nil || f.Text != c.text || !f.Exists() {
				t.Fatalf("%q, %v; want %q", f.Text, err, c.text)
			}
			text := strings.Replace(f.Text, "a", "b", 1)
			if text == "" {
				text = "b"
			}
			backup, err := f.Replace(text, true)
			if err != nil || read(t, backup) != c.before || filepath.Dir(backup) != filepath.Dir(path) || read(t, path) != c.after {
				t.Fatalf("the file is %q, its backup %s, error %v; want %q and a backup with %q", read(t, path), backup, err, c.after, c.before)
			}
			info, err := os.Lstat(link)
			if err != nil || runtime.GOOS != "windows" && info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link became %v, %v; want a symbolic link", info, err)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v; want 0640", info.Mode(), err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".goblin-*")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("locked"), "a", 0o444)
	write(t, path("latin1"), "\xe9t\xe9", 0o600)
	write(t, path("half"), "\xff\xfea\x00\x00\xd8", 0o600)
	write(t, path("odd"), "\xff\xfea", 0o600)
	huge, err := os.Create(path("huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(50<<20), huge.Close()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "is a directory", "latin1": "not valid UTF-8", "half": "not valid UTF-8", "odd": "not valid UTF-8",
		"huge": "50 MiB is too large: the limit is 1 MiB",
	} {
		_, err := OpenFile(path(name), 1<<20)
		if e, ok := errors.AsType[*FileError](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("nowhere", path("dangling")); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFile(path("dangling"), 1<<20); err == nil || !strings.Contains(err.Error(), "dangling symbolic link") {
			t.Errorf("OpenFile of a dangling link: %v, want an error that says so", err)
		}
	}
	f, err := OpenFile(path("locked"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Replace("b", true); err == nil || !strings.Contains(err.Error(), "no write permission") || read(t, path("locked")) != "a" {
		t.Errorf("Replace of a read-only file: %v, want an error about permission", err)
	}
	if f, err = OpenFile(path("no/where"), 1<<20); err != nil || f.Exists() {
		t.Fatalf("OpenFile of a missing file: %v, %v", f, err)
	}
	if _, err := f.Replace("b", true); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("Replace in a missing directory: %v, want an error", err)
	}
}

// TestFileChangedMeanwhile checks that Replace does not overwrite a change by another program.
func TestFileChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ before, meanwhile string }{{"a", "b"}, {"a", "a "}, {"", "new"}, {"a", ""}} {
		os.Remove(path)
		if c.before != "" {
			write(t, path, c.before, 0o600)
		}
		f, err := OpenFile(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if c.meanwhile != "" {
			write(t, path, c.meanwhile, 0o600)
		}
		if _, err := f.Replace("ours", true); !errors.Is(err, ErrChanged) {
			t.Errorf("%+v: %v, want ErrChanged", c, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, []byte(c.meanwhile)) {
			t.Errorf("%+v: overwritten with %q", c, now)
		}
	}
	os.Remove(path)
	f, err := OpenFile(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Replace("ours", true); err != nil || read(t, path) != "ours" {
		t.Errorf("Replace did not create the file: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v, %v; want 0600", info.Mode(), err)
	}
}

// TestTooLargeFile checks that the error gives the size of the whole file, although only the bytes up to the limit are read.
func TestTooLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.env")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := readUpTo(path, 1<<20); err == nil || !strings.HasPrefix(err.Error(), "1024 MiB is too large: the limit is 1 MiB") {
		t.Errorf("got %v, want the size of the whole file", err)
	}
}
