package access

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/cluster"
)

// NewClusterCommand returns the cluster command.
func NewClusterCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "cluster",
		Short: "Prepare a cluster of gateways",
		Long:  `Prepare a cluster of gateways. The section cluster of the configuration makes a gateway one node of a cluster.`,
	})
	cmd.AddCommand(newClusterSecret())
	return cmd
}

func newClusterSecret() *cobra.Command {
	return &cobra.Command{
		Use:   "secret",
		Short: "Print a new secret for the nodes of a cluster",
		Long: `Print a new random secret of 256 bits to stdout. All nodes of a cluster share it: it encrypts session ids and signs the
certificates of the nodes. Anyone who has it can act for every client of the cluster.

Store it in a file that only the gateway's user can read, copy the file to every node, and refer to it in the configuration:

  cluster:
    secrets: ["${file:cluster.secret}"]

To replace a secret without an interruption, add the new one second in the list on all nodes, then move it to the front on
all nodes, then remove the old one. The gateways apply each step without a restart.`,
		Example: `  (umask 077; goblin-actor cluster secret >cluster.secret)
  kubectl create secret generic goblin-cluster --from-literal=cluster.secret="$(goblin-actor cluster secret)"`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
			if _, err := fmt.Fprintln(out, cluster.NewSecret()); err != nil {
				return err
			}
			switch {
			case terminal.IsTerminal(out):
				fmt.Fprint(errOut, "store it in a file that only the gateway's user can read, copy the file to every node, and add to the configuration:\n\n"+
					"  cluster:\n    secrets: [\"${file:cluster.secret}\"]\n\n")
			case isPublic(out):
				fmt.Fprintln(errOut, "warning: every user can read the file, so the gateway will refuse it; run chmod 600 on it")
			}
			return nil
		},
	}
}

// isPublic reports whether w is a regular file that every user can read.
func isPublic(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || runtime.GOOS == "windows" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0
}
