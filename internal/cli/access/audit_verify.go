package access

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"goblin-actor/actors/store"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
)

// auditVerifier verifies one log, or those of a cluster's nodes. It also compares a log with a mark, which names a signed
// line that the log must contain. The mark comes from the state file or from the running gateway.
type auditVerifier struct {
	config, keyFile, stateDir string
	printKey                  bool
	without                   []string // nodes whose logs are not expected

	// The other fields are those of one log.

	path  string // path of the log; "" = several files were given as arguments
	files []string
	trust audit.Trust
	from  string // source of the key, for the output; "" = the log itself
}

func (v *auditVerifier) run(ctx context.Context, named []string, out io.Writer) error {
	logs, err := findNodeLogs(named)
	if err != nil {
		return err
	}
	if logs != nil {
		return v.runNodes(ctx, logs, out)
	}
	if err := v.find(named); err != nil {
		return err
	}
	if v.path != "" {
		v.trust.Mark, v.from = v.remember(ctx).of(v.path)
	}
	if err := v.readKey(); err != nil {
		return err
	}
	if len(v.files) == 0 && !v.printKey {
		return v.absent()
	}
	if v.printKey {
		return v.showKey(out)
	}
	report, err := audit.Verify(v.files, v.trust)
	if err != nil {
		return noAudit(v.path, err)
	}
	return v.print(out, &report)
}

// find sets the files to verify: several named ones as they are, otherwise the log with its rotated files.
func (v *auditVerifier) find(named []string) error {
	if len(named) > 1 {
		v.files = named
		return nil
	}
	var err error
	if v.path, err = auditPath(append(named, "")[0], v.config); err != nil {
		return err
	}
	v.files = audit.Files(v.path)
	return nil
}

// absent returns the error for a log without files. If a mark shows that the log had lines, it was deleted.
func (v *auditVerifier) absent() error {
	if m := v.trust.Mark; m != nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s is missing, but the gateway has recorded line n=%d", secret.Argument(v.path), m.N), "the log has been deleted; restore it from a copy")
	}
	_, err := os.Lstat(v.path)
	return noAudit(v.path, err)
}

// remembered are the newest signed lines of logs that are known outside of the logs.
type remembered struct {
	state   *audit.Mark   // in the state file; nil = none
	running *status.Audit // of the running gateway; nil = none
}

// remember reads the state file and asks the running gateway.
func (v *auditVerifier) remember(ctx context.Context) (r remembered) {
	quiet := slog.New(slog.DiscardHandler)
	if state := serving.StatePath(v.stateDir, quiet); state != "" {
		if m, err := store.AuditMark(state); err == nil && m.N > 0 {
			r.state = &m
		}
	}
	r.running = v.running(ctx)
	return r
}

// of returns the mark of the log at path and its source. It is the one in the state file, unless the mark of the running
// gateway is newer and has the same key. It returns nil if neither knows the log.
func (r remembered) of(path string) (m *audit.Mark, from string) {
	if r.state != nil && sameLog(r.state.File, path) {
		m, from = r.state, "the state file"
	}
	running := r.running
	if running == nil || !sameLog(running.File, path) {
		return m, from
	}
	if m == nil || m.N < running.Signed && m.Key == running.Key {
		m, from = &audit.Mark{N: running.Signed, Key: running.Key, File: running.File}, "the running gateway"
	}
	return m, from
}

// running returns the audit status of the running gateway. It returns nil if none runs or answers, or if it has no audit
// log.
func (*auditVerifier) running(ctx context.Context) *status.Audit {
	source, err := target.DialAdmin("")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	s, err := source.Status(ctx)
	if err != nil {
		return nil
	}
	return s.Audit
}

// readKey sets the public key of the signatures: the one in --public-key, otherwise the one of the mark, otherwise none.
func (v *auditVerifier) readKey() error {
	if v.keyFile == "" {
		if v.trust.Mark != nil {
			v.trust.Key, _ = audit.ParseKey(v.trust.Mark.Key) // if it is missing, the key in the log is used
		}
		if v.trust.Key == nil {
			v.from = ""
		}
		return nil
	}
	keys, err := readPublicKeys(v.keyFile)
	if err != nil {
		return err
	}
	node := ""
	if len(v.files) > 0 {
		head, _ := audit.Head(v.files[0]) // Verify reports an unreadable file
		node = head.Node
	}
	if v.trust.Key = keyOf(keys, node); v.trust.Key == nil {
		return fmt.Errorf("%s has no public key of node %q", secret.Argument(v.keyFile), node)
	}
	v.from = v.keyFile
	return nil
}

// readPublicKeys reads a file with one public key, or with those of several nodes, by node.
func readPublicKeys(path string) (map[string]ed25519.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New("read public key: " + secret.Text(err.Error()))
	}
	if keys, err := audit.ParseNodeKeys(string(text)); err == nil {
		return keys, nil
	}
	key, err := audit.ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("read public key %s: %w", secret.Argument(path), err)
	}
	return map[string]ed25519.PublicKey{"": key}, nil
}

// keyOf returns the key of a node, or else the one that names no node. It returns nil if there is neither.
func keyOf(keys map[string]ed25519.PublicKey, node string) ed25519.PublicKey {
	if key := keys[node]; key != nil {
		return key
	}
	return keys[""]
}

// showKey prints the known key, otherwise the key in the newest file of the log.
func (v *auditVerifier) showKey(out io.Writer) error {
	key := v.trust.Key
	if key == nil && len(v.files) == 0 {
		return v.absent()
	}
	if key == nil {
		var err error
		if key, err = keyNamedBy(v.files[len(v.files)-1]); err != nil {
			return noAudit(v.path, err)
		}
	}
	_, err := fmt.Fprintln(out, audit.KeyText(key))
	return err
}

// keyNamedBy returns the public key that a log file contains.
func keyNamedBy(path string) (ed25519.PublicKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return audit.KeyOf(f)
}

// print prints the report. It returns an error if the log is invalid.
func (v *auditVerifier) print(out io.Writer, r *audit.Report) error {
	p := terminal.PaletteFor(out)
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(out, "%s %s\n", p.Warn("note:"), terminal.OneLine(note.String(), 0)); err != nil {
			return err
		}
	}
	if r.Fault != nil {
		hint := "no line of the log is verified"
		if r.Signed > 0 { // an attacker may have changed the lines after the last signature and adapted their hashes
			hint = fmt.Sprintf("the lines up to the last valid signature (n=%d) are unchanged", r.Signed)
		}
		return command.Fail(command.ExitFailed, fmt.Errorf("%s", terminal.OneLine(r.Fault.String(), 0)), hint)
	}
	if _, err := fmt.Fprintf(out, "%s %s in %s, n=%d to n=%d, the last written at %s; signed with %s\n", p.Good("ok:"), terminal.Count(int(r.Lines), "line"), terminal.Count(r.Files, "file"), r.First, r.Last,
		r.LastTime.Local().Format(time.DateTime), r.Key); err != nil {
		return err
	}
	if r.Unsigned > 0 {
		if _, err := fmt.Fprintf(out, "%s the last %s not signed yet; the gateway signs every minute and when it stops\n", p.Warn("note:"), are(r.Unsigned)); err != nil {
			return err
		}
	}
	if v.from == "" {
		_, err := fmt.Fprintf(out, "%s the key is from the log itself; compare the key with your copy, or pass your copy with --public-key\n", p.Warn("note:"))
		return err
	}
	_, err := fmt.Fprintf(out, "the key is from %s\n", v.from)
	return err
}

func are(n uint64) string {
	if n == 1 {
		return "line is"
	}
	return fmt.Sprintf("%d lines are", n)
}
