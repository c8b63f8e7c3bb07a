package config

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// longInputs returns large inputs that may be slow to parse, most of them at a limit.
func longInputs() map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, maxFileBytes/len(unit)) }
	distinct := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxFileBytes-40; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	upTo := func(n int, unit string) string { return strings.Repeat(unit, n) }
	return map[string]string{
		"open brackets":        fill("["),
		"pairs of brackets":    "[" + fill("[],")[:maxFileBytes-2] + "]",
		"brackets to the cap":  upTo(maxBrackets, "[") + upTo(maxBrackets, "]"),
		"braces to the cap":    upTo(maxBrackets, "{a: ") + upTo(maxBrackets, "}"),
		"dashes":               fill("- "),
		"dashes to the cap":    upTo(maxIndent/2, "- ") + "x",
		"question marks":       fill("? "),
		"keys in a line":       fill("a: "),
		"equal keys":           fill("a: 1\n"),
		"keys":                 distinct("k%d: 1\n"),
		"keys to the cap":      strings.Join(strings.SplitAfter(distinct("k%d: 1\n"), "\n")[:maxBlockLines], ""),
		"nested to the cap":    strings.Join(strings.SplitAfter(distinct("k%d:\n  a: 1\n"), "\n")[:maxBlockLines], ""),
		"servers to the cap":   "mcpServers:\n" + strings.Join(strings.SplitAfter(distinct("  k%d:\n    command: x\n"), "\n")[:maxBlockLines-2], ""),
		"keys in braces":       "{" + distinct("k%d: 1, ") + "}",
		"elements in brackets": "[" + fill("x, ")[:maxFileBytes-2] + "]",
		"tokens to the cap":    "[" + upTo(maxTokens-2, "x, ") + "]",
		"servers in braces":    `{"mcpServers": {` + distinct(`"s%d": {"command": "x"}, `)[:2<<20] + `}}`,
		"foreign keys":         "{" + distinct(`"k%d": 1, `)[:1<<20] + `"mcpServers": {}}`,
		"foreign entry":        `{"mcpServers": {"a": {` + distinct(`"commane%d": 1, `)[:1<<20] + "}}}",
		"foreign servers":      `{"mcpServers": {` + distinct(`"s%d": {"command": "/x", "timeout": 1, "k": 1}, `)[:1<<20] + "}}",
		"slashes":              `{"a": 1, ` + fill("// x\n")[:1<<20] + "}",
		"list":                 fill("- 1\n"),
		"comments":             fill("# x\n"),
		"blank lines":          "a:" + fill("\n")[:maxFileBytes-4] + " 1",
		"blanks":               "a: " + fill(" ")[:maxFileBytes-4] + "1",
		"long word":            "a: " + fill("x")[:maxFileBytes-4],
		"many words":           "a: " + fill("x ")[:maxFileBytes-4],
		"many lines":           "a:\n" + fill("  x\n")[:maxFileBytes-4],
		"literal block":        "a: |\n" + fill("  x\n")[:maxFileBytes-8],
		"literal to the cap":   "a: |\n" + upTo(maxBlockLines-2, "  x\n"),
		"folded to the cap":    "a: >\n" + upTo(maxBlockLines-2, "  x x x x x x x x x x\n"),
		"plain to the cap":     "a:\n" + upTo(maxBlockLines-2, "  x x x x x x x x x x\n"),
		"double quoted":        `a: "` + fill(`x\n`)[:maxFileBytes-8] + `"`,
		"double quoted lines":  `a: "` + fill("x\n")[:maxFileBytes-8] + `"`,
		"single quoted":        `a: '` + fill(`x''`)[:maxFileBytes-9] + `'`,
		"not closed":           `a: "` + fill(`x`)[:maxFileBytes-8],
		"anchors":              fill("- &a 1\n"),
		"anchors in brackets":  "[" + upTo(maxTokens/3, "&a 1,") + "]",
		"aliases":              "- &a 1\n" + fill("- *a\n")[:maxFileBytes-8],
		"tags":                 fill("!a "),
		"tags in brackets":     "[" + upTo(maxTokens/3, "!a 1,") + "]",
		"documents":            fill("---\n"),
		"documents to the cap": upTo(maxBlockLines, "---\n"),
		"directives":           upTo(maxBlockLines, "%a\n"),
		"colons":               upTo(maxTokens, ":"),
		"commas":               "[" + upTo(maxTokens-2, ","),
		"quotes":               upTo(maxTokens/2, `"" `),
		"bars":                 upTo(maxBlockLines, "|\n"),
		"tabs":                 fill("\t"),
		"unknown keys":         "mcpServers: {a: {" + distinct("k%d: 1, ")[:1<<20] + "}}",
		"references":           "mcpServers: {a: {command: \"" + upTo(200_000, "${X}") + "\"}}",
		"laughs": "a: &a [x, x, x, x, x, x, x, x, x]\n" + func() (s string) {
			for c := 'b'; c < 'k'; c++ {
				s += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
			}
			return s
		}(),
		"one server many times": "x: &x {command: y, env: {" + distinct("k%d: v, ")[:200_000] + "z: 1}}\nmcpServers: {" + upTo(20_000, "a: *x, ") + "}",
	}
}

// TestBoundedTime checks that none of the inputs takes long to parse. On two cores in November 2026, the slowest took
// 0.6 s. The limit leaves room for a busy machine under the race detector, and still catches quadratic time.
func TestBoundedTime(t *testing.T) {
	for name, data := range longInputs() {
		start := time.Now()
		Parse("x.yaml", []byte(data), noEnv)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s (%d bytes) took %v, want at most a minute", name, len(data), took)
		}
	}
	_, report := Parse("x.yaml", bytes.Repeat([]byte("# comment\n"), maxFileBytes/10+1), noEnv)
	if len(report.Faults) != 1 || !strings.Contains(report.Faults[0].Message, "4 MiB") {
		t.Errorf("file larger than the limit: %v, want an error that names 4 MiB", report.Err())
	}
}

func noEnv(string) (string, bool) { return "", false }
