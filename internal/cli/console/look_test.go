package console

import (
	"testing"

	"github.com/spf13/cobra"

	"goblin-actor/tui"
)

// Without UTF-8 in the locale, glyphs are drawn in ASCII. The flag takes precedence.
func TestASCIIByLocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		flag             []string
		want             bool
	}{
		{"", "", "en_US.UTF-8", nil, false},
		{"", "", "C.utf8", nil, false},
		{"", "UTF-8", "C", nil, false},
		{"", "C", "en_US.UTF-8", nil, true},
		{"POSIX", "en_US.UTF-8", "en_US.UTF-8", nil, true},
		{"", "", "", nil, true},
		{"", "", "de_DE.ISO-8859-1", nil, true},
		{"", "", "ja_JP.eucJP", nil, true},
		{"", "", "ja_JP.UTF-8", nil, false}, // its terminal may draw glyphs two columns wide; that is for the user to say
		{"", "", "ja_JP.UTF-8", []string{"--ascii"}, true},
		{"C", "", "", []string{"--ascii=false"}, false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		var look Look
		cmd := &cobra.Command{}
		look.Flags(cmd)
		if err := cmd.ParseFlags(c.flag); err != nil {
			t.Fatal(err)
		}
		var o tui.Options
		if err := look.set(&o, cmd); err != nil || o.ASCII != c.want {
			t.Errorf("%+v: ASCII %v, %v", c, o.ASCII, err)
		}
	}
}
