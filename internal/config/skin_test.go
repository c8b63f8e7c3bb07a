package config

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

var (
	skinParts  = []string{"bad", "good", "plain", "selected"}
	skinColors = []string{"aqua", "black", "green", "red", "default"}
)

func TestParseSkin(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Skin
		faults   []string // each followed by " | " and its hint
	}{
		{"nothing", "", Skin{}, nil},
		{"a color alone", "good: Green\nbad: \"#FF5555\"\n", Skin{"good": {Foreground: "green"}, "bad": {Foreground: "#ff5555"}}, nil},
		{"all of it", "selected: {fgColor: black, bgColor: aqua, bold: true, dim: true, italic: true, underline: true, reverse: true}",
			Skin{"selected": {"black", "aqua", true, true, true, true, true}}, nil},
		{"switched off", "good: {bold: false}", Skin{"good": {}}, nil},
		{"JSON", `{"plain": {"bgColor": "default"}}`, Skin{"plain": {Background: "default"}}, nil},
		{"unknown part, color and key", "god: green\nbad: rde\ngood: {colour: red, fgColor: 7}\n", nil, []string{
			"skin.yaml:1:1: god: unknown part of the screen | did you mean good?",
			"skin.yaml:2:6: bad: got \"rde\", want a color | did you mean red?",
			"skin.yaml:3:8: good.colour: unknown key | known keys: bgColor, fgColor, bold, dim, italic, reverse, underline",
			"skin.yaml:3:30: good.fgColor: got 7, want a color | " + colorHint,
		}},
		{"a comment in place of a color", "bad: #ff0000\n", nil, []string{"skin.yaml:1:6: bad: got nothing, want a color | " + colorHint}},
		{"half a color", "bad: \"#ff00\"\n", nil, []string{"skin.yaml:1:6: bad: got \"#ff00\", want a color | " + colorHint}},
		{"empty mapping", "bad: {}\n", nil, []string{"skin.yaml:1:6: bad: no color or attribute given | remove it, or name a color"}},
		{"a list", "- green\n", nil, []string{"skin.yaml:1:1: got a list, want a mapping | "}},
		{"twice", "bad: red\nbad: red\n", nil, []string{"skin.yaml:2:1: bad: duplicate key | first defined at 1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, report := ParseSkin("skin.yaml", []byte(c.in), skinParts, skinColors)
			var faults []string
			for _, f := range report.Faults {
				faults = append(faults, f.Error()+" | "+f.Hint)
			}
			if !maps.Equal(got, c.want) || strings.Join(faults, "\n") != strings.Join(c.faults, "\n") {
				t.Errorf("ParseSkin(%q) = %+v\n%s\nwant %+v\n%s", c.in, got, strings.Join(faults, "\n"), c.want, strings.Join(c.faults, "\n"))
			}
		})
	}
}

func TestSkinPath(t *testing.T) {
	absolute, err := filepath.Abs("home")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"dark", map[string]string{"XDG_CONFIG_HOME": absolute}, filepath.Join(absolute, "goblin-actor", "skins", "dark.yaml")},
		{"dark", map[string]string{"HOME": absolute}, filepath.Join(absolute, ".config", "goblin-actor", "skins", "dark.yaml")},
		{"dark", nil, ""},
		{"dark.yaml", nil, "dark.yaml"},
		{"./dark", nil, "./dark"},
	} {
		if got := SkinPath(c.name, func(key string) string { return c.env[key] }); got != c.want {
			t.Errorf("SkinPath(%q, %v) = %q, want %q", c.name, c.env, got, c.want)
		}
	}
}

// FuzzParseSkin checks that ParseSkin does not panic, and returns a Skin exactly if there are no errors.
func FuzzParseSkin(f *testing.F) {
	for _, seed := range []string{"", "good: green", "selected: {fgColor: black, bgColor: \"#00ff00\", bold: true}", "bad: [", "good: &a {bold: true}\nbad: *a", "? {a: b}", "<<: {good: red}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		skin, report := ParseSkin("f.yaml", data, skinParts, skinColors)
		if (skin == nil) != (len(report.Faults) > 0) {
			t.Fatalf("Skin %v, errors %v", skin, report.Err())
		}
	})
}

func TestLoadSkinWithoutFile(t *testing.T) {
	skin, report := LoadSkin(filepath.Join(t.TempDir(), "none.yaml"), skinParts, skinColors)
	if skin != nil || !errors.Is(report.Err(), fs.ErrNotExist) || report.Faults[0].Hint == "" {
		t.Errorf("LoadSkin = %v, %v; want an error with a hint", skin, report.Err())
	}
}
