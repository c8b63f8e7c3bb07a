package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"time"
)

// Service performs logins at a gateway, which may run in another process. Client implements it.
type Service interface {
	Begin(ctx context.Context, w Request) (Started, error)
	Finish(ctx context.Context, a Answer) error
	Logout(ctx context.Context, w Request) error
}

// ByBrowser logs in with a browser on this machine, which is redirected to the given local port; 0 = any. It calls show
// with the URL of the page that the user must open, and blocks until the login has ended or ctx ends. If the browser is
// not redirected in time, it returns ErrNotBack.
func ByBrowser(ctx context.Context, at Service, w Request, port uint16, show func(page string)) error {
	back, err := ListenCallback(port)
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	defer back.Close()
	w.Redirect = back.URL
	begun, err := at.Begin(ctx, w)
	if err != nil {
		return err
	}
	back.Expect(begun.State)
	show(begun.URL)
	query, err := back.Wait(ctx)
	if err != nil {
		return err
	}
	return at.Finish(ctx, begun.AnswerOf(query))
}

// AnswerOf returns the result of the login with the parameters of the browser's redirect.
func (s *Started) AnswerOf(query url.Values) Answer {
	return Answer{
		Login: s.Login, State: query.Get("state"), Code: query.Get("code"), Issuer: query.Get("iss"), Error: query.Get("error"), Detail: query.Get("error_description"),
	}
}

// openTime is how long OpenPage waits for the failure of the program that opens the browser.
const openTime = time.Second

// OpenPage opens an HTTP or HTTPS URL in the user's browser. It blocks until the program that opens the browser has ended, but at
// most for openTime or until ctx ends, and returns an error if the program has failed by then. The URL comes from a server and is not
// passed to a shell.
func OpenPage(ctx context.Context, address string) error {
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
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	case <-timer.C: // the program may be the browser itself and keep running
	case <-ctx.Done():
	}
	return nil
}
