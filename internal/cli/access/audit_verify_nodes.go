package access

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/secret"
)

// runNodes verifies the logs of a cluster's nodes.
func (v *auditVerifier) runNodes(ctx context.Context, logs []*nodeLog, out io.Writer) error {
	var keys map[string]ed25519.PublicKey
	if v.keyFile != "" {
		var err error
		if keys, err = readPublicKeys(v.keyFile); err != nil {
			return err
		}
	}
	known := v.remember(ctx)
	list := make([]audit.NodeLog, len(logs))
	var untrusted []*nodeLog // their keys are only known from the logs
	for i, log := range logs {
		list[i] = audit.NodeLog{Name: log.path(), Files: log.files()}
		trust := &list[i].Trust
		if len(log.named) == 1 {
			trust.Mark, _ = known.of(log.path())
		}
		if log.must {
			trust.Node = log.node
		}
		switch {
		case keys != nil:
			if trust.Key = keyOf(keys, log.node); trust.Key == nil {
				return fmt.Errorf("%s has no public key of node %q", secret.Argument(v.keyFile), log.node)
			}
		case trust.Mark != nil:
			trust.Key, _ = audit.ParseKey(trust.Mark.Key) // if it is missing, the key in the log is used
		}
		if trust.Key == nil {
			untrusted = append(untrusted, log)
		}
	}
	if v.printKey {
		return printNodeKeys(out, logs, list)
	}
	report, err := audit.VerifyNodes(list, v.without)
	if err != nil {
		return noAudit("", err)
	}
	if err := printReports(out, report.Logs); err != nil {
		return err
	}
	if err := faultsOf(&report); err != nil {
		return err
	}
	if len(untrusted) > 0 {
		_, err = fmt.Fprintf(out, "%s the keys of %s are from the logs themselves; compare the keys with your copies, or pass your copies with --public-key\n",
			terminal.PaletteFor(out).Warn("note:"), terminal.OneLine(names(untrusted), 0))
	}
	return err
}

// printNodeKeys prints the public key of each log after the name of its node.
func printNodeKeys(out io.Writer, logs []*nodeLog, list []audit.NodeLog) error {
	for i, log := range logs {
		key := list[i].Trust.Key
		if key == nil {
			var err error
			if key, err = keyNamedBy(log.path()); err != nil {
				return noAudit(log.path(), err)
			}
		}
		if _, err := fmt.Fprintln(out, strings.TrimSpace(log.node+" "+audit.KeyText(key))); err != nil {
			return err
		}
	}
	return nil
}

// printReports prints the notes of each log, and a summary of each that is valid.
func printReports(out io.Writer, reports []audit.NodeReport) error {
	var text strings.Builder
	p := terminal.PaletteFor(out)
	line := func(kind, format string, values ...any) {
		fmt.Fprintf(&text, "%s %s\n", kind, terminal.OneLine(fmt.Sprintf(format, values...), 0))
	}
	for i := range reports {
		r := &reports[i]
		for _, note := range r.Notes {
			line(p.Warn("note:"), "%s", note)
		}
		if r.Fault != nil {
			continue
		}
		line(p.Good("ok:"), "%s: %s, %s in %s, n=%d to n=%d, the last written at %s; %ssigned with %s", r.Name, writerOf(r), terminal.Count(int(r.Lines), "line"),
			terminal.Count(r.Files, "file"), r.First, r.Last, r.LastTime.Local().Format(time.DateTime), quotedUpTo(r), r.Key)
		if r.Unsigned > 0 {
			line(p.Warn("note:"), "%s: the last %s not signed yet; the gateway signs every minute and when it stops", r.Name, are(r.Unsigned))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writerOf says which node wrote a log.
func writerOf(r *audit.NodeReport) string {
	if r.Node == "" {
		return "not from a cluster node"
	}
	return "node " + r.Node
}

// quotedUpTo says which part of a log other nodes have quoted.
func quotedUpTo(r *audit.NodeReport) string {
	switch {
	case r.Node == "":
		return ""
	case r.Seen == 0:
		return "not quoted by another node; "
	}
	return fmt.Sprintf("quoted by other nodes up to n=%d of %s; ", r.Seen, r.SeenTime.Local().Format(time.DateTime))
}

// faultsOf returns an error that names all faults, or nil if there are none.
func faultsOf(report *audit.ClusterReport) error {
	var faults, hints []string
	for i := range report.Logs {
		r := &report.Logs[i]
		if r.Fault == nil {
			continue
		}
		faults = append(faults, terminal.OneLine(r.Fault.String(), 0))
		hint := "no line of the log is verified"
		if r.Unchanged > 0 {
			hint = fmt.Sprintf("the lines up to n=%d are unchanged", r.Unchanged)
		}
		hints = append(hints, terminal.OneLine(r.Name, 0)+": "+hint)
	}
	for _, missing := range report.Missing {
		faults = append(faults, terminal.OneLine(missing.String(), 0))
		hints = append(hints, "pass the files of all nodes; if the log of a node no longer exists, add --without NODE")
	}
	if len(faults) == 0 {
		return nil
	}
	return command.Fail(command.ExitFailed, errors.New(strings.Join(faults, "\n")), strings.Join(slices.Compact(hints), "\n"))
}
