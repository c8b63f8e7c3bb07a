package status

import (
	"fmt"
	"strings"
	"testing"
)

// The number and size of stored changes are limited. A slow reader notices lost changes by a gap in the numbers.
func TestCatalogChangesAreBounded(t *testing.T) {
	c := NewCatalogChanges()
	list, more := c.After(0)
	if len(list) != 0 || c.Last() != 0 {
		t.Fatalf("a new store has %d changes", len(list))
	}
	c.Add(nil)
	select {
	case <-more:
		t.Fatal("Add without changes closes the channel")
	default:
	}
	c.Add([]CatalogChange{{Server: "a"}, {Server: "b"}})
	<-more
	if list, _ = c.After(1); len(list) != 1 || list[0].Number != 2 || list[0].Server != "b" {
		t.Errorf("After(1): got %+v", list)
	}
	if list, _ = c.After(99); len(list) != 0 {
		t.Errorf("After a future number: got %+v, want none", list)
	}
	for range 2 * maxChanges {
		c.Add([]CatalogChange{{}})
	}
	if list, _ = c.After(0); len(list) != maxChanges || list[0].Number != c.Last()-maxChanges+1 {
		t.Errorf("%d changes stored, from %d of %d", len(list), list[0].Number, c.Last())
	}
	big := make([]string, 20)
	for i := range big {
		big[i] = strings.Repeat("x", 1<<10)
	}
	for range 2000 {
		c.Add([]CatalogChange{{Added: big, Changed: []ItemChange{{Name: "n", Members: big}}}})
	}
	size := 0
	list, _ = c.After(0)
	for i := range list {
		size += list[i].size()
	}
	if size > maxChangeBytes || size != c.bytes || len(list) < 100 {
		t.Errorf("%d changes stored with %d bytes, counted as %d", len(list), size, c.bytes)
	}
	huge := CatalogChange{Added: []string{strings.Repeat("x", 2*maxChangeBytes)}}
	c.Add([]CatalogChange{huge})
	if list, _ = c.After(0); len(list) != 1 || list[0].Number != c.Last() {
		t.Errorf("after a change that is too large, %d are stored, want 1", len(list))
	}
}

func TestCatalogChangeText(t *testing.T) {
	for _, tt := range []struct {
		change CatalogChange
		names  int
		want   string
	}{
		{CatalogChange{Topic: "tool-changed"}, 5, ""},
		{CatalogChange{Topic: "tool-changed", Added: []string{"a", "b"}, Counts: ChangeCounts{Added: 2}}, 5, "+2 tools (a, b)"},
		{CatalogChange{Topic: "tool-changed", Added: []string{"a", "b"}, Counts: ChangeCounts{Added: 20}}, 1, "+20 tools (a, 19 more)"},
		{CatalogChange{Topic: "resource-changed", Removed: []string{"a"}, Counts: ChangeCounts{Removed: 1}}, 0, "-1 resource"},
		{CatalogChange{Topic: "prompt-changed", Added: []string{"a"}, Changed: []ItemChange{{"c", []string{"description", "title"}}, {"d", nil}},
			Counts: ChangeCounts{Added: 1, Changed: 2}}, 9, "+1 prompt (a), ~2 prompts (c: description, title, d)"},
	} {
		if got := tt.change.Text(tt.names); got != tt.want {
			t.Errorf("%s: got %q, want %q", fmt.Sprint(tt.change), got, tt.want)
		}
	}
}
