package console

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/config"
	"goblin-actor/tui"
)

// setSkin sets the skin in o to the one that the flag or $GOBLIN_SKIN names. It prints findings about the skin's file
// to w. If the file is invalid, the returned error has exit code 3.
func setSkin(o *tui.Options, flag string, w io.Writer) error {
	name := cmp.Or(flag, os.Getenv("GOBLIN_SKIN"))
	if name == "" || slices.Contains(tui.Palettes(), name) {
		o.Palette = name
		return nil
	}
	path := config.SkinPath(name, os.Getenv)
	if path == "" {
		return command.UsageError("use the path of a YAML file, or a built-in skin: "+strings.Join(tui.Palettes(), ", "), "no skin %q", name)
	}
	file := &skinFile{path: path, read: stateOf(path)}
	skin, report := config.LoadSkin(path, tui.Parts(), tui.Colors())
	configfile.PrintFindings(w, report)
	if skin == nil {
		return &command.Error{Code: command.ExitConfig} // the errors have been printed
	}
	o.Skin, o.Reread = paints(skin), file.reread
	if err := tui.CheckSkin(o.Skin); err != nil {
		return command.Fail(command.ExitConfig, fmt.Errorf("%s: %w", path, err), "set another color or bgColor for that part, or reverse: true")
	}
	return nil
}

func paints(skin config.Skin) map[string]tui.Paint {
	all := make(map[string]tui.Paint, len(skin))
	for part, paint := range skin {
		all[part] = tui.Paint(paint)
	}
	return all
}
