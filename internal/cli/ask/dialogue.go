package ask

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/form"
)

// questioner asks the user at the terminal for the answers to servers' requests.
type questioner struct{ *terminal.Dialogue }

func newQuestioner(in io.Reader, out io.Writer) *questioner {
	return &questioner{terminal.NewDialogue(in, out)}
}

// heading prints the name of the item and the server's message. The message is indented, so that it cannot imitate the
// command's own output.
func (d *questioner) heading(who, message string) {
	d.Print("%s asks:\n%s", terminal.PaletteFor(d.Out).Bold(terminal.OneLine(who, 80)), terminal.Indent(message))
}

// fillIn asks for the fields that have no value yet, shows all values, and asks whether to send them.
func (d *questioner) fillIn(ctx context.Context, f form.Fields, given map[string]json.RawMessage) (json.RawMessage, error) {
	if len(f) > len(given) {
		d.Print("(Ctrl-D cancels)\n")
	}
	for {
		values := map[string]json.RawMessage{}
		for i := range f {
			one := &f[i]
			value, ok := given[one.Name]
			if !ok {
				var err error
				if value, ok, err = d.field(ctx, one); err != nil {
					return dismissed, nil
				}
			}
			if ok {
				values[one.Name] = value
			}
		}
		for _, one := range f {
			if value, ok := values[one.Name]; ok {
				d.Print("%s", terminal.Indent(one.Label()+": "+terminal.OneLine(string(value), 200)))
			}
		}
		text, err := d.Choose(ctx, "Send this? [Y]es, [n]o, [a]gain: ", "y", "yes", "n", "no", "a", "again")
		if err != nil {
			return dismissed, nil
		}
		switch text[0] {
		case 'y':
			return accept(f, values), nil
		case 'n':
			return declined, nil
		}
		given = nil
	}
}

// field asks for a value until it is valid. ok is false if the user left out an optional value.
func (d *questioner) field(ctx context.Context, one *form.Field) (value json.RawMessage, ok bool, err error) {
	prompt := one.Label()
	if about := one.Describe(); about != "" {
		prompt += " (" + about + ")"
	}
	for {
		text, err := d.Line(ctx, strings.TrimSuffix(terminal.Indent(prompt+":"), "\n")+" ")
		if err != nil {
			return nil, false, err
		}
		if strings.TrimSpace(text) == "" {
			if value, ok := one.ByDefault(); ok {
				return value, true, nil
			}
			if !one.Required {
				return nil, false, nil
			}
			d.Print("a value is required\n")
			continue
		}
		value, err := one.Read(text)
		if err == nil {
			return value, true, nil
		}
		d.Print("%s\n", terminal.Clean(err.Error()))
	}
}

// visit prints a URL and asks whether the user agrees to visit it. It does not open the URL.
func (d *questioner) visit(ctx context.Context, u *url.URL) (json.RawMessage, error) {
	p := terminal.PaletteFor(d.Out)
	d.Print("%s\n", terminal.Clean(u.String()))
	d.Print("The server wants you to open this page of %s in a browser. This command does not open it.\n", p.Warn(terminal.OneLine(u.Hostname(), 200)))
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > 0x7f }) || strings.Contains(u.Hostname(), "xn--") {
		d.Print("%s the host name contains international characters (xn-- encodes them); it may imitate another host name.\n", p.Bad("warning:"))
	}
	text, err := d.Choose(ctx, "Do you agree to open it, or have you opened it? [N]o, [y]es: ", "n", "no", "y", "yes")
	switch {
	case err != nil:
		return dismissed, nil
	case text[0] == 'y':
		return accepted, nil
	}
	return declined, nil
}

// sample prints a sampling request and reads the response from the user.
func (d *questioner) sample(ctx context.Context, who string, ask sampling) (json.RawMessage, error) {
	d.Print("%s asks your model; answer in its place:\n", terminal.PaletteFor(d.Out).Bold(terminal.OneLine(who, 80)))
	d.Print("%s", ask.String())
	d.Print("(an empty line ends the response; an empty response declines)\n")
	var lines []string
	for {
		text, err := d.Line(ctx, "> ")
		if err != nil && len(lines) == 0 {
			return nil, errRejected
		}
		if err == nil && text != "" {
			lines = append(lines, text)
			continue
		}
		if len(lines) == 0 {
			return nil, errRejected
		}
		return spoken(strings.Join(lines, "\n")), nil
	}
}
