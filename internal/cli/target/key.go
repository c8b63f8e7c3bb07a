package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
)

// keyVariable is the environment variable with the API key, used if --key-file is missing.
const keyVariable = "GOBLIN_KEY"

// maxKeyBytes is the maximum length of a credential. It exceeds that of our keys, because a proxy in front of the
// gateway may require other credentials.
const maxKeyBytes = 8 << 10

// KeyFlag selects the API key that a command sends to the gateway.
type KeyFlag struct {
	file  string // file with the key; "" = use $GOBLIN_KEY
	plain bool   // the key may be sent unencrypted to another machine
}

// AddFlags adds the flags --key-file and --plain-http to a command.
func (f *KeyFlag) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "key-file", "", "file with the API key for the gateway (default: the key in $"+keyVariable+")")
	cmd.Flags().BoolVar(&f.plain, "plain-http", false, "allow sending the key unencrypted to another machine (http://)")
}

// Given reports whether one of the flags is set.
func (f *KeyFlag) Given() bool { return f.file != "" || f.plain }

// ForGateway returns the key to send to the gateway at an address, or "" if there is none.
func (f *KeyFlag) ForGateway(at *url.URL, getenv func(string) string, errOut io.Writer) (string, error) {
	key, from, err := f.Read(getenv, errOut)
	if err != nil || key == "" {
		return "", err
	}
	return key, f.CheckTransport(from, at)
}

// CheckTransport returns an error if the key would be sent unencrypted to another machine, because it could be
// intercepted on the way. A name other than localhost counts as another machine even if it resolves to a loopback
// address, because that may change. from names the key's origin.
func (f *KeyFlag) CheckTransport(from string, at *url.URL) error {
	if f.plain || at.Scheme == "https" || client.IsLoopback(at.Hostname()) {
		return nil
	}
	return command.UsageError("use an https:// URL if the gateway has TLS; in a trusted network, add --plain-http",
		"%s: the key would be sent unencrypted to http://%s", from, terminal.Clean(at.Host))
}

// Read returns the key and its origin, or "" if there is none. Errors contain no part of the key.
func (f *KeyFlag) Read(getenv func(string) string, errOut io.Writer) (key, from string, err error) {
	from, key = "$"+keyVariable, getenv(keyVariable)
	if f.file != "" {
		from = "--key-file " + terminal.Clean(f.file)
		if key, err = readKey(f.file, errOut); err != nil {
			return "", "", command.Fail(command.ExitUsage, fmt.Errorf("%s: %w", from, err), "pass a file that contains only the key, as goblin-actor key new prints it")
		}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "" && f.file == "":
		return "", "", nil
	case key == "":
		return "", "", command.UsageError("create the file with goblin-actor key new NAME >FILE", "%s: the file is empty", from)
	case auth.LooksLikeKey(key) && !auth.IsKey(key):
		return "", "", command.UsageError("copy the whole key: gba_ and 49 characters", "%s: the key is truncated or mistyped", from)
	case len(key) > maxKeyBytes, strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", "", command.UsageError("use the key as goblin-actor key new prints it", "%s: not a valid key: a key has at most %d printable ASCII characters and no spaces", from, maxKeyBytes)
	}
	return key, from, nil
}

// readKey reads a file with one key and warns if other users can read it.
func readKey(path string, errOut io.Writer) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err
		}
		return "", err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(errOut, "%s other users can read %s; run chmod 600 %s\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(path), terminal.Clean(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	return string(bytes.TrimSpace(data)), err
}
