package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// declaredKey is one key at one place of the file.
type declaredKey struct {
	path  string // such as mcpServers.s.queue.size, with s, p and r as names of entries
	owner reflect.Type
	f     field
}

func (k declaredKey) field() reflect.StructField {
	return owner(k.owner, k.f).Field(k.f.index[len(k.f.index)-1])
}

// entryNames are the names of entries in test files.
var entryNames = map[reflect.Type]string{reflect.TypeFor[[]Server](): "s", reflect.TypeFor[[]Project](): "p", reflect.TypeFor[[]Role](): "r"}

// declaredKeys returns every key that takes a value, at each place where the file may have it.
func declaredKeys(t reflect.Type, path string) []declaredKey {
	var keys []declaredKey
	for _, f := range fieldsOf(t) {
		here := strings.TrimPrefix(path+"."+f.key, ".")
		if f.in != "" {
			here = strings.TrimPrefix(path+"."+f.in+"."+f.key, ".")
		}
		fieldType := t.FieldByIndex(f.index).Type
		switch {
		case fieldType.Kind() == reflect.Struct:
			keys = append(keys, declaredKeys(fieldType, here)...)
		case isNamed(fieldType):
			keys = append(keys, declaredKeys(fieldType.Elem(), here+"."+entryNames[fieldType])...)
		case fieldType.Kind() == reflect.Slice && fieldType.Elem().Kind() == reflect.Struct:
			keys = append(keys, declaredKeys(fieldType.Elem(), here+"[0]")...)
		default:
			keys = append(keys, declaredKey{here, t, f})
		}
	}
	return keys
}

// TestKeysAreComplete reports, for each key, which steps of adding it are missing.
func TestKeysAreComplete(t *testing.T) {
	reference := &referenceWriter{comments: keyComments()}
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	used := usedFields(t)
	for _, k := range declaredKeys(reflect.TypeFor[Config](), "") {
		var missing []string
		step := func(ok bool, format string, args ...any) {
			if !ok {
				missing = append(missing, fmt.Sprintf(format, args...))
			}
		}
		name := k.field().Name
		text, byDefault := reference.describe(k.owner, k.f)
		step(text != "", "write a comment above the field: what the key means, its unit, how it interacts with other keys")
		sized := k.field().Type.Kind() == reflect.Int || k.field().Type.Kind() == reflect.Int64
		step(!sized || k.f.min != "" && k.f.max != "", `add bounds to the field's tag: min:"…" max:"…"`)
		step(!sized || k.f.byDefault != "", `add the default to the field's tag: default:"…"`)
		step(k.f.oneof == nil || k.f.byDefault == "" || slices.Contains(k.f.oneof, k.f.byDefault), "make the default one of %s", k.f.oneof)
		step(k.f.oneof == nil || byDefault != "none", `add the default to the field's tag, or end its comment with "Default: …."`)
		step(used[name], "read the value: no code outside keys*.go mentions .%s", name)
		step(bytes.Contains(page, []byte("`"+k.f.key+"`")) || bytes.Contains(page, []byte("."+k.f.key+"`")), "run go generate ./internal/config to update docs/config.md")
		if len(missing) > 0 {
			t.Errorf("%s (%s.%s) is not complete. Missing steps:\n  - %s", k.path, owner(k.owner, k.f).Name(), name, strings.Join(missing, "\n  - "))
		}
	}
}

// usedFields returns every name that follows a dot in the program's code, except where the keys are declared.
func usedFields(t *testing.T) map[string]bool {
	selector := regexp.MustCompile(`\.([A-Z][A-Za-z]*)`)
	used := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "tests"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if declares, err := filepath.Match("keys*.go", filepath.Base(path)); err != nil || declares {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range selector.FindAllSubmatch(source, -1) {
			used[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// sampleValues are the samples for keys that accept only some values of their type.
var sampleValues = map[string]string{
	"admin.payloads":                        `false`,
	"limits.maxBufferedBytes":               `"2GiB"`,
	"mcpServers.s.command":                  `"y"`,
	"mcpServers.s.labels":                   `{"k": "w"}`,
	"mcpServers.s.tools.invalid":            `"show"`,
	"mcpServers.s.validateArguments":        `"refuse"`,
	"policy.roles.r.admin":                  `"act"`,
	"listen":                                `["127.0.0.1:1"]`,
	"allowedOrigins":                        `["https://a.example"]`,
	"trustedProxies":                        `["10.0.0.1"]`,
	"publicUrl":                             `"https://a.example"`,
	"telemetry.endpoint":                    `"http://127.0.0.1:4318"`,
	"egress.allow":                          `["10.0.0.1"]`,
	"mcpServers.s.urls":                     `["http://127.0.0.1:1/x"]`,
	"mcpServers.s.roots":                    `["file:///x"]`,
	"mcpServers.s.type":                     `"sse"`,
	"mcpServers.s.auth.type":                `"oauth"`,
	"mcpServers.s.auth.issuer":              `"https://a.example"`,
	"mcpServers.s.auth.clientMetadataUrl":   `"https://a.example/client"`,
	"mcpServers.s.forwardHeaders[0].prefix": `"Bearer "`,
	"projects.p.servers":                    `["s"]`,
	"policy.roles.r.projects":               `["p"]`,
	"policy.roles.r.rate":                   `"5/s"`,
	"policy.roles.r.toolRate":               `"5/s"`,
	"policy.bind[0].role":                   `"q"`,
	"cluster.listen":                        `"127.0.0.1:1"`,
	"cluster.routes":                        `"127.0.0.1:1"`,
	"cluster.seeds":                         `["other:1"]`,
	"cluster.secrets":                       `["${SECRET}"]`,
	"cluster.nats.urls":                     `["nats://127.0.0.1:1"]`,
}

const keysEnv = "HOME=/home/ada\nSECRET=0123456789abcdef0123456789abcdef\nOTHER=1123456789abcdef0123456789abcdef\n"

// companions are other values that a key needs, by path or by the path of a section.
var companions = map[string]string{
	"":                                `{"pageSize": 2, "mcpServers": {"s": {"labels": {"k": "v"}}}}`,
	"mcpServers.s.urls":               `{"mcpServers": {"s": {"urls": ["http://127.0.0.1:1/other"]}}}`,
	"mcpServers.s.auth.":              `{"mcpServers": {"s": {"url": "https://a.example"}}}`,
	"mcpServers.s.auth.as":            `{"mcpServers": {"s": {"auth": {"type": "oauth"}}}}`,
	"mcpServers.s.auth.catalogAs":     `{"mcpServers": {"s": {"auth": {"type": "oauth", "as": "principal", "clientId": "i", "clientSecret": "j"}}}}`,
	"mcpServers.s.auth.clientSecret":  `{"mcpServers": {"s": {"auth": {"clientId": "i"}}}}`,
	"mcpServers.s.type":               `{"mcpServers": {"s": {"url": "https://a.example"}}}`,
	"mcpServers.s.headers":            `{"mcpServers": {"s": {"url": "https://a.example"}}}`,
	"mcpServers.s.forwardHeaders[0].": `{"mcpServers": {"s": {"url": "https://a.example", "forwardHeaders": [{"from": "Z"}]}}}`,
	"mcpServers.s.idleStop":           `{"mcpServers": {"s": {"startup": "lazy"}}}`,
	"projects.p.":                     `{"projects": {"p": {"instructions": "i"}}}`,
	"policy.roles.r.":                 `{"policy": {"roles": {"r": {"admin": "view"}}}}`,
	"policy.roles.r.projects":         `{"projects": {"p": {"instructions": "i"}}}`,
	"policy.roles.r.readOnlyTools":    `{"policy": {"roles": {"r": {"readOnly": true}}}}`,
	"policy.bind[0].":                 `{"policy": {"roles": {"r": {}, "q": {}}, "bind": [{"role": "r", "keys": ["y"]}]}}`,
	"policy.":                         `{"auth": {"keys": "k"}, "policy": {"roles": {"r": {}}}}`,
	"trustedProxies":                  `{"auth": {"keys": "k"}}`,
	"tls.":                            `{"tls": {"cert": "c", "key": "k"}}`,
	"audit.":                          `{"audit": {"file": "f"}}`,
	"cluster.":                        `{"cluster": {"secrets": ["${SECRET}", "${OTHER}"], "nats": {"urls": ["tls://a.example"]}}, "mcpServers": {"s": {"run": "each"}}}`,
	"mcpServers.s.run":                `{"cluster": {"secrets": ["${SECRET}"], "seeds": ["a"]}, "mcpServers": {"s": {"run": "each"}}}`,
	"cluster.routes":                  `{"cluster": {"seeds": ["a"], "nats": null}}`,
	"cluster.seeds":                   `{"cluster": {"seeds": ["a"], "nats": null}}`,
	"cluster.voters":                  `{"cluster": {"seeds": ["a"], "nats": null}}`,
	"cluster.tls.":                    `{"cluster": {"tls": {"cert": "c", "key": "k", "ca": "a", "nodes": ["n"]}}}`,
}

// refusedPlaces are keys of shared types that are refused in some places.
var refusedPlaces = regexp.MustCompile(`^projects\.p\.(tools|prompts|resources)\.rename$|^policy\.roles\.r\.(tools|prompts|resources)\.(rename|disabled)$`)

// TestKeysAreReadShownAndCompared checks that every key is read into its field, shown by config show, and noticed by a reload.
func TestKeysAreReadShownAndCompared(t *testing.T) {
	for _, k := range declaredKeys(reflect.TypeFor[Config](), "") {
		with := testFile(t, k, true)
		next, report := Parse("goblin.yaml", with, environ(keysEnv))
		if refusedPlaces.MatchString(k.path) {
			if next != nil {
				t.Errorf("%s is accepted here, but must be refused", k.path)
			}
			continue
		}
		old, oldReport := Parse("goblin.yaml", testFile(t, k, false), environ(keysEnv))
		if next == nil || old == nil {
			t.Errorf("%s: the test's file is not valid; add to sampleValues or companions what the key needs:\n%s\n%s%s", k.path, with, render(oldReport), render(report))
			continue
		}
		changes := Diff(old, next)
		if changes.Empty() {
			t.Errorf("%s: its value has no effect on the Config, or Diff does not see it:\n%s", k.path, with)
		}
		reconnects := k.f.connection || strings.HasPrefix(k.path, "mcpServers.s.forwardHeaders[0].")
		if reconnects != (len(changes.Transport) > 0) {
			t.Errorf("%s: Diff = %q; is the tag change right?", k.path, describe(changes))
		}
		var shown bytes.Buffer
		if err := Show(&shown, next, report); err != nil {
			t.Fatal(err)
		}
		again, againReport := Parse("goblin.yaml", shown.Bytes(), environ(keysEnv))
		if again == nil {
			t.Errorf("%s: the output of Show is not valid: %v\n%s", k.path, againReport.Err(), shown.Bytes())
		} else if lost := Diff(next, again); !lost.Empty() && !bytes.Contains(shown.Bytes(), []byte("[redacted]")) {
			t.Errorf("%s: Show does not write it: %s\n%s", k.path, describe(lost), shown.Bytes())
		}
	}
}

// testFile returns a file with the values that the key needs and, if with is true, the key itself.
func testFile(t *testing.T, k declaredKey, with bool) []byte {
	t.Helper()
	file := map[string]any{}
	for _, prefix := range slices.Sorted(func(yield func(string) bool) {
		for path := range companions {
			if (strings.HasSuffix(path, ".") || path == "") && strings.HasPrefix(k.path, path) || path == k.path {
				if !yield(path) {
					return
				}
			}
		}
	}) {
		var more map[string]any
		if err := json.Unmarshal([]byte(companions[prefix]), &more); err != nil {
			t.Fatal(prefix, err)
		}
		overlay(file, more)
	}
	if server := file["mcpServers"].(map[string]any)["s"].(map[string]any); server["url"] == nil && server["urls"] == nil {
		server["command"] = "x"
	}
	if with {
		put(file, strings.Split(strings.ReplaceAll(k.path, "[0]", ".0"), "."), sampleOf(t, k))
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// overlay adds more to file, key by key. It removes keys whose value is null.
func overlay(file, more map[string]any) {
	for key, value := range more {
		if value == nil {
			delete(file, key)
			continue
		}
		if inner, ok := value.(map[string]any); ok {
			if was, ok := file[key].(map[string]any); ok {
				overlay(was, inner)
				continue
			}
		}
		file[key] = value
	}
}

func put(file map[string]any, path []string, value any) {
	if len(path) == 1 {
		file[path[0]] = value
		return
	}
	switch inner := file[path[0]].(type) {
	case map[string]any:
		put(inner, path[1:], value)
	case []any:
		put(inner[0].(map[string]any), path[2:], value)
	default:
		next := map[string]any{}
		file[path[0]] = next
		put(next, path[1:], value)
	}
}

// sampleOf returns a value for the key that differs from its default.
func sampleOf(t *testing.T, k declaredKey) any {
	t.Helper()
	if sample, ok := sampleValues[k.path]; ok {
		return json.RawMessage(sample)
	}
	if k.f.oneof != nil {
		for _, word := range k.f.oneof {
			if word != k.f.byDefault {
				return word
			}
		}
	}
	switch fieldType := k.field().Type; {
	case fieldType == reflect.TypeFor[time.Duration]():
		return "7s"
	case fieldType == reflect.TypeFor[map[string]string]():
		return map[string]string{"k": "v"}
	case fieldType == reflect.TypeFor[[]string]():
		return []string{"x"}
	case fieldType.Kind() == reflect.Bool:
		return true
	case fieldType.Kind() == reflect.Int:
		least, err := strconv.Atoi(k.f.min)
		if err != nil {
			t.Fatalf("%s has no tag min", k.path)
		}
		return least + 3
	case fieldType.Kind() == reflect.Int64:
		return "3MiB"
	}
	return "x"
}
