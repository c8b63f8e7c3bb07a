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
	"runtime"
	"runtime/debug"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

var (
	seeds    = flag.Int("seeds", 24, "number of stories")
	from     = flag.Uint64("from", 1, "first seed")
	story    = flag.Bool("story", false, "print the stories")
	digests  = flag.Bool("digests", false, "print the digest of each story")
	hours    = flag.Float64("hours", 0, "run stories until this many hours are simulated")
	clusters = flag.Bool("clusters", false, "run only the stories of clusters")
	own      = flag.Bool("own", true, "also run stories with seeds derived from the commit")
	shorten  = flag.Int("shorten", 0, "shorten the first failing story in at most this many runs, print it and store it in testdata")
)

// runStory runs one story.
func runStory(t *testing.T, p Params, verbose bool) (o Outcome) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, p.Seed)
	synctest.Test(t, func(t *testing.T) { o = Run(t, p, verbose) })
	return o
}

// expectedSituations must all occur in the stories of TestSeeds together, if these simulated more than 20 hours. A
// simulation without them proves nothing.
var expectedSituations = []string{
	"a POST cut off before its answer", "a POST that could not be sent", "a burst of calls", "a call canceled by its client",
	"a call sent again with answers", "a call without a response", "a cancellation that reached its server", "a catalog that changed",
	"a client that does not read", "a client that left", "a changed filter", "a flood of list changes", "a flood of progress", "a flood of requests", "a flood of updates",
	"a changed limit", "a broken listen stream", "a question of a legacy server", "a question of a modern server",
	"a question without an answer", "a question that reached its client", "a broken response that was not resumed",
	"a scene: a crowd of calls", "a scene: a flood", "a scene: a log line during a question", "a scene: answered calls while other calls run", "a scene: new rules", "a scene: a server disabled during a subscription",
	"a scene: the replica with a subscription dies", "a scene: unsubscribed before the confirmation",
	"a server enabled or disabled", "a server that died", "a server that dies during a call", "a server down for a while",
	"a lost session at a server", "a broken stream", "a resumed stream", "a response after the client abandoned the call",
	"a response to a canceled or completed call", "a response sent twice", "answered with BACKEND_DISCONNECTED",
	"answered with CLIENT_CANNOT_ANSWER", "answered with OVERLOADED", "answered with QUEUE_FULL", "answered with QUEUE_TIMEOUT",
	"answered with SERVER_UNAVAILABLE", "answered with TIMEOUT", "a changed number of replicas",
}

// expectedInWide must all occur if there are ten wide stories.
var expectedInWide = []string{
	"a call of a hidden tool", "a repeated idempotent call", "a client that changed its header",
	"a connection of a tenant", "a message on a tenant's connection", "a scene: a call while its server is stopped as idle",
	"a revoked principal", "a scene: a change outside of a project", "a stolen session", "a stolen state", "an authenticated story",
	"a scene: a restart of the gateway", "a scene: fairness in a queue",
}

// expectedInClusters must all occur if there are ten clusters.
var expectedInClusters = []string{
	"a broken response that was resumed", "a misdirected request between nodes", "a request passed on to another node", "a scene: a question of another node",
	"a stolen session", "a stolen state",
}

// TestMain uses one processor, because only one goroutine of a story runs at a time, and lets the heap grow to five times the size of
// what is live. Both together make the stories a third faster.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestSeeds runs stories with fixed seeds, and stories with seeds derived from the commit.
func TestSeeds(t *testing.T) {
	counts := map[string]int{}
	var simulated time.Duration
	began := time.Now()
	one := func(seed uint64) {
		if *clusters && NewParams(seed).Nodes == 0 {
			return
		}
		t.Run("", func(t *testing.T) {
			o := runStory(t, NewParams(seed), *story)
			for _, f := range o.Failures {
				t.Errorf("seed %d: %s", seed, f)
			}
			if *shorten > 0 && len(o.Failures) > 0 {
				reportShortened(t, NewParams(seed), o)
				*shorten = 0
			}
			if *digests {
				t.Logf("digest %d %s, %d steps, %d answers; honest requests took %v at most, %d‰ of turns delayed", seed, o.Digest, o.Steps, o.Answered, o.SlowestHonest, NewParams(seed).DelayedTurns)
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
	commit := commitSeed()
	for seed := commit; seed < commit+uint64(*seeds/4) && *hours == 0 && *from == 1 && *own; seed++ {
		one(seed)
	}
	for seed := *from + uint64(*seeds); simulated < time.Duration(*hours*float64(time.Hour)) && !t.Failed(); seed++ {
		one(seed)
	}
	for _, what := range sortedKeys(counts) {
		t.Logf("%7d × %s", counts[what], what)
	}
	t.Logf("%v simulated in %v; the commit's seeds start at %d", simulated, time.Since(began), commit)
	missed := func(list []string, enough bool) {
		for _, what := range list {
			if counts[what] == 0 && enough && !t.Failed() {
				t.Errorf("situation never occurred: %s", what)
			}
		}
	}
	missed(expectedSituations, simulated > 20*time.Hour)
	missed(expectedInWide, counts["a wide story"] >= 10)
	missed(expectedInClusters, counts["a cluster"] >= 10)
}

// commitSeed returns a seed derived from the tree of the commit, so that every change is tested with new stories.
func commitSeed() uint64 {
	out, err := exec.Command("git", "rev-parse", "HEAD^{tree}").Output()
	if err != nil {
		return 1 << 20 // not a git checkout
	}
	sum := sha256.Sum256(out)
	return binary.BigEndian.Uint64(sum[:]) >> 20
}

// maxShortenTime limits the time for shortening a story.
const maxShortenTime = 45 * time.Second

// digits matches what differs between two violations of the same invariant.
var digits = regexp.MustCompile(`[0-9]+`)

// firstFailure returns the first violation of a story without its numbers, or "" if there is none.
func firstFailure(o Outcome) string {
	if len(o.Failures) == 0 {
		return ""
	}
	text := digits.ReplaceAllString(o.Failures[0], "")
	return text[:min(len(text), 120)] // a stack trace may follow
}

// reportShortened shortens a failing story, prints it, and stores it as a regression test.
func reportShortened(t *testing.T, p Params, long Outcome) {
	acts := long.Acts
	began := time.Now()
	short, left := Shorten(p, acts, *shorten, func(p Params) (int, bool) {
		if time.Since(began) > maxShortenTime {
			return 0, false
		}
		o := runStory(t, p, false)
		return o.Acts, firstFailure(o) == firstFailure(long)
	})
	t.Logf("with %d of %d acts, %d scenes left out, %d of %d clients and %d of %d servers, remain:",
		left, acts, len(short.SkippedScenes), len(short.Clients), len(p.Clients), len(short.Servers), len(p.Servers))
	o := runStory(t, short, true)
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
	t.Logf("%v; stored as %s", o.Failures, name)
}

// TestRegressions runs the stories in testdata. Each violated an invariant when it was stored.
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
			for _, f := range runStory(t, p, *story).Failures {
				t.Error(f)
			}
		})
	}
}

// TestStoriesAreDeterministic checks that equal seeds give equal stories.
func TestStoriesAreDeterministic(t *testing.T) {
	for _, seed := range []uint64{5, 3, 26, 27, 31} { // the last three are wide stories, the last two clusters; the second and the fourth are watched
		var first, second Outcome
		t.Run("", func(t *testing.T) { first = runStory(t, NewParams(seed), false) })
		t.Run("", func(t *testing.T) { second = runStory(t, NewParams(seed), false) })
		if first.Digest != second.Digest {
			t.Errorf("seed %d gave two stories: %s and %s", seed, first.Digest, second.Digest)
		}
	}
}
