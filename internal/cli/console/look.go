package console

import (
	"cmp"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/tui"
)

// Look holds the flags that say how the console looks.
type Look struct {
	skin  string
	ascii bool
	calm  bool

	noMouse bool
}

// Flags adds the flags to a command.
func (l *Look) Flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&l.skin, "skin", "", "color scheme: "+strings.Join(tui.Palettes(), ", ")+", a YAML file, or the name of one in skins/ of the user's config directory (default: $GOBLIN_SKIN)")
	flags.BoolVar(&l.ascii, "ascii", false, "draw the terminal UI with ASCII characters only; the default, except on Windows, if the first of LC_ALL, LC_CTYPE and LANG that is set does not name UTF-8")
	flags.BoolVar(&l.calm, "calm", false, "update the terminal UI once a second, without arrows at changed numbers")
	flags.BoolVar(&l.noMouse, "no-mouse", false, "leave the mouse to the terminal, which selects text with it")
}

// Used returns the name of a flag of Look that was given, or "".
func Used(cmd *cobra.Command) string {
	for _, name := range []string{"skin", "ascii", "calm", "no-mouse"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// set sets in o what the flags say. Without the flag ascii, the locale decides, except on Windows.
func (l *Look) set(o *tui.Options, cmd *cobra.Command) error {
	o.ASCII, o.Calm, o.NoMouse = l.ascii, l.calm, l.noMouse
	if !cmd.Flags().Changed("ascii") {
		o.ASCII = runtime.GOOS != "windows" && !utf8Locale(os.Getenv)
	}
	return setSkin(o, l.skin, cmd.ErrOrStderr())
}

// utf8Locale reports whether the locale's encoding is UTF-8. The first variable that is set decides (POSIX, 8.2).
func utf8Locale(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
