package meta

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

// tenThousand returns a fixture with 100 servers of 100 tools each.
func tenThousand(b *testing.B) *fixture {
	verbs := []string{"create", "delete", "list", "search", "update", "merge", "read", "write", "close", "open"}
	nouns := []string{"Issue", "PullRequest", "File", "Directory", "Message", "Channel", "User", "DatabaseTable", "Row", "CalendarEvent"}
	d := newFixture(b)
	for server := range 100 {
		var items []string
		for i := range 100 {
			verb, noun := verbs[i%10], nouns[i/10]
			items = append(items, described(verb+noun, fmt.Sprintf("%s a %s in the workspace of service %d. Returns the result of the operation with all its fields, "+
				"and the time at which it happened. Needs the right to %s. Reference w%d.", verb, noun, server, verb, (server*100+i)%997)))
		}
		d.has(fmt.Sprintf("server%d", server), protocol.Tools, items...)
	}
	d.publish()
	return d
}

// BenchmarkSearch searches 10 000 tools, also with queries that match most of them.
func BenchmarkSearch(b *testing.B) {
	d := tenThousand(b)
	for _, query := range []string{"merge pull request", "w123", "the result of the operation with all its fields"} {
		arguments := fmt.Sprintf(`{"query":%q}`, query)
		b.Run(query, func(b *testing.B) {
			d.page("", searchCatalog, arguments) // builds the index
			for b.Loop() {
				d.raw("", searchCatalog, arguments)
			}
		})
	}
}

// BenchmarkIndex builds the index of 10 000 tools and reports its memory.
func BenchmarkIndex(b *testing.B) {
	d := tenThousand(b)
	indexing(b, d)
}

// heap returns the heap memory in use, in MiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// indexing measures building the index, and reports the memory that it holds.
func indexing(b *testing.B, d *fixture) {
	before, held := heap(), 0.0
	for b.Loop() {
		x := &index{}
		if err := x.follow(d.snapshot); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		held = heap() - before
		x.close()
		b.StartTimer()
	}
	b.ReportMetric(held, "MiB")
}

// BenchmarkIndexFollows measures a search after one of 100 servers has changed its list.
func BenchmarkIndexFollows(b *testing.B) {
	d := tenThousand(b)
	a := &access{snapshot: d.snapshot, index: d.index}
	a.view, _ = d.snapshot.View(catalog.Key{})
	all := func(*catalog.Entry) bool { return true }
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		var items []string
		for i := range 100 {
			items = append(items, described(fmt.Sprintf("tool%d", i), fmt.Sprintf("number %d", n)))
		}
		d.has("server7", protocol.Tools, items...)
		d.publish()
		a.snapshot = d.snapshot
		a.view, _ = d.snapshot.View(catalog.Key{})
		b.StartTimer()
		if _, _, err := d.index.find(context.Background(), a, "number", 20, all); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRealServers builds the index of the catalogs of 13 real servers, repeated 60 times (10 200 items), and
// searches it in plain words.
func BenchmarkRealServers(b *testing.B) {
	d := realServers(b)
	for i := range 59 {
		for name, source := range d.sources {
			if name == Name || strings.Contains(name, "~") {
				continue
			}
			copied := *source.Server
			copied.Name = fmt.Sprintf("%s~%d", name, i)
			d.sources[copied.Name] = catalog.Source{Server: &copied, Items: source.Items}
		}
	}
	d.publish()
	b.Run("index", func(b *testing.B) {
		indexing(b, d)
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			d.raw("", searchCatalog, `{"query":"forget about a person"}`)
		}
	})
	b.Run("misspelled", func(b *testing.B) {
		for b.Loop() {
			d.raw("", searchCatalog, `{"query":"delte a brnach of the repsitory"}`)
		}
	})
}
