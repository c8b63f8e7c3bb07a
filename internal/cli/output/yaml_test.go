package output

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestWriteYAML(t *testing.T) {
	const in = `{"no":"a name twice","tools":[{"name":"add_note","num":1.10,"deep":{"empty":{},"none":[],"list":[[1,2],["x"]]}}],"text":"one\n\n  two\n","no":"no","uri":"note:///a","nothing":null}`
	const want = `"no": "no"
tools:
  - name: add_note
    num: 1.10
    deep:
      empty: {}
      none: []
      list:
        - - 1
          - 2
        - - x
text: |
  one

    two
uri: note:///a
nothing: null
`
	var b strings.Builder
	if err := writeYAML(&b, []byte(in)); err != nil || b.String() != want {
		t.Errorf("writeYAML = %v\n%s\nwant\n%s", err, b.String(), want)
	}
}

// Reading the printed YAML returns the original value.
func FuzzWriteYAML(f *testing.F) {
	for _, s := range []string{`"a: b"`, `{"a":["- x","#c","1","0x1f","1e3",".5","~"]}`, `["x\ny\n\n","\nx\ny"," a\nb","a\n\tb","a \nb"]`, `{"<<":"=","":"a\u2028b"}`, `["\u0085a\nb","null","2001-01-01","12:30"]`,
		`{"a":{"b":"c"},"d":"e","a":["f"]}`, `{"":"","":""}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var want any
		if json.Unmarshal([]byte(in), &want) != nil || !onlyText(want) {
			return
		}
		var b strings.Builder
		if err := writeYAML(&b, []byte(in)); err != nil {
			t.Fatalf("writeYAML(%q): %v", in, err)
		}
		var got any
		if err := yaml.Unmarshal([]byte(b.String()), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q printed as\n%s\nis read as %#v, %v", in, b.String(), got, err)
		}
	})
}

// onlyText reports whether v consists only of strings, booleans, null, and non-empty lists and maps of them. Numbers are
// excluded, because they may have several Go types.
func onlyText(v any) bool {
	switch v := v.(type) {
	case string, nil, bool:
		return true
	case []any:
		for _, e := range v {
			if !onlyText(e) {
				return false
			}
		}
		return len(v) > 0
	case map[string]any:
		for k, e := range v {
			if k == "<<" || !onlyText(e) { // the merge key: readers interpret it differently
				return false
			}
		}
		return len(v) > 0
	}
	return false
}
