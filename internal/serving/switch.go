package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// Switch performs the actions Enable and Disable: it edits the configuration file as the commands of these names do, and
// reloads it. The errors wrap status.ErrNotEdited if the file cannot be changed, status.ErrNotThere if it does not have the
// server, status.ErrAlready if there is nothing to change, and those of Request. The audit log records the result.
func (r *Reloader) Switch(ctx context.Context, a status.Action) error {
	record := func(err error) error {
		r.g.RecordAct(string(a.Verb), a.Server, a.Tool, err)
		return err
	}
	began, err := r.run(ctx, func(ctx context.Context) error { return record(r.switchNow(ctx, a)) })
	switch {
	case !began:
		return record(fmt.Errorf("%w, because the gateway is busy with a reload (%w); try again", status.ErrNotEdited, err))
	case err != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("the gateway has not finished the reload (%w); look at the status before you repeat the action", err)
	}
	return err
}

// switchNow edits the file and reloads it. It reloads an unchanged file, too: the gateway may have rejected it before.
func (r *Reloader) switchNow(ctx context.Context, a status.Action) error {
	if r.cfg.Path == "" {
		return fmt.Errorf("%w: this gateway was started without a configuration file; create one, and start it with goblin-actor serve --config FILE", status.ErrNotEdited)
	}
	file, err := config.OpenFile(r.cfg.Path, config.MaxFileBytes)
	if err != nil {
		return notEdited(err)
	}
	if !file.Exists() {
		return fmt.Errorf("%w: %s does not exist any more", status.ErrNotEdited, file.Path)
	}
	off, what := a.Verb == status.Disable, fmt.Sprintf("server %q", a.Server)
	var text string
	if a.Tool != "" {
		what = fmt.Sprintf("tool %q of server %q", a.Tool, a.Server)
		text, err = config.SetToolDisabled(file.Path, file.Text, a.Server, a.Tool, off)
	} else {
		text, err = config.SetDisabled(file.Path, file.Text, a.Server, off)
	}
	same := errors.Is(err, config.ErrSame)
	switch {
	case same:
	case errors.Is(err, config.ErrNoServer):
		return fmt.Errorf("%s: %w: %w", file.Path, status.ErrNotThere, err)
	case err != nil:
		return notEdited(fmt.Errorf("%s: %w", file.Path, err))
	default:
		if _, err := file.Replace(text, false); err != nil {
			return notEdited(err)
		}
	}
	if err := r.reload(ctx); err != nil {
		return fmt.Errorf("%s says that %s is %sd, but: %w", file.Path, what, a.Verb, err)
	}
	if same {
		return fmt.Errorf("%s is %w %sd", what, status.ErrAlready, a.Verb)
	}
	return nil
}

// notEdited returns err as a reason why the file cannot be changed, with what the user can do.
func notEdited(err error) error {
	if e, ok := errors.AsType[*config.FileError](err); ok {
		return fmt.Errorf("%w: %w; %s", status.ErrNotEdited, err, cmp.Or(e.Hint, "edit it by hand, or change it where it comes from"))
	}
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
		if invalid.After {
			return fmt.Errorf("%w, because it would become invalid: %w", status.ErrNotEdited, err)
		}
		return fmt.Errorf("%w, because it is invalid; correct it first: %w", status.ErrNotEdited, err)
	}
	return fmt.Errorf("%w: %w", status.ErrNotEdited, err) // an ErrByHand says what to do
}
