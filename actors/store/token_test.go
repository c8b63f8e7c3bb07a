package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/masterkey"
)

var testVault = vaultOf("0123456789abcdef0123456789abcdef")

func vaultOf(secret string) *vault {
	v, err := newVault(masterkey.Of([]byte(secret)))
	if err != nil {
		panic(err)
	}
	return v
}

func testMaster() (*masterkey.Master, error) { return testVault.master, nil }

func tokensOf(pairs ...string) map[string]pendingToken {
	tokens := map[string]pendingToken{}
	for i := 0; i < len(pairs); i += 2 {
		tokens[pairs[i]] = pendingToken{value: message.Token(pairs[i+1])}
	}
	return tokens
}

func mustWrite(t *testing.T, path string, key message.SealingKey, b batch) {
	t.Helper()
	if _, err := write(path, testVault, key, b, writeWait); err != nil {
		t.Fatal(err)
	}
}

// S5.3.2: Attack 83: a login copied to another key or bucket of the file cannot be unsealed there, and does not affect
// other logins.
func TestAttack83StateRecordMoved(t *testing.T) {
	path, key := begin(t)
	mustWrite(t, path, key, batch{tokens: tokensOf("shared/github", "their token", "shared/linear", "my token")})
	bolt(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketTokens)
		return b.Put([]byte("shared/linear"), bytes.Clone(b.Get([]byte("shared/github"))))
	})(t, path)
	c := mustRead(t, path)
	if got := c.tokens["shared/linear"]; got != nil || c.unopened != 1 || string(c.tokens["shared/github"]) != "their token" {
		t.Errorf("the moved login is %q, %d cannot be opened, that of github is %q", []byte(got), c.unopened, []byte(c.tokens["shared/github"]))
	}
	if read := readRequested(readRequestedTokens{path, testVault, []message.ReadToken{{Key: "shared/linear"}}})[0]; read.Value != nil || read.Err == "" {
		t.Errorf("read again: %q, %q", []byte(read.Value), read.Err)
	}
	sealed := testVault.seal([]byte("a"), []byte("bc"), []byte("x"))
	if _, err := testVault.open([]byte("ab"), []byte("c"), sealed); err == nil {
		t.Error("a value opens under another split of bucket and key")
	}
	if _, err := testVault.open([]byte("a"), []byte("bc"), sealed); err != nil {
		t.Error(err)
	}
}

// The file contains no secret in plain text.
func TestSealed(t *testing.T) {
	path, key := begin(t)
	mustWrite(t, path, key, batch{tokens: tokensOf("k", "a very secret token")})
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("a very secret token")) || bytes.Contains(raw, key[:]) {
		t.Error("the file contains a secret in plain text")
	}
	if c := mustRead(t, path); string(c.tokens["k"]) != "a very secret token" || c.key != key {
		t.Errorf("tokens %v", c.tokens)
	}
	mustWrite(t, path, key, batch{tokens: map[string]pendingToken{"k": {}}})
	if c := mustRead(t, path); len(c.tokens) != 0 {
		t.Errorf("%d tokens are left after removal", len(c.tokens))
	}
}

// old creates a file in the format of earlier versions.
func old(t *testing.T, key message.SealingKey) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	bolt(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(bucketMeta)
		return errors.Join(err, meta.Put(keyFormat, []byte("1")), meta.Put(keySeal, key[:]),
			putEras(tx, map[string]message.KnownEra{"a": modern}),
			putCatalogs(tx, map[string]*message.KnownCatalog{"s": catalogOf(now, "x")}))
	})(t, path)
	return path
}

// A file in the former format is sealed: it keeps its key and content, but no longer contains the key in plain text.
func TestFormerFormatIsSealed(t *testing.T) {
	key := message.SealingKey([]byte("kkkkkkkkkkkkkkkkKKKKKKKKKKKKKKKK"))
	path := old(t, key)
	if raw, err := os.ReadFile(path); err != nil || !bytes.Contains(raw, key[:]) {
		t.Fatalf("the old file does not contain the plain key: %v", err)
	}
	for range 2 {
		o := load(path, testMaster)
		if o.err != nil || o.aside != "" || o.held.key != key || o.held.eras["a"] != modern || o.held.catalogs["s"] == nil {
			t.Fatalf("%v, aside %q, eras %v", o.err, o.aside, o.held.eras)
		}
		if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, key[:]) {
			t.Errorf("the file still contains the plain key: %v", err)
		}
	}
	mustWrite(t, path, key, batch{tokens: tokensOf("k", "v")})
	if c := mustRead(t, path); c.key != key || string(c.tokens["k"]) != "v" {
		t.Error("the migrated file is not usable")
	}
}

// A file whose master key is lost is renamed at the start, with a reason that says what is lost. A write does not
// change such a file. If the master key is only unreachable, the start does not rename the file.
func TestMasterKeyLost(t *testing.T) {
	path, key := begin(t)
	mustWrite(t, path, key, batch{tokens: tokensOf("k", "v")})
	other := vaultOf("another key another key another ")
	if w := save(writeFile{path: path, vault: other, key: key, batch: batch{tokens: tokensOf("k", "w")}}); !errors.Is(w.err, errLost) || w.aside != "" {
		t.Errorf("save: %v, aside %q", w.err, w.aside)
	}
	o := load(path, func() (*masterkey.Master, error) { return other.master, nil })
	if o.err != nil || o.aside == "" || !errors.Is(o.why, errLost) || len(o.held.tokens) != 0 || o.held.key == key {
		t.Errorf("load: %v, aside %q, why %v", o.err, o.aside, o.why)
	}
	if o := load(path, func() (*masterkey.Master, error) { return nil, masterkey.ErrUnreachable }); !errors.Is(o.err, masterkey.ErrUnreachable) || o.aside != "" {
		t.Errorf("master key unreachable: %v, aside %q", o.err, o.aside)
	}
}

// At the limit, existing logins stay and new ones are refused.
func TestTokensAreBounded(t *testing.T) {
	path, key := begin(t)
	all := map[string]pendingToken{}
	for i := range message.MaxTokens {
		all[strings.Repeat("k", 1+i%7)+string(rune('a'+i%26))+time.Duration(i).String()] = pendingToken{value: message.Token("v")}
	}
	mustWrite(t, path, key, batch{tokens: all})
	some := "ka0s"
	refused, err := write(path, testVault, key, batch{tokens: tokensOf("one more", "v", some, "w")}, writeWait)
	if err != nil || len(refused) != 1 || !refused["one more"] {
		t.Errorf("refused %v, %v", refused, err)
	}
	if c := mustRead(t, path); len(c.tokens) != message.MaxTokens || string(c.tokens[some]) != "w" {
		t.Errorf("%d tokens", len(c.tokens))
	}
}

// until waits until the probe has received n messages.
func until(t *testing.T, p actortest.Probe, n int) (got []any) {
	t.Helper()
	for range 4000 {
		if got = append(got, p.Got()...); len(got) >= n {
			return got
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("received %v, want %d messages", got, n)
	return nil
}

// A login is acknowledged only after other processes can read it. A later read returns what another process has written
// since.
func TestTokensOfTwoGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	asker := actortest.NewProbe(system, "asker")
	kept := func() {
		t.Helper()
		if got := until(t, asker, 1)[0]; got != (message.TokenStored{Key: "k", Number: 7}) {
			t.Fatalf("received %+v", got)
		}
	}
	first := run(t, path, func(ref kernel.Reference) {
		ref.Tell(message.RememberToken{Key: "k", Value: message.Token("one"), From: asker.Reference, Number: 7})
		kept()
		second := run(t, path, func(other kernel.Reference) {
			other.Tell(message.RememberToken{Key: "k", Value: message.Token("two"), From: asker.Reference, Number: 7})
			kept()
		})
		if string(second.Tokens["k"]) != "one" {
			t.Errorf("the second gateway started with %q", []byte(second.Tokens["k"]))
		}
		ref.Tell(message.ReadToken{Key: "k", From: asker.Reference})
		ref.Tell(message.ReadToken{Key: "none", From: asker.Reference})
		read := until(t, asker, 2)
		two, isRead := read[0].(message.TokenRead)
		if none := read[1]; !isRead || string(two.Value) != "two" || two.Err != "" || !reflect.DeepEqual(none, message.TokenRead{Key: "none"}) {
			t.Errorf("read %q", read)
		}
	})
	if len(first.Tokens) != 0 {
		t.Error("the first gateway started with logins")
	}
}

// Without a file, every request is still answered.
func TestTokensWithoutAFile(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	asker := actortest.NewProbe(system, "asker")
	run(t, "", func(ref kernel.Reference) {
		ref.Tell(message.RememberToken{Key: "k", Value: message.Token("one"), From: asker.Reference})
		ref.Tell(message.ReadToken{Key: "k", From: asker.Reference})
		ref.Tell(message.RememberToken{Key: "k", From: asker.Reference})
	})
	got := until(t, asker, 3)
	if got[0].(message.TokenStored).Err == "" || got[1].(message.TokenRead).Err == "" || got[2].(message.TokenStored).Err != "" {
		t.Errorf("received %v", got)
	}
}
