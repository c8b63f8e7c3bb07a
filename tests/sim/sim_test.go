package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

var (
	seeds   = flag.Int("seeds", 40, "how many stories")
	from    = flag.Uint64("from", 1, "seed of the first one")
	story   = flag.Bool("story", false, "print the stories")
	digests = flag.Bool("digests", false, "print the digests")
	hours   = flag.Float64("hours", 0, "go on until so many hours were simulated")
	own     = flag.Bool("own", true, "also stories of this commit's own")
	shorten = flag.Int("shorten", 0, "shorten the first story that fails, with so many tries, print it, and keep it under testdata")
)

// tell runs one story.
func tell(t *testing.T, p Params, aloud bool) (o Outcome) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, p.Seed)
	synctest.Test(t, func(t *testing.T) { o = Run(t, p, aloud) })
	return o
}

// happens are situations that the stories of this test, all together, must have seen: a world in which they never come
// about proves nothing.
var happens = []string{
	"a POST cut off before its answer", "a POST that could not be sent", "a burst of calls", "a call cancelled by its client",
	"a call that came back with answers", "a call that is never answered", "a cancel that reached its server", "a catalog that changed",
	"a client that does not read", "a client that leaves", "a filter changed", "a flood of changed lists", "a flood of progress", "a flood of requests", "a flood of updates",
	"a limit changed", "a listen stream that broke", "a question of a legacy server", "a question of a modern server",
	"a question that is never answered", "a question that reached its client", "a response that broke, for good",
	"a scene: a crowd of calls", "a scene: a flood", "a scene: a line beside a question", "a scene: calls that came back beside others", "a scene: new rules", "a scene: a server switched off while it is asked",
	"a scene: the replica that tells of changes dies", "a scene: unsubscribed before the yes",
	"a server switched on or off", "a server that died", "a server that dies in a call", "a server that was away for a while",
	"a server's session lost", "a stream that broke", "a stream that goes on", "an answer after the client gave up",
	"an answer to what was cancelled or answered", "an answer told twice", "answered with BACKEND_DISCONNECTED",
	"answered with CLIENT_CANNOT_ANSWER", "answered with OVERLOADED", "answered with QUEUE_FULL", "answered with QUEUE_TIMEOUT",
	"answered with SERVER_UNAVAILABLE", "answered with TIMEOUT", "replicas changed",
}

// happensWide are those of wide stories: where ten of them were told, all must have been seen.
var happensWide = []string{
	"a call of what a project does not show", "a call that was repeated, as it may be", "a client that sends another header",
	"a connection of a tenant's", "a message on a tenant's connection that reached its client", "a scene: a call as its server goes to rest",
	"a principal revoked", "a scene: a change outside of a project", "a session that was stolen", "a state that was stolen", "a story in which clients are asked who they are",
	"a scene: the gateway is restarted", "a scene: turns in a queue",
}

// TestSeeds tells some stories that are always the same, and some that are the commit's own.
func TestSeeds(t *testing.T) {
	counts := map[string]int{}
	var simulated time.Duration
	began := time.Now()
	one := func(seed uint64) {
		t.Run("", func(t *testing.T) {
			o := tell(t, NewParams(seed), *story)
			for _, f := range o.Failures {
				t.Errorf("seed %d: %s", seed, f)
			}
			if *shorten > 0 && len(o.Failures) > 0 {
				tellShort(t, NewParams(seed), o)
				*shorten = 0
			}
			if *digests {
				t.Logf("digest %d %s, %d steps, %d answers; honest requests took %v at most, sloth %d", seed, o.Digest, o.Steps, o.Answered, o.Slowest, NewParams(seed).Sloth)
			}
			for what, n := range o.Counts {
				counts[what] += n
			}
			simulated += o.Simulated
		})
	}
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		one(seed)
	}
	commit := ofTheCommit()
	for seed := commit; seed < commit+uint64(*seeds/2) && *hours == 0 && *from == 1 && *own; seed++ {
		one(seed)
	}
	for seed := *from + uint64(*seeds); simulated < time.Duration(*hours*float64(time.Hour)) && !t.Failed(); seed++ {
		one(seed)
	}
	for _, what := range sortedKeys(counts) {
		t.Logf("%7d × %s", counts[what], what)
	}
	t.Logf("%v simulated in %v; the commit's own seeds begin at %d", simulated, time.Since(began), commit)
	missed := func(list []string, enough bool) {
		for _, what := range list {
			if counts[what] == 0 && enough && !t.Failed() {
				t.Errorf("it never happened: %s", what)
			}
		}
	}
	missed(happens, simulated > 20*time.Hour)
	missed(happensWide, counts["a wide story"] >= 10)
}

// ofTheCommit is a seed that is another one for each commit (of what it holds, whoever carries it where), so that every change is tried with stories nobody has told.
func ofTheCommit() uint64 {
	out, err := exec.Command("git", "rev-parse", "HEAD^{tree}").Output()
	if err != nil {
		return 1 << 20 // not a checkout
	}
	sum := sha256.Sum256(out)
	return binary.BigEndian.Uint64(sum[:]) >> 20
}

// shortenTime is how long anybody waits for a shorter story.
const shortenTime = 45 * time.Second

// number is what differs between two ways to break the same law.
var number = regexp.MustCompile(`[0-9]+`)

// law is the law that a story broke first, "" = none.
func law(o Outcome) string {
	if len(o.Failures) == 0 {
		return ""
	}
	text := number.ReplaceAllString(o.Failures[0], "")
	return text[:min(len(text), 120)] // behind it there may be a stack
}

// tellShort shortens a story that fails, prints it as a conversation, and keeps it as a regression.
func tellShort(t *testing.T, p Params, long Outcome) {
	acts := long.Acts
	began := time.Now()
	short, left := Shorten(p, acts, *shorten, func(p Params) (int, bool) {
		if time.Since(began) > shortenTime {
			return 0, false
		}
		o := tell(t, p, false)
		return o.Acts, law(o) == law(long)
	})
	t.Logf("with %d of %d acts, %d scenes left out, %d of %d clients and %d of %d servers, the story is:",
		left, acts, len(short.Unseen), len(short.Clients), len(p.Clients), len(short.Servers), len(p.Servers))
	o := tell(t, short, true)
	raw, err := json.MarshalIndent(short, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", fmt.Sprintf("seed-%d.json", p.Seed))
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v; kept as %s", o.Failures, name)
}

// What was broken once stays mended: each story under testdata broke a law when it was kept.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var p Params
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			for _, f := range tell(t, p, *story).Failures {
				t.Error(f)
			}
		})
	}
}

func TestTheSameStory(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3, 4, 5, 26, 31} { // the last two are wide
		var first, second Outcome
		t.Run("", func(t *testing.T) { first = tell(t, NewParams(seed), false) })
		t.Run("", func(t *testing.T) { second = tell(t, NewParams(seed), false) })
		if first.Digest != second.Digest {
			t.Errorf("seed %d told two stories: %s and %s", seed, first.Digest, second.Digest)
		}
	}
}
