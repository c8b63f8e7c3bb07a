package service

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
)

// report is the output of service status.
type report struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Running bool   `json:"running"`
	State   string `json:"state"` // in the words of the service manager
	PID     int    `json:"pid,omitempty"`
	Starts  string `json:"starts"` // when it starts by itself
	File    string `json:"file"`   // its definition
	Log     string `json:"log"`    // a file, or the command that prints the log
}

// newStatus returns the service status command.
func newStatus() *cobra.Command {
	var name string
	var out output.Format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the service runs, when it starts, and where its log is",
		Long: `Show whether the service runs, when it starts by itself, and where its log is. The exit code is 0 if it runs. "goblin-actor status"
shows what the gateway does.`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, file, err := findService(name)
			if err != nil {
				return err
			}
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			if err := m.available(ctx); err != nil {
				return err
			}
			s, err := m.state(ctx, name)
			if err != nil {
				return err
			}
			r := report{name, m.kind(), s.running, s.text, s.pid, s.starts, file, m.readLog(name)}
			if err := r.print(cmd, out); err != nil || s.running {
				return err
			}
			return &command.Error{Code: command.ExitFailed} // the report has been printed
		},
	}
	nameFlag(cmd, &name)
	out.AddFlag(cmd)
	return cmd
}

func (r *report) print(cmd *cobra.Command, out output.Format) error {
	if out != output.Table {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return out.Write(cmd.OutOrStdout(), raw)
	}
	pid := ""
	if r.PID > 0 {
		pid = fmt.Sprintf(", pid %d", r.PID)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s%s\nstarts: %s\nfile: %s\nlog: %s\n", r.Kind, r.Name, terminal.OneLine(r.State, 100), pid, r.Starts, terminal.Clean(r.File), terminal.Clean(r.Log))
	return err
}
