package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
	"goblin-actor/internal/visible"
)

// writeYAML prints JSON as YAML 1.2. Members keep their order, numbers keep their digits (a YAML library would round
// them), and multi-line strings become block scalars. YAML does not allow duplicate keys: like most readers of JSON,
// writeYAML uses the last member of a name.
func writeYAML(w io.Writer, value []byte) error {
	if !json.Valid(value) { // this also limits the depth
		return errNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	n, err := readValue(d)
	if err != nil {
		return errNotJSON
	}
	var y yamlWriter
	y.value(n, 0, false)
	_, err = w.Write(y.out.Bytes())
	return err
}

// jsonValue is a scalar, or an object or array with its members.
type jsonValue struct {
	scalar json.Token
	open   json.Delim // '{', '[', or 0 = a scalar
	keys   []string   // keys of an object, without duplicates
	inside []*jsonValue
}

// readValue reads the next complete value.
func readValue(d *json.Decoder) (*jsonValue, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &jsonValue{scalar: token}
	open, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	n.open = open
	at := map[string]int{} // index into inside, by key
	for d.More() {
		key := ""
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key = name.(string)
		}
		value, err := readValue(d)
		if err != nil {
			return nil, err
		}
		if before, again := at[key]; again && open == '{' {
			n.inside[before] = value
			continue
		}
		if open == '{' {
			at[key] = len(n.inside)
			n.keys = append(n.keys, key)
		}
		n.inside = append(n.inside, value)
	}
	_, err = d.Token()
	return n, err
}

type yamlWriter struct{ out bytes.Buffer }

// value writes n. If after is set, n follows "key:", so a non-empty collection starts on the next line. Otherwise its
// first member is written at the current position.
func (y *yamlWriter) value(n *jsonValue, indent int, after bool) {
	switch scalar := n.scalar.(type) {
	case json.Delim:
		y.collection(n, indent, after)
	case string:
		y.scalar(yamlText(scalar, indent), after)
	case nil:
		y.scalar("null", after)
	default:
		y.scalar(fmt.Sprint(scalar), after)
	}
}

func (y *yamlWriter) scalar(text string, after bool) {
	if after {
		y.out.WriteByte(' ')
	}
	y.out.WriteString(text)
	y.out.WriteByte('\n')
}

// collection writes an object or array.
func (y *yamlWriter) collection(n *jsonValue, indent int, after bool) {
	if len(n.inside) == 0 {
		y.scalar(map[json.Delim]string{'{': "{}", '[': "[]"}[n.open], after)
		return
	}
	if after {
		y.out.WriteByte('\n')
	}
	for i, value := range n.inside {
		if i > 0 || after {
			y.out.WriteString(strings.Repeat(" ", indent))
		}
		if n.open == '[' {
			y.out.WriteString("- ")
			y.value(value, indent+2, false)
			continue
		}
		y.out.WriteString(yamlWord(n.keys[i]) + ":")
		y.value(value, indent+2, true)
	}
}

// yamlPlain matches text that needs no quotes, because it cannot be read as a number, a comment or a mapping.
var yamlPlain = pattern.Lazy(`^[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[ :][A-Za-z0-9_./@+-]+)*$`)

// yamlReserved are words that YAML readers, including those for YAML 1.1, may read as something other than a string.
var yamlReserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// yamlText formats a string: as a block scalar if it has several lines, otherwise on one line.
func yamlText(s string, indent int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) < 2 || visible.Contains(s) || lines[0] == "" || lines[len(lines)-1] == "" || strings.ContainsAny(s[:1], " \t") ||
		slices.ContainsFunc(lines, func(l string) bool { return strings.TrimRight(l, " \t") != l }) {
		return yamlWord(s) // YAML readers disagree about such texts in blocks
	}
	head := "|"
	if !strings.HasSuffix(s, "\n") {
		head = "|-"
	}
	margin := strings.Repeat(" ", max(indent, 2))
	for _, line := range lines {
		head += "\n"
		if line != "" {
			head += margin + line
		}
	}
	return head
}

// yamlWord formats a string on one line: unquoted if that is safe, otherwise as a JSON string, which is also valid YAML.
func yamlWord(s string) string {
	if yamlPlain().MatchString(s) && !slices.Contains(yamlReserved, strings.ToLower(s)) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // cannot happen: a string can always be encoded
	}
	return visible.JSON(strings.TrimSuffix(b.String(), "\n"))
}
