package access

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"runtime"
)

// openBrowser opens an HTTP or HTTPS URL. The URL comes from a server and is not passed to a shell.
func openBrowser(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("the URL is not an HTTP or HTTPS URL")
	}
	program, args := "xdg-open", []string{u.String()}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", u.String()}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the program may be the browser itself and keep running
	return nil
}
