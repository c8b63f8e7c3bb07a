package bus

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of a voter's store, in bytes.
const (
	maxStore  = 4 * MaxRecordSum
	maxMemory = 32 << 20 // for watches
)

// loneDomain is the name under which nodes reach the records of the only voter.
const loneDomain = "records"

// isVoter reports whether the node keeps records.
func (o *Options) isVoter() bool { return slices.Contains(o.Voters, o.Node) }

// domain returns the JetStream domain of the records.
func (o *Options) domain() string {
	if len(o.Voters) == 1 {
		return loneDomain
	}
	return ""
}

// checkVoters returns an error if the number of voters is not allowed, or if a voter has no directory for its records.
func (o *Options) checkVoters() error {
	switch len(o.Voters) {
	case 0, 1, 3, 5:
	default:
		return fmt.Errorf("%d voters; only 1, 3 or 5 are possible", len(o.Voters))
	}
	if o.isVoter() && o.Store == "" {
		return fmt.Errorf("voter %s needs a directory for its records", o.Node)
	}
	return nil
}

// store returns the directory of the voter's records. Nodes with a common Store have different ones.
func (o *Options) store() string { return filepath.Join(o.Store, o.Node) }

// makeStore creates the directory of a voter, which only its user may read. It returns an error if the address for routes is
// in use, because then another process may use the directory.
func (o *Options) makeStore() error {
	listener, err := net.Listen("tcp", o.Routes)
	if err != nil {
		return err
	}
	listener.Close()
	if err := os.MkdirAll(o.store(), 0o700); err != nil {
		return fmt.Errorf("directory of the records: %w", err)
	}
	if err := os.Chmod(o.store(), 0o700); err != nil {
		return fmt.Errorf("directory of the records: %w", err)
	}
	return nil
}

// keepRecords makes the server keep records. With several voters, their servers replicate the records. JetStream does not run
// with only one voter in a cluster of servers, so a single voter keeps the records in a second server outside of that cluster
// (see startLone), which connects to the first one as a leaf node.
func (o *Options) keepRecords(options *server.Options) {
	switch {
	case !o.isVoter():
	case o.domain() != "":
		options.LeafNode = server.LeafNodeOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "records", Password: options.Authorization, NoAdvertise: true}
	default:
		setStore(options, o.store())
		options.Routes = sized(options.Routes, len(o.Voters), routeTo(o.Routes))
	}
}

// setStore makes a server store streams in a directory.
func setStore(options *server.Options, directory string) {
	options.JetStream, options.StoreDir = true, directory
	options.JetStreamMaxStore, options.JetStreamMaxMemory = maxStore, maxMemory
	options.SyncAlways = true // a write that was answered survives a power failure, so that no revision is used twice
	options.DisableJetStreamBanner = true
}

// sized returns n routes: the first ones of the list, and in place of missing ones a route that leads nowhere. A server that
// starts for the first time takes the number of its routes as that of the voters; it must be exact, because otherwise two halves
// of the cluster could keep different records. The server gets its other routes later.
func sized(list []*url.URL, n int, nowhere *url.URL) []*url.URL {
	list = slices.Clone(list[:min(len(list), n)])
	for len(list) < n {
		list = append(list, nowhere)
	}
	return list
}

// startLone starts the second server of the only voter.
func (o *Options) startLone(first *server.Server, options *server.Options, log server.Logger) (*server.Server, error) {
	z, err := first.Varz(nil)
	if err != nil {
		return nil, err
	}
	remote := &url.URL{Scheme: "nats-leaf", Host: fmt.Sprintf("127.0.0.1:%d", z.LeafNode.Port), User: url.UserPassword(options.LeafNode.Username, options.LeafNode.Password)}
	own := &server.Options{
		ServerName: o.Node + "-records", DontListen: true, MaxPayload: maxMessage,
		NoSigs: true, NoLog: true, JetStreamDomain: loneDomain,
		LeafNode: server.LeafNodeOpts{Remotes: []*server.RemoteLeafOpts{{URLs: []*url.URL{remote}}}, ReconnectInterval: 100 * time.Millisecond},
	}
	setStore(own, o.store())
	s, err := server.NewServer(own)
	if err != nil {
		return nil, err
	}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	return s, nil
}
