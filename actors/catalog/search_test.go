package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// hostile returns n templates that are expensive to match. With op "" they have no prefix that could rule them out.
func hostile(n int, op string) (texts []string) {
	for i := range n {
		var b strings.Builder
		for j := range 31 {
			fmt.Fprintf(&b, "{%sa%d}x%d", op, j, j%10)
		}
		texts = append(texts, fmt.Sprintf("%s{z%d}%s", b.String(), i, strings.Repeat("9", i%7+1)))
	}
	return texts
}

// Matching a server's templates takes bounded time for any URI, and does not prevent other items from being found.
func TestManyTemplates(t *testing.T) {
	for _, style := range []string{stylePrefix, styleUnderscore, styleOriginal} {
		v := whole(standard(style), server(t, "bad", 0).templates(append(hostile(500, ""), hostile(500, "+")...)...), server(t, "good", 1).templates("good:{+path}9999999"), server(t, "none", 2).tools("t"))
		for _, size := range []int{60, 1000, 7000} {
			tail := strings.Repeat("x0x1x2x3x4x5x6x7x8x9/", size/20) + "9999999"
			for _, uri := range []string{tail, tail + "!", namespace.PrefixURI("bad", tail), "bad_" + tail} {
				const bound = time.Second // some milliseconds on an idle machine, 10 s without limits
				took := bound
				for range 3 {
					began := time.Now()
					v.Resource(uri)
					if took = min(took, time.Since(began)); took < bound {
						break
					}
				}
				if took >= bound {
					t.Errorf("%s: matching a URI of %d bytes took %v, want less than %v", style, len(uri), took, bound)
				}
			}
			if got := found(v, "good:"+tail); got != "good good:"+tail {
				t.Errorf("%s, %d bytes: the URI of server good leads to %s", style, size, clip(got, 100))
			}
		}
	}
}

// The fault says that the search was incomplete.
func TestIncompleteSearchIsReported(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "bad", 0).templates(hostile(1000, "")...), server(t, "none", 2).tools("t"))
	_, fault := v.Resource(strings.Repeat("x0x1x2x3x4x5x6x7x8x9/", 300) + "9999999")
	if fault == nil || !strings.Contains(fault.Message, "too many templates") {
		t.Errorf("fault %+v, want one about too many templates", fault)
	}
}

// Only the first maxMatched templates of a server are matched. All are listed.
func TestTooManyTemplates(t *testing.T) {
	var texts []string
	for i := range maxMatched + 1 {
		texts = append(texts, fmt.Sprintf("x://%d/{a}", i))
	}
	s := snapshot(standard(stylePrefix), server(t, "one", 0).templates(texts...), server(t, "two", 1).tools("t"))
	v, _ := s.View(Key{})
	if n := len(v.Entries(protocol.Templates)); n != maxMatched+1 {
		t.Errorf("%d templates are listed, want %d", n, maxMatched+1)
	}
	if got := found(v, "x://999/b"); got != "one x://999/b" {
		t.Errorf("a URI of the last template that is matched leads to %s", got)
	}
	if got := found(v, "x://1000/b"); got != string(protocol.ResourceNotFound) || len(s.Warnings()) == 0 {
		t.Errorf("a URI of the first template beyond maxMatched: %s; warnings %v; want RESOURCE_NOT_FOUND and a warning", got, s.Warnings())
	}
}
