package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"goblin-actor/internal/gatetest"
)

// The scenarios auth/*: the suite runs an authorization server and a protected server. The client logs in like a user:
// with `goblin-actor login` before the gateway starts, and through the page of a loginUrl when a call is refused.

// suiteDocument is the URL of the client id metadata document that the suite expects. It is never fetched.
const suiteDocument = "https://conformance-test.local/client-metadata.json"

// loginsAtMost limits how often a driver logs in before it gives up on a scenario or a call.
const loginsAtMost = 3

// authServer returns the gateway's configuration of the scenario's server, with the credentials that the scenario provides. person reports
// whether a user logs in.
func authServer(scenario, address string) (server map[string]any, person bool) {
	var given struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		Issuer   string
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) // many scenarios provide none
	auth := map[string]any{"type": "oauth"}
	switch {
	case strings.HasPrefix(scenario, "auth/client-credentials"):
		auth["type"] = "client"
		fallthrough
	case given.ClientID != "":
		auth["clientId"], auth["clientSecret"] = given.ClientID, given.Secret
		if given.Issuer != "" {
			auth["issuer"] = given.Issuer
		}
	case scenario == "auth/basic-cimd":
		auth["clientMetadataUrl"] = suiteDocument
	}
	return map[string]any{"url": address, "auth": auth}, auth["type"] == "oauth"
}

// driveAuth runs a login scenario. A refused login may be the expected result; the suite decides from the requests it received.
func driveAuth(ctx context.Context, scenario, address string) error {
	dir, err := os.MkdirTemp("", "gc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, person := authServer(scenario, address)
	config, err := writeConfig(dir, server)
	if err != nil {
		return err
	}
	binary := os.Getenv("GOBLIN_CONFORMANCE_BINARY")
	if !person {
		return listedOrNot(playAuth(ctx, binary, dir, config))
	}
	for range loginsAtMost {
		if err := logIn(ctx, binary, dir, config); err != nil {
			fmt.Fprintln(os.Stderr, "login:", err)
			return listedOrNot(playAuth(ctx, binary, dir, config))
		}
		if err := playAuth(ctx, binary, dir, config); !errors.Is(err, errNothingListed) {
			return err
		}
	}
	return nil // no login gave access, and a user would stop trying
}

// errNothingListed is returned if the login does not give access to the server.
var errNothingListed = errors.New("logged in, but no tools are listed")

// listedOrNot returns nil for errNothingListed, because the suite judges refused logins. It returns other errors unchanged.
func listedOrNot(err error) error {
	if errors.Is(err, errNothingListed) {
		return nil
	}
	return err
}

// playAuth lists the tools and calls them. It returns errNothingListed if there are none. A failed call is only printed.
func playAuth(ctx context.Context, binary, dir, config string) error {
	d := &driver{modern: os.Getenv(driverEra) == "modern", can: driverCan}
	return d.play(ctx, binary, dir, config, func(ctx context.Context, d *driver) error {
		if err := d.reached(ctx); err != nil {
			return err
		}
		tools, err := d.list(ctx)
		if err != nil {
			return err
		}
		if len(tools) == 0 {
			return errNothingListed
		}
		for _, name := range slices.Sorted(maps.Keys(tools)) {
			if err := d.callLoggingIn(ctx, name); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		return nil
	})
}

// logIn runs `goblin-actor login` and opens its URL like a browser.
func logIn(ctx context.Context, binary, dir, config string) error {
	cmd := exec.CommandContext(ctx, binary, "login", "behind", "--config", config, "--no-browser")
	cmd.Env, cmd.Stderr = gatetest.Environment(dir), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "http") {
			back, err := approve(ctx, line)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			fmt.Fprintln(in, back)
			_ = in.Close()
		}
	}
	return cmd.Wait()
}

// approve opens the page of an authorization server, which approves every login, and returns the redirect URL.
func approve(ctx context.Context, address string) (string, error) {
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := browser.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if to := resp.Header.Get("Location"); to != "" {
		return to, nil
	}
	return "", fmt.Errorf("the login page answered %s", resp.Status)
}

var (
	loginURL = regexp.MustCompile(`"loginUrl":"([^"]+)"`)
	button   = regexp.MustCompile(`name=token value="([^"]+)"`)
)

// callLoggingIn calls a tool and logs in when the gateway requires it.
func (d *driver) callLoggingIn(ctx context.Context, tool string) error {
	for range loginsAtMost {
		_, err := d.ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": map[string]any{}})
		if err == nil {
			return nil
		}
		m := loginURL.FindStringSubmatch(err.Error())
		if m == nil {
			return err
		}
		if err := press(ctx, m[1]); err != nil {
			return err
		}
	}
	return errors.New("too many logins")
}

// press opens the gateway's page and submits its form.
func press(ctx context.Context, address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := http.Client{Jar: jar}
	page := func(method, body string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := browser.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	text, err := page(http.MethodGet, "")
	if err != nil {
		return err
	}
	m := button.FindStringSubmatch(text)
	if m == nil {
		return errors.New("the page has no button")
	}
	text, err = page(http.MethodPost, url.Values{"token": {m[1]}}.Encode())
	if err == nil && !strings.Contains(text, "You are logged in") {
		err = fmt.Errorf("the login ended with the page %q", text)
	}
	return err
}
