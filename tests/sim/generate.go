package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator generates unusual JSON: extreme numbers, all forms of escapes, unknown members, any order of members, and
// spaces and tabs between tokens.
type generator struct{ rng *rand.Rand }

var oddNumbers = []string{"0", "-0", "1.0", "1E400", "-1e-400", "12345678901234567890123", "0.1000", "1e+2", "9007199254740993", "-7"}
var oddStrings = []string{`""`, `"\u0041"`, `"\/"`, `"<>&"`, `"\ud83d\ude00"`, `"😀"`, `"a\u0000b"`, `"\\u0041"`, `"\"}{"`, `"é"`, `"\u00e9"`, `"params"`, `"a\tb\nc"`}
var oddKeys = []string{`"a"`, `"x y"`, `"\u006bey"`, `"id2"`, `"é"`, `"__proto__"`, `"0"`, `"$ref"`}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// space returns white space as allowed between tokens. It contains no line breaks, because the gateway replaces them
// with spaces on stdio.
func (g *generator) space() string { return pick(g.rng, []string{"", "", "", " ", "  ", "\t"}) }

// value returns a random JSON value.
func (g *generator) value(depth int) string {
	switch how := g.rng.IntN(9); {
	case how < 2:
		return pick(g.rng, oddNumbers)
	case how < 5:
		return pick(g.rng, oddStrings)
	case how == 5:
		return pick(g.rng, []string{"true", "false", "null"})
	case depth == 0:
		return "[]"
	case how == 6:
		var items []string
		for range g.rng.IntN(4) {
			items = append(items, g.space()+g.value(depth-1)+g.space())
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return g.object(g.members(depth-1), true)
}

// members returns up to three members with unknown names.
func (g *generator) members(depth int) []string {
	var list []string
	for i := range g.rng.IntN(4) {
		key := pick(g.rng, oddKeys)
		list = append(list, strings.TrimSuffix(key, `"`)+strconv.Itoa(i)+`"`+g.space()+":"+g.space()+g.value(depth))
	}
	return list
}

// object joins members into an object. shuffled randomizes their order.
func (g *generator) object(members []string, shuffled bool) string {
	if shuffled {
		g.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	var b strings.Builder
	b.WriteString("{" + g.space())
	for i, m := range members {
		if i > 0 {
			b.WriteString(g.space() + "," + g.space())
		}
		b.WriteString(m)
	}
	b.WriteString(g.space() + "}")
	return b.String()
}

// Placeholders for the values that the gateway rewrites.
const (
	placeholderID    = "\x01"
	placeholderName  = "\x02"
	placeholderToken = "\x03"
)

// request returns a call with placeholders for its id, tool name and progress token. Its _meta has the members of meta.
func (g *generator) request(meta []string) string {
	metas := append(append(g.members(1), meta...), `"progressToken":`+g.space()+placeholderToken)
	params := append(g.members(2), `"name"`+g.space()+":"+placeholderName, `"arguments":`+g.object(g.members(3), true), `"_meta":`+g.object(metas, true))
	return g.object(append(g.members(1), `"jsonrpc":"2.0"`, `"id":`+g.space()+placeholderID, `"method":"tools/call"`, `"params"`+g.space()+":"+g.object(params, true)), true)
}

// answer returns a result with a placeholder for its id.
func (g *generator) answer(members ...string) string {
	result := append(g.members(3), members...)
	result = append(result, `"content":[{"type":"text","text":`+pick(g.rng, oddStrings)+`}]`)
	return g.object(append(g.members(1), `"jsonrpc":"2.0"`, `"id":`+placeholderID+g.space(), `"result":`+g.object(result, true)), true)
}

// fill replaces the placeholders.
func fill(text, id, name, token string) string {
	return strings.NewReplacer(placeholderID, id, placeholderName, name, placeholderToken, token).Replace(text)
}
