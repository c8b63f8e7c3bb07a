package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol/namespace"
)

// NewKeyCommand returns the key command. A running gateway applies changes to the key file at once.
func NewKeyCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "key",
		Short: "Create, list or revoke API keys",
		Long: `Create, list or revoke API keys. The file named by auth.keys in the configuration contains hashes of the keys, not the
keys themselves. A running gateway applies changes at once.`,
	})
	cmd.AddCommand(newKeyNew(), newKeyList(), newKeyRevoke())
	return cmd
}

// keyFlags are the flags that select the key file.
type keyFlags struct{ config, file string }

func (f *keyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", configfile.FlagHelp)
	cmd.Flags().StringVar(&f.file, "file", "", "key file (default: auth.keys of the configuration)")
}

// keyFile is the selected key file.
type keyFile struct {
	path    string
	cfg     *config.Config // nil = the key file was given with --file, or there is no configuration
	lacking bool           // the configuration does not set auth.keys, or there is no configuration
}

// find returns the key file. The configuration may have errors; for example, the key file that it names may not exist
// yet.
func (f *keyFlags) find() (keyFile, error) {
	if f.file != "" {
		return keyFile{path: f.file}, nil
	}
	path, ok := config.Find(f.config, os.Getenv)
	if !ok {
		return keyFile{path: "keys.yaml", lacking: true}, nil
	}
	cfg, report := config.Peek(path)
	if cfg == nil {
		return keyFile{}, command.Fail(command.ExitConfig, report.Err(), "")
	}
	if !cfg.Auth.On() {
		return keyFile{filepath.Join(filepath.Dir(path), "keys.yaml"), cfg, true}, nil
	}
	return keyFile{cfg.Beside(cfg.Auth.Keys), cfg, false}, nil
}

func newKeyNew() *cobra.Command {
	var of keyFlags
	var k auth.Key
	var expires string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an API key and print it once",
		Long: `Create an API key called NAME and print it to stdout. The key cannot be displayed again: only its hash is stored. Clients send
it in the header Authorization: Bearer KEY; goblin-actor commands read it from --key-file or $GOBLIN_KEY.

--expires accepts a duration such as 90d, 12h, 2w or 1y, or a date such as 2030-01-31.`,
		Example: "  goblin-actor key new ci --role reader --expires 90d >ci.key\n  goblin-actor list tools --key-file ci.key",
		Args:    command.Args(1, 1, "a name for the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.Name, k.Created = args[0], time.Now().UTC().Truncate(time.Second)
			if !auth.IsName(k.Name) || auth.LooksLikeKey(k.Name) {
				return command.UsageError(`use at most 64 characters: ASCII letters and digits and, after the first one, also ".", "_" and "-"; the name must not look like a key (gba_…)`, "invalid key name %q", shownWord(args[0]))
			}
			var err error
			if expires != "" {
				if k.Expires, err = expiry(expires, k.Created); err != nil {
					return command.UsageError("use a value such as 90d, 12h, 2w, 1y or 2030-01-31", "--expires: %w", err)
				}
			}
			return newKey(cmd, &of, k)
		},
	}
	cmd.Flags().StringArrayVar(&k.Roles, "role", nil, "give the key this role, defined in policy.roles (repeatable)")
	cmd.Flags().StringArrayVar(&k.Projects, "project", nil, "restrict the key to this project (repeatable)")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key expires: a duration or a date (default: never)")
	of.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("role", completeRoles(&of.config)) // cannot fail: the flag exists
	_ = cmd.RegisterFlagCompletionFunc("project", completeProjects(&of.config))
	return cmd
}

func newKey(cmd *cobra.Command, of *keyFlags, k auth.Key) error {
	file, err := of.find()
	if err != nil {
		return err
	}
	for _, names := range [][]string{k.Roles, k.Projects} {
		for i, name := range names {
			if auth.IsName(name) {
				names[i] = namespace.Slug(name) // the canonical form
			}
		}
	}
	if err := checkKey(k, file.cfg); err != nil {
		return err
	}
	text, sum := auth.NewKey()
	k.Sum = sum
	switch err := auth.Add(file.path, k); {
	case errors.Is(err, auth.ErrKeyExists):
		return command.Fail(command.ExitFailed, fmt.Errorf("%s already has a key %s", terminal.Clean(file.path), k.Name),
			"choose another name, or revoke the key first: goblin-actor key revoke "+k.Name)
	case err != nil:
		return keyFileError(err)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	errOut := cmd.ErrOrStderr()
	if terminal.IsTerminal(cmd.OutOrStdout()) {
		fmt.Fprintln(errOut, "store the key now; it cannot be displayed again")
	}
	if file.lacking {
		fmt.Fprintf(errOut, "wrote %s; to require keys from clients, add to the configuration:\n\n  auth: {keys: keys.yaml}\n\n", terminal.Clean(file.path))
	}
	switch {
	case file.cfg == nil:
	case len(k.Roles) > 0 && !file.cfg.Policy.Present:
		fmt.Fprintln(errOut, "the configuration has no policy section, so roles have no effect")
	case file.cfg.Policy.Present && file.cfg.Policy.Mode != "report" && policy.Compile(file.cfg.Policy).Rights(k.Roles, k.Name, false) == policy.NoRoles:
		fmt.Fprintf(errOut, "key %s has none of the roles in policy.roles, so it sees nothing; add it to policy.bind, or revoke it and create it again with --role\n", k.Name)
	}
	return nil
}

// checkKey returns an error if a role or project has an invalid name or is not defined in cfg. If cfg is nil, it checks
// only that the names are valid. If cfg has no policy, the same applies to roles.
func checkKey(k auth.Key, cfg *config.Config) error {
	roles, projects := []string{}, []string{}
	if cfg != nil {
		for _, r := range cfg.Policy.Roles {
			roles = append(roles, r.Name)
		}
		for _, p := range cfg.Projects {
			projects = append(projects, p.Name)
		}
	}
	for _, c := range []struct {
		what, where  string
		asked, known []string
		skip         bool
	}{
		{"role", "policy.roles", k.Roles, roles, cfg == nil || !cfg.Policy.Present},
		{"project", "projects", k.Projects, projects, cfg == nil},
	} {
		for _, name := range c.asked {
			switch {
			case !auth.IsName(name):
				return command.UsageError(`use at most 64 characters: ASCII letters and digits and, after the first one, also ".", "_" and "-"`, "invalid %s name %q", c.what, shownWord(name))
			case !c.skip && !slices.Contains(c.known, name):
				hint := "define it under " + c.where + " in the configuration"
				if near := config.Nearest(name, c.known); near != "" {
					hint = "did you mean " + near + "?"
				}
				return command.UsageError(hint, "unknown %s %q", c.what, shownWord(name))
			}
		}
	}
	return nil
}

// expiry parses a duration such as 90d, 12h, 2w or 1y, or a date or RFC 3339 time in the future.
func expiry(text string, now time.Time) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return later(day, now)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return later(at.UTC(), now)
	}
	if d, ok := longDuration(text); ok {
		return now.Add(d), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).Truncate(time.Second), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a date nor a duration", shownWord(text))
}

// longDuration parses a whole positive number of days, weeks or years of 365 days, such as 90d, 2w or 1y.
func longDuration(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, unit)
		n, err := strconv.Atoi(number)
		if ok && err == nil && strconv.Itoa(n) == number && n > 0 && n <= 36500 && time.Duration(n)*length/length == time.Duration(n) {
			return time.Duration(n) * length, true
		}
	}
	return 0, false
}

func later(at, now time.Time) (time.Time, error) {
	if !at.After(now) {
		return at, errors.New("the time is in the past (a date means 00:00 UTC)")
	}
	return at, nil
}

func newKeyList() *cobra.Command {
	var of keyFlags
	var out output.Format
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API keys with roles, projects and expiry",
		Long: `List API keys with their roles, projects and expiry. A role assigned by policy.bind in the configuration is marked (bind). With
-o json, such roles are in "bound" and the roles of the key file in "roles".`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := of.find()
			if err != nil {
				return err
			}
			keys, err := auth.Load(file.path)
			if err != nil && !(of.file == "" && errors.Is(err, fs.ErrNotExist)) {
				return keyFileError(err)
			}
			var rules *policy.Policy
			if file.cfg != nil && file.cfg.Policy.Present {
				rules = policy.Compile(file.cfg.Policy)
			}
			return printKeys(cmd.OutOrStdout(), out, keys, rules, time.Now())
		},
	}
	of.add(cmd)
	out.AddFlag(cmd)
	return cmd
}

// shownKey is a key in the output of list.
type shownKey struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Roles    []string `json:"roles"`
	Bound    []string `json:"bound,omitempty"` // roles from policy.bind, without those in Roles
	Projects []string `json:"projects,omitempty"`
	Created  string   `json:"created,omitempty"`
	Expires  string   `json:"expires,omitempty"`
	Sum      string   `json:"sha256"` // the first four bytes of the hash, in hexadecimal
}

func printKeys(w io.Writer, out output.Format, keys []auth.Key, rules *policy.Policy, now time.Time) error {
	shown := make([]shownKey, len(keys))
	rows := make([][]string, len(keys))
	for i, k := range keys {
		s := shownKey{Name: k.Name, State: "valid", Roles: k.Roles, Projects: k.Projects, Sum: fmt.Sprintf("%x…", k.Sum[:4])}
		if s.Roles == nil {
			s.Roles = []string{}
		}
		if k.Expired(now) {
			s.State = "expired"
		}
		if !k.Created.IsZero() {
			s.Created = k.Created.Format(time.RFC3339)
		}
		if !k.Expires.IsZero() {
			s.Expires = k.Expires.Format(time.RFC3339)
		}
		roles := slices.Clone(s.Roles)
		for _, role := range rules.Bound(k.Name) {
			if !slices.Contains(roles, role) {
				s.Bound = append(s.Bound, role)
				roles = append(roles, role+" (bind)")
			}
		}
		shown[i] = s
		rows[i] = []string{s.Name, s.State, strings.Join(roles, ", "), strings.Join(s.Projects, ", "), s.Created, s.Expires}
	}
	if out != output.Table {
		raw, err := json.Marshal(shown)
		if err != nil {
			return err
		}
		return out.Write(w, raw)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no keys")
		return err
	}
	return output.PrintTable(w, []string{"NAME", "STATE", "ROLES", "PROJECTS", "CREATED", "EXPIRES"}, rows)
}

func newKeyRevoke() *cobra.Command {
	var of keyFlags
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke an API key; its open sessions and streams end at once",
		Args:  command.Args(1, 1, "a key name"),

		ValidArgsFunction: completeKeys(&of),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := of.find()
			if err != nil {
				return err
			}
			switch err := auth.Revoke(file.path, args[0]); {
			case errors.Is(err, auth.ErrNoKey):
				return command.Fail(command.ExitFailed, fmt.Errorf("%s has no key %q", terminal.Clean(file.path), shownWord(args[0])), "run goblin-actor key list to see the keys")
			case err != nil:
				return keyFileError(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %s in %s\n", args[0], terminal.Clean(file.path))
			return err
		},
	}
	of.add(cmd)
	return cmd
}

// shownWord returns an argument for an error message. It redacts API keys and other secrets.
func shownWord(word string) string {
	if auth.LooksLikeKey(word) {
		return "[redacted]"
	}
	return secret.Argument(word)
}

// keyFileError adds the hint of an *auth.FileError to err.
func keyFileError(err error) error {
	if file, ok := errors.AsType[*auth.FileError](err); ok {
		return command.Fail(command.ExitFailed, err, file.Hint)
	}
	return err
}
