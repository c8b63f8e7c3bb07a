package form

import (
	"fmt"
	"strings"
	"testing"
)

func TestToolInputs(t *testing.T) {
	in, err := ToolInputs([]byte(`{"name":"t","inputSchema":{"type":"object","required":["path"],"properties":{
		"path":{"type":"string","description":"the file","minLength":2},"head":{"type":"integer","minimum":1,"default":10},
		"opts":{"type":"object"},"level":{"enum":["low",3]},"any":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range in.All {
		one := &in.All[i]
		got = append(got, fmt.Sprintf("%s:%s:%s:%t:%t", one.Name, one.Kind, one.Default, one.Required, one.JSON))
	}
	const want = "path:string::true:false head:integer, 1 or more:10:false:false opts:object::false:true level:one of low, 3::false:false any:::false:false"
	if strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	for _, c := range []struct {
		at         int
		text, want string
	}{
		{0, "", "required"}, {0, "a", "want 2 or more characters, got 1"}, {0, "ab", "<nil>"},
		{1, "", "<nil>"}, {1, "twenty", `want integer, got "twenty"`}, {1, "0", "want a whole number, 1 or more"}, {1, "7", "<nil>"},
		{2, "x", `want object, got "x"`}, {2, `{"a":1}`, "<nil>"}, {3, "3", "<nil>"}, {3, "4", `want one of low, 3, got "4"`}, {4, "x", "<nil>"},
	} {
		if got := fmt.Sprint(in.Fault(c.at, c.text)); got != c.want {
			t.Errorf("%s=%q: %s, want %s", in.All[c.at].Name, c.text, got, c.want)
		}
	}
	raw, err := in.Arguments("t", []string{"ab", "7", "", "3", ""})
	if string(raw) != `{"head":7,"level":3,"path":"ab"}` || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestPromptInputs(t *testing.T) {
	in, err := PromptInputs([]byte(`{"name":"p","arguments":[{"name":"b","required":true},{"name":"a","description":"x"}]}`))
	if err != nil || len(in.All) != 2 || in.All[0].Name != "b" || !in.All[0].Required {
		t.Fatal(in, err)
	}
	if raw, err := in.Arguments("p", []string{"7", ""}); string(raw) != `{"b":"7"}` || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		template string
		texts    []string
		want     string
	}{
		{"a://{x}", []string{"b c/ö"}, "a://b%20c%2F%C3%B6"},
		{"a://{+x}/{y}", []string{"b/c", "d"}, "a://b/c/d"},
		{"a://x{?q,r*}", []string{"1", "a&b"}, "a://x?q=1&r=a%26b"},
		{"a://x{?q,r}", []string{"", "2"}, "a://x?r=2"},
		{"a://x{?q}{&r}", []string{"1", ""}, "a://x?q=1"},
		{"a:/{/x,y}{.z}{;w}{#f}", []string{"1", "2", "3", "4", "5#"}, "a://1/2.3;w=4#5#"},
		{"a://{x:3}{x}", []string{"1"}, "a://11"},
		{"a://{x", nil, "a://{x"},
		{"a://{}", nil, "a://"},
	} {
		in := TemplateInputs(c.template)
		if got := in.Expand(c.template, c.texts); got != c.want {
			t.Errorf("%s: %s, want %s", c.template, got, c.want)
		}
	}
}

// A form of a template has at most maxFields inputs, and says how many variables it leaves out. A variable is optional only if all
// its expressions are.
func TestLargeTemplate(t *testing.T) {
	var template strings.Builder
	for i := range 500 {
		fmt.Fprintf(&template, "/{v%d}{?v%d}", i, i/2)
	}
	in := TemplateInputs(template.String())
	if len(in.All) != maxFields || in.Omitted != 500-maxFields {
		t.Errorf("%d inputs, %d omitted", len(in.All), in.Omitted)
	}
	if got := in.Expand(template.String(), make([]string, maxFields)); got != strings.Repeat("/", 500) {
		t.Errorf("expanded to %q", got)
	}
	in = TemplateInputs("a://x{?q,r}/{q}")
	if !in.All[0].Required || in.All[1].Required {
		t.Errorf("q and r: %+v", in.All)
	}
}

// The fields of a question become inputs. A field with an empty text gets its default or is left out. A missing required
// value and an invalid value are errors.
func TestQuestionInputs(t *testing.T) {
	in, err := QuestionInputs([]byte(`{"type":"object","required":["name","topic"],"properties":{"name":{"type":"string","title":"Your name","minLength":2},
		"topic":{"type":"string","default":"gold","enum":["gold","love"]},"omens":{"type":"array","items":{"type":"string","enum":["crow","toad"]}},"age":{"type":"integer","minimum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range in.All {
		got = append(got, fmt.Sprintf("%s:%s:%s:%t", in.All[i].Name, in.All[i].Kind, in.All[i].Default, in.All[i].Required))
	}
	const want = "Your name:::true topic:1 gold, 2 love:gold:false omens:comma-separated: 1 crow, 2 toad::false age:integer, 1 or more::false"
	if strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"Ugg", "", "", ""}, `{"name":"Ugg","topic":"gold"} <nil>`},
		{[]string{"Ugg", "2", "toad, 1", "7"}, `{"name":"Ugg","topic":"love","omens":["toad","crow"],"age":7} <nil>`},
		{[]string{"", "", "", ""}, ` name: required`},
		{[]string{"U", "", "", ""}, ` Your name: want 2 or more characters, got 1`},
	} {
		raw, err := in.Answer(c.texts)
		if got := fmt.Sprintf("%s %v", raw, err); got != c.want {
			t.Errorf("%q: %s, want %s", c.texts, got, c.want)
		}
	}
	if _, err := QuestionInputs([]byte(`{"properties":7}`)); err == nil {
		t.Error("an invalid schema was accepted")
	}
}
