package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// S5.1.1.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key, sum := NewKey()
		found, ok := sumOf([]byte(key))
		if len(key) != 53 || !ok || found != sum || seen[key] {
			t.Fatalf("NewKey() = %q", key)
		}
		seen[key] = true
		for _, other := range []string{key[:52], key + "A", "gbb" + key[3:], strings.ToUpper(key), key[:20] + "!" + key[21:], key[1:], ""} {
			if _, ok := sumOf([]byte(other)); ok {
				t.Errorf("sumOf(%q) accepts a text that is not the key %q", other, key)
			}
		}
	}
}

// line returns a line of a key file; more holds further fields, each preceded by a comma.
func line(name, more string) string {
	return fmt.Sprintf("%s: {sha256: %064x%s}\n", name, []byte(name), more)
}

func TestParse(t *testing.T) {
	at := func(s string) time.Time { v, _ := time.Parse(time.RFC3339, s); return v }
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"# nothing\n\n---\n", ""},
		{line("ci", ""), "ci [] [] - -"},
		{strings.TrimSuffix(line("ci", ""), "\n"), "ci [] [] - -"},
		{"ci:   {  sha256: " + strings.Repeat("0a", 32) + " ,  roles: [ a,b ] }  \r\n", "ci [a b] [] - -"},
		{line("a.b_c-D9", ", roles: [reader], projects: [alpha, beta], created: 2026-01-02T03:04:05Z, expires: 2027-01-02T03:04:05+01:00"),
			"a.b_c-D9 [reader] [alpha beta] 2026-01-02T03:04:05Z 2027-01-02T03:04:05+01:00"},
		{line("a", "") + line("b", ""), "a [] [] - -|b [] [] - -"},

		{"ci\n", "! line 1: expected name: {sha256: …}"},
		{"# x\nci: gba_secret\n", "! line 2: expected name: {sha256: …}"},
		{"- ci: {sha256: 00}\n", `! line 1: a key name must consist of at most 64 ASCII letters and digits and, after the first character, also ".", "_" and "-"`},
		{"ci: {}\n", "! line 1: sha256 is missing"},
		{"ci: {sha256: 00}\n", "! line 1: sha256: expected 64 hexadecimal digits"},
		{"ci: {sha256: " + strings.Repeat("0", 65) + "}\n", "! line 1: sha256: expected 64 hexadecimal digits"},
		{"ci: {sha256: " + strings.Repeat("x", 64) + "}\n", "! line 1: sha256: expected 64 hexadecimal digits"},
		{line("ci", ", key: gba_x"), "! line 1: unknown field; the fields are sha256, roles, projects, created and expires"},
		{line("ci", ", roles: [a], roles: [b]"), "! line 1: roles appears twice"},
		{line("ci", ", roles: a"), "! line 1: roles: expected a list that is not empty, such as [reader]; to omit the list, remove roles"},
		{line("ci", ", projects: []"), "! line 1: projects: expected a list that is not empty, such as [reader]; to omit the list, remove projects"},
		{line("ci", ", projects: [a"), "! line 1: projects: the list is not closed with ]"},
		{line("ci", ", projects: [a,,b]"), `! line 1: projects: each entry must consist of at most 64 ASCII letters and digits and, after the first character, also ".", "_" and "-"`},
		{line("ci", ", expires: tomorrow"), "! line 1: expires: expected a time such as 2030-01-31T00:00:00Z"},
		{line("ci", ", expires: [a]"), "! line 1: expires: expected a time such as 2030-01-31T00:00:00Z"},
		{line("ci", ","), "! line 1: sha256: nothing follows the comma; remove it"},
		{line("ci", ", roles: [a] x"), "! line 1: roles: expected a comma after the value"},
		{line("ci", "") + line("ci", ", roles: [x]"), "! line 2: key ci is already defined in line 1"},
		{line("ci", "") + strings.Replace(line("ci", ""), "ci:", "cd:", 1), "! line 2: same key as in line 1"},
		{"x\ny\n", "! line 1: expected name: {sha256: …}\nline 2: expected name: {sha256: …}"},
	} {
		keys, err := Parse([]byte(c.in))
		var got []string
		show := func(t time.Time) string {
			if t.IsZero() {
				return "-"
			}
			return t.Format(time.RFC3339)
		}
		for _, k := range keys {
			got = append(got, fmt.Sprintf("%s %v %v %s %s", k.Name, k.Roles, k.Projects, show(k.Created), show(k.Expires)))
		}
		text := strings.Join(got, "|")
		if err != nil {
			text = "! " + err.Error()
		}
		if text != c.want {
			t.Errorf("Parse(%q)\n got %s\nwant %s", c.in, text, c.want)
		}
	}
	if k := (Key{Expires: at("2027-01-01T00:00:00Z")}); k.Expired(at("2026-12-31T23:59:59Z")) || !k.Expired(at("2027-01-01T00:00:00Z")) {
		t.Error("Expired is wrong: a key expires exactly at Expires, not before")
	}
	_, err := Parse([]byte(strings.Repeat("x\n", 1000)))
	if n := strings.Count(err.Error(), "\n"); n != maxErrors {
		t.Errorf("error has %d newlines, want maxErrors", n)
	}
}

// S5.1.1: Load reads what Add wrote, comments remain, and other users cannot read the file.
func TestAddAndRevoke(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	_, sum := NewKey()
	first := Key{Name: "ci", Sum: sum, Roles: []string{"a", "b"}, Projects: []string{"p"}, Created: time.Unix(1e9, 0).UTC(), Expires: time.Unix(2e9, 0).UTC()}
	_, sum = NewKey()
	second := Key{Name: "ci2", Sum: sum}
	for _, k := range []Key{first, second} {
		if err := Add(path, k); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := Load(path)
	if err != nil || len(keys) != 2 || fmt.Sprint(keys[0]) != fmt.Sprint(first) || fmt.Sprint(keys[1]) != fmt.Sprint(second) {
		t.Fatalf("Load = %v, %v", keys, err)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	if err := Add(path, first); err != ErrKeyExists {
		t.Errorf("Add of an existing name: got %v, want ErrKeyExists", err)
	}
	if err := Revoke(path, "ci"); err != nil {
		t.Fatal(err)
	}
	if err := Revoke(path, "ci"); err != ErrNoKey {
		t.Errorf("second Revoke: got %v, want ErrNoKey", err)
	}
	text, _ := os.ReadFile(path)
	if string(text) != fileHead+second.line() {
		t.Errorf("file after Revoke: %s", text)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("files left in the directory: %v, want only the key file", entries)
	}
}

// A key file that other users can access, or with invalid content, is neither used nor changed.
func TestInvalidFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.yaml")
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{line("ci", ""), 0o640, "other users may read the file (mode 0640)"},
		{line("ci", ""), 0o604, "other users may read the file (mode 0604)"},
		{"ci\n", 0o600, "line 1"},
	} {
		if runtime.GOOS == "windows" && c.mode != 0o600 {
			continue
		}
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Add": Add(path, Key{Name: "x"}), "Revoke": Revoke(path, "ci"), "Load": func() error { _, err := Load(path); return err }()} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %q, mode %o: got %v, want %q", what, c.text, c.mode, err, c.want)
			}
		}
		if text, _ := os.ReadFile(path); string(text) != c.text {
			t.Errorf("the file was changed to %q", text)
		}
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Load of a directory: got %v, want errNotRegular", err)
	}
}

// Concurrent Adds lose no key.
func TestAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	errs := make(chan error)
	const n = 20
	for i := range n {
		go func() {
			_, sum := NewKey()
			errs <- Add(path, Key{Name: fmt.Sprintf("k%d", i), Sum: sum})
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	keys, err := Load(path)
	if err != nil || len(keys) != n {
		t.Errorf("Load after %d Adds: %d keys, %v", n, len(keys), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line("ci", ", roles: [a, b], projects: [p], created: 2026-01-02T03:04:05Z, expires: 2027-01-02T03:04:05Z")))
	f.Add([]byte("ci: {sha256: 00, roles: [a"))
	f.Add([]byte(": {}\n: {,}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := Parse(data)
		if err != nil {
			if keys != nil {
				t.Error("Parse returned keys and an error")
			}
			return
		}
		var text strings.Builder
		for i := range keys {
			text.WriteString(keys[i].line())
		}
		again, err := Parse([]byte(text.String()))
		if err != nil || len(again) != len(keys) {
			t.Fatalf("Parse does not accept what line wrote: %v\n%s", err, text.String())
		}
		for i := range keys {
			if keys[i].Name != again[i].Name || keys[i].Sum != again[i].Sum || !slices.Equal(keys[i].Roles, again[i].Roles) || !slices.Equal(keys[i].Projects, again[i].Projects) {
				t.Errorf("%v became %v", keys[i], again[i])
			}
		}
	})
}
