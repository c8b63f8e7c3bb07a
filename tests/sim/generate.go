package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator makes JSON nobody would write: odd numbers, all ways to escape, unknown members, any order, any space.
type generator struct{ rng *rand.Rand }

var oddNumbers = []string{"0", "-0", "1.0", "1E400", "-1e-400", "12345678901234567890123", "0.1000", "1e+2", "9007199254740993", "-7"}
var oddStrings = []string{`""`, `"\u0041"`, `"\/"`, `"<>&"`, `"\ud83d\ude00"`, `"😀"`, `"a\u0000b"`, `"\\u0041"`, `"\"}{"`, `"é"`, `"\u00e9"`, `"params"`, `"a\tb\nc"`}
var oddKeys = []string{`"a"`, `"x y"`, `"\u006bey"`, `"id2"`, `"é"`, `"__proto__"`, `"0"`, `"$ref"`}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// space is what may stand between tokens, but for ends of lines: they are folded on pipes.
func (g *generator) space() string { return pick(g.rng, []string{"", "", "", " ", "  ", "\t"}) }

// value is any JSON value.
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

// members are some with names nobody knows.
func (g *generator) members(depth int) []string {
	var list []string
	for i := range g.rng.IntN(4) {
		key := pick(g.rng, oddKeys)
		list = append(list, strings.TrimSuffix(key, `"`)+strconv.Itoa(i)+`"`+g.space()+":"+g.space()+g.value(depth))
	}
	return list
}

// object puts members together, in any order when shuffled.
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

// Where a message has what the gateway writes anew.
const (
	holeID    = "\x01"
	holeName  = "\x02"
	holeToken = "\x03"
)

// request is a call with holes for its id, its tool's name and its progress token; meta are members of _meta it must have.
func (g *generator) request(meta []string) string {
	metas := append(append(g.members(1), meta...), `"progressToken":`+g.space()+holeToken)
	params := append(g.members(2), `"name"`+g.space()+":"+holeName, `"arguments":`+g.object(g.members(3), true), `"_meta":`+g.object(metas, true))
	return g.object(append(g.members(1), `"jsonrpc":"2.0"`, `"id":`+g.space()+holeID, `"method":"tools/call"`, `"params"`+g.space()+":"+g.object(params, true)), true)
}

// answer is a result with a hole for its id.
func (g *generator) answer(members ...string) string {
	result := append(g.members(3), members...)
	result = append(result, `"content":[{"type":"text","text":`+pick(g.rng, oddStrings)+`}]`)
	return g.object(append(g.members(1), `"jsonrpc":"2.0"`, `"id":`+holeID+g.space(), `"result":`+g.object(result, true)), true)
}

// fill puts values into the holes.
func fill(text, id, name, token string) string {
	return strings.NewReplacer(holeID, id, holeName, name, holeToken, token).Replace(text)
}
