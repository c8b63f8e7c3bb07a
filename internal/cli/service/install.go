package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
)

type installOptions struct {
	name, config string
	print        bool
}

// newInstall returns the service install command.
func newInstall() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install and start the service",
		Long: `Install the gateway as a service of the user, and start it. It starts again after a failure, and with the machine (on macOS: when you
log in).

The service gets the PATH of your login shell, so that it finds programs such as npx and uvx. It does not get the other variables of this
shell, except those for the language, proxies, certificates and XDG directories: put secrets into files or the keyring, and refer to them in the configuration
as ${file:PATH} or ${keyring:NAME}. On Windows, it gets the variables of your user account instead. The configuration is checked in the
environment of the service before anything is written.`,
		Example: `  goblin-actor service install
  goblin-actor service install --name work --config work.yaml
  goblin-actor service install --print`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return install(cmd, o) },
	}
	nameFlag(cmd, &o.name)
	cmd.Flags().StringVar(&o.config, "config", "", configfile.FlagHelp)
	cmd.Flags().BoolVar(&o.print, "print", false, "print the service's definition without passwords of proxies, and install nothing")
	return cmd
}

func install(cmd *cobra.Command, o installOptions) error {
	if err := checkName(o.name); err != nil {
		return err
	}
	if os.Getuid() == 0 && os.Getenv("SUDO_USER") != "" {
		return command.UsageError("run the command as yourself, without sudo", "the service would belong to root instead of %s", terminal.OneLine(os.Getenv("SUDO_USER"), 60))
	}
	m, err := thisManager()
	if err != nil {
		return err
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	source, err := configuration(o.config)
	if err != nil {
		return err
	}
	log, err := m.logFile(o.name)
	if err != nil {
		return err
	}
	path, remark := loginPath(ctx)
	d, err := defineService(o.name, source, path, log)
	if err != nil {
		return err
	}
	if o.print {
		shown, passwords := d.masked()
		for _, key := range passwords {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: the password in %s is masked; an installed definition contains it\n", key)
		}
		_, err := io.WriteString(cmd.OutOrStdout(), m.render(shown))
		return err
	}
	file, err := checkInstall(ctx, cmd.ErrOrStderr(), m, d, source)
	if err != nil {
		return err
	}
	return installed(ctx, cmd, m, d, file, remark)
}

// checkInstall returns the path for the definition. It returns an error if the service cannot be installed or would not
// work.
func checkInstall(ctx context.Context, errOut io.Writer, m manager, d definition, source string) (file string, err error) {
	if err := m.available(ctx); err != nil {
		return "", err
	}
	if file, err = m.file(d.name); err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); err == nil {
		return "", command.Fail(command.ExitFailed, fmt.Errorf("a service named %s is already installed: %s", d.name, file),
			"to replace it, run \"goblin-actor service uninstall --name "+d.name+"\" first; for a second service, choose another --name")
	}
	if err := checkConfiguration(ctx, errOut, d, source); err != nil {
		return "", err
	}
	return file, checkPorts(source)
}

// installed installs and starts the service. remark is about the service's PATH, or "".
func installed(ctx context.Context, cmd *cobra.Command, m manager, d definition, file, remark string) error {
	if err := write(file, m.render(d)); err != nil {
		return err
	}
	remarks, err := m.enable(ctx, d, file)
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	_, passwords := d.masked()
	for _, key := range passwords {
		remarks = append(remarks, "this file, which only you can read, contains the password in "+key)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "installed the %s %s: %s\n", m.kind(), d.name, terminal.Clean(file))
	for _, text := range append(remarks, remark) {
		if text != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", terminal.Clean(text))
		}
	}
	return startService(ctx, out, m, d.name, file)
}

// write creates the file of a definition, which only the user can read.
func write(file, text string) error {
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.WriteString(text)
			if err = errors.Join(err, f.Close()); err != nil {
				err = errors.Join(err, os.Remove(file))
			}
		}
	}
	if err == nil {
		return nil
	}
	hint := ""
	if errors.Is(err, syscall.EROFS) || errors.Is(err, os.ErrPermission) {
		hint = "make " + filepath.Dir(file) + " writable; otherwise " + manualHint
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("write the service's definition: %w", err), hint)
}
