package target

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
)

// NodeFlags adds --connect, and --node for another node of the gateway's cluster. AdminSocket and DialAdmin accept the value of
// connect.
func NodeFlags(cmd *cobra.Command, connect *string) {
	ConnectFlag(cmd, connect)
	flag := cmd.Flags().Lookup("connect")
	flag.Value = connectValue{connect}
	cmd.Flags().Var(nodeValue{connect}, "node", "another node of the gateway's cluster")
}

// connectValue and nodeValue are the values of --connect and --node. Each sets its part of an address (see admin.AddressOf).
type (
	connectValue struct{ address *string }
	nodeValue    struct{ address *string }
)

func (v connectValue) Set(text string) error {
	_, node := admin.SplitAddress(*v.address)
	*v.address = admin.AddressOf(text, node)
	return nil
}

func (v connectValue) String() string {
	if v.address == nil {
		return ""
	}
	path, _ := admin.SplitAddress(*v.address)
	return path
}

func (connectValue) Type() string { return "string" }

func (v nodeValue) Set(text string) error {
	path, _ := admin.SplitAddress(*v.address)
	*v.address = admin.AddressOf(path, text)
	return nil
}

func (v nodeValue) String() string {
	if v.address == nil {
		return ""
	}
	_, node := admin.SplitAddress(*v.address)
	return node
}

func (nodeValue) Type() string { return "string" }
