// Package attacks requires a test for each attack that the gateway withstands. It also checks the tests: in a build without the
// protection, the attack must succeed and the test must fail.
//
// weak/NN-words.txt names an attack, its test, and a replacement in one file that removes the protection. The tests are next to the
// protection. Those of attacks on the whole program are in actors and cmd/goblin-actor.
package attacks

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

var (
	attacks = flag.Bool("attacks", false, "run each attack against the current code and against the weakened build")
	attack  = flag.String("attack", "*", "run only weakenings whose file name, without .txt, matches this glob")
)

const root = "../.."

// required lists the numbers of the attacks that must have a test. The numbers left out are attacks on parts that do not exist yet.
var required = append(append(span(17, 21), append(span(24, 26), append(span(28, 50), 52)...)...),
	append(span(54, 71), append(span(82, 88), append(span(93, 98), span(101, 108)...)...)...)...)

func span(from, to int) (numbers []int) {
	for n := from; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// weakening is the content of a file in weak.
type weakening struct {
	name       string // of the file, without .txt
	number     int
	words      string // what the attacker does
	room, test string
	weakens    string // the protection that is removed
	edits      []gatetest.Edit
}

var form = regexp.MustCompile(`(?s)\AAttack: (\d+) ([^\n]+)\nTest: (\S+)\.(TestAttack(\d+)\w*)\nWeakens: ([^\n]+)\n(.*)\z`)

func weakenings(t *testing.T, glob string) (all []weakening) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("weak", glob+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := form.FindStringSubmatch(string(raw))
		if m == nil || m[1] != m[5] {
			t.Errorf("%s: expected Attack, Test, Weakens, File, old lines and new lines, and the same number in attack and test", path)
			continue
		}
		edits, err := gatetest.ParseEdits(m[7])
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		number, _ := strconv.Atoi(m[1])
		all = append(all, weakening{strings.TrimSuffix(filepath.Base(path), ".txt"), number, m[2], m[3], m[4], m[6], edits})
	}
	slices.SortStableFunc(all, func(a, b weakening) int { return a.number - b.number })
	return all
}

// Every required attack has a weakening. Each weakening applies to the code and names a test that exists.
func TestEveryAttackHasItsTest(t *testing.T) {
	seen := map[int]bool{}
	for _, w := range weakenings(t, "*") {
		seen[w.number] = true
		if _, err := gatetest.Edited(root, w.edits); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if !hasTest(t, w.room, w.test) {
			t.Errorf("%s: test %s does not exist in %s", w.name, w.test, w.room)
		}
	}
	for _, number := range required {
		if !seen[number] {
			t.Errorf("attack %d has no weakening, so its test is unverified", number)
		}
	}
}

func hasTest(t *testing.T, room, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, room, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && bytes.Contains(raw, []byte("func "+test+"(t *testing.T)"))
	})
}

// TestAttacks runs each attack twice: it must fail against the current code and succeed against the weakened build.
// It takes a while and runs only with -attacks.
func TestAttacks(t *testing.T) {
	if !*attacks {
		t.Skip("runs only with -attacks; see make attacks")
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| attack | | tried by | the code | without | |\n|---|---|---|---|---|---|\n")
	for _, w := range weakenings(t, *attack) {
		t.Run(w.name, func(t *testing.T) {
			asItIs, weak := "fails", "succeeds"
			began := time.Now()
			if out, err := w.run(t, false, goodTime); err != nil {
				asItIs = "SUCCEEDS"
				t.Errorf("%s.%s fails: %s", w.room, w.test, last(out))
			}
			if out, err := w.run(t, true, max(weakTime, 10*time.Since(began))); err == nil {
				weak = "FAILS"
				t.Errorf("%s.%s passes although the weakened build should let the attack through: %s", w.room, w.test, last(out))
			}
			fmt.Fprintf(&table, "| %d | %s | %s.%s | %s | %s | %s |\n", w.number, w.words, w.room, w.test, asItIs, weak, w.weakens)
			fmt.Printf("%3d %-45s as it is: %-8s weakened: %s\n", w.number, w.words, asItIs, weak)
		})
	}
	t.Logf("\n%s", table.String())
}

// Time limits of a test. A test that does not end with the weakened build, because it waits for a refusal, counts as a successful attack.
const (
	goodTime = 5 * time.Minute
	weakTime = time.Minute // or ten times the test's duration with the current code, if that is longer
)

// run runs the test, with the replacement if weak is true. The replacement also applies to programs that the test builds.
func (w *weakening) run(t *testing.T, weak bool, limit time.Duration) ([]byte, error) {
	t.Helper()
	arguments := []string{"test", "-count=1", "-vet=off", "-timeout", limit.String(), "-run", "^" + w.test + "$", "./" + w.room}
	c := exec.Command("go", arguments...)
	c.Dir = root
	c.Env = os.Environ()
	if weak {
		c.Env = append(c.Env, "GOFLAGS=-overlay="+gatetest.Overlay(t, root, t.TempDir(), w.edits))
	}
	c.WaitDelay = 10 * time.Second
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	if err != nil && bytes.Contains(out, []byte("[build failed]")) {
		t.Fatalf("%s does not build: %s", w.name, last(out))
	}
	if bytes.Contains(out, []byte("no tests to run")) {
		t.Fatalf("%s: no test %s in %s", w.name, w.test, w.room)
	}
	return out, err
}

func last(out []byte) []byte { return out[max(0, len(out)-1500):] }
