package bus

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options say how a node takes part in a cluster of embedded NATS servers.
type Options struct {
	Cluster string             // the cluster's name; a word as in subjects. Nodes of another cluster are refused
	Node    string             // this node's name, unique in the cluster
	Routes  string             // host:port to listen on for other nodes
	Seeds   []string           // host:port of other nodes, and of this one. A host name with several addresses stands for all of them
	TLS     func() *tls.Config // for connections between nodes, in both directions; see below. Called for each connection
	Voters  []string           // names of the 1, 3 or 5 nodes that keep the records; nil = there are no records
	Store   string             // directory for a voter's records; the node creates a directory with its name there, which only its user may read
	Log     *slog.Logger

	// The configuration that TLS returns must have Certificates, RootCAs and ClientCAs. Each side checks that an authority
	// has signed the other's certificate, and calls VerifyConnection if it is set. The name in the certificate is not
	// checked, because nodes find each other by address.
}

// Timing of the embedded server.
const (
	startTimeout  = 10 * time.Second
	pingInterval  = 500 * time.Millisecond // a node that answers none of 2 pings is disconnected
	handshakeTime = 2 * time.Second        // a connection that has not finished its TLS handshake by then is closed
	retryImplicit = 24 * 60 * 60           // attempts, one a second, to reach a node that another node has named
)

// maxMessage is the size of the largest message of the server, in bytes. The server sends the value of a record as base64.
const maxMessage = 4*MaxRecord/3 + 64<<10

// embedded is a NATS server in this process and the node's connection to it.
type embedded struct {
	*client
	servers []*server.Server // the first one connects the nodes; see startLone
	seeds   *seeds
}

// Start starts the node's NATS server and returns the bus. It blocks until the server listens, not until other nodes are
// connected. The error says which option is wrong, or why the server cannot listen or store.
func Start(o Options) (Bus, error) {
	options, err := o.server()
	if err != nil {
		return nil, err
	}
	if o.isVoter() {
		if err := o.makeStore(); err != nil {
			return nil, err
		}
	}
	log := &serverLog{log: o.Log.With("engine", "nats"), failed: make(chan string, 1)}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start the NATS server: %w", err)
	}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	e := &embedded{client: newClient(o.Cluster, o.Log), servers: []*server.Server{s}}
	if err := e.begin(&o, options, log); err != nil {
		e.shutdown()
		return nil, err
	}
	return e, nil
}

// begin connects the node to its server, and starts what depends on that.
func (e *embedded) begin(o *Options, options *server.Options, log *serverLog) error {
	if err := e.connect(o.Node, options, log); err != nil {
		return err
	}
	if o.isVoter() && o.domain() != "" {
		lone, err := o.startLone(e.servers[0], options, log)
		if err != nil {
			return fmt.Errorf("start the NATS server for records: %w", err)
		}
		e.servers = append(e.servers, lone)
	}
	if len(o.Voters) > 0 {
		var err error
		if e.records, err = newNATSRecords(o.Cluster, e.conn, len(o.Voters), o.domain(), e.done); err != nil {
			return err
		}
	}
	all, err := routesOf(o.Seeds)
	if err != nil {
		return err
	}
	current := options
	apply := func(routes []*url.URL) error {
		next := *current // keeps what the server has added to its options; if that changed, the server would disconnect its clients
		next.Routes = routes
		current = &next
		return e.servers[0].ReloadOptions(current)
	}
	if len(all) > len(options.Routes) {
		if err := apply(all); err != nil {
			return fmt.Errorf("set the routes of the NATS server: %w", err)
		}
	}
	e.seeds = newSeeds(o.Seeds, apply, o.Log)
	e.seeds.start()
	go e.send()
	return nil
}

// connect waits until the server listens for routes, and connects to it within the process.
func (e *embedded) connect(node string, options *server.Options, log *serverLog) error {
	deadline := time.Now().Add(startTimeout)
	for e.servers[0].ClusterAddr() == nil {
		select {
		case reason := <-log.failed:
			return fmt.Errorf("start the NATS server: %s", reason)
		case <-time.After(500 * time.Microsecond):
		}
		if time.Now().After(deadline) {
			return errors.New("start the NATS server: it did not listen within 10 seconds")
		}
	}
	conn, err := nats.Connect("", append(e.options(node),
		nats.InProcessServer(e.servers[0]),
		nats.Token(options.Authorization),
		nats.ReconnectWait(10*time.Millisecond),
	)...)
	if err != nil {
		return fmt.Errorf("connect to the NATS server in this process: %w", err)
	}
	e.conn = conn
	return nil
}

// server returns the options of the server, with the seeds that are addresses as routes.
func (o *Options) server() (*server.Options, error) {
	if !plainWord(o.Cluster) {
		return nil, errClusterName(o.Cluster)
	}
	if !plainWord(o.Node) {
		return nil, fmt.Errorf("node name %q: only letters, digits, - and _ are allowed", o.Node)
	}
	if o.TLS == nil {
		return nil, errors.New("nodes connect with TLS only: the configuration for it is missing")
	}
	host, port, err := splitAddress(o.Routes)
	if err != nil {
		return nil, fmt.Errorf("address for routes: %w", err)
	}
	routes, err := routesOf(o.Seeds)
	if err != nil {
		return nil, err
	}
	if err := o.checkVoters(); err != nil {
		return nil, err
	}
	options := &server.Options{
		ServerName: o.Node,
		// The server needs a port for clients: without one, it starts no routes (nats-io/nats-server issue 5174).
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: rand.Text(),
		MaxPayload: maxMessage, MaxConn: 64, MaxClosedClients: 16, WriteDeadline: 2 * time.Second,
		NoSigs: true, NoLog: true, NoFastProducerStall: true, DisableShortFirstPing: true,
		Routes: routes,
		Cluster: server.ClusterOpts{
			Name: o.Cluster, Host: host, Port: port,
			TLSConfig: routeTLS(o.TLS), TLSTimeout: handshakeTime.Seconds(),
			PingInterval: pingInterval, MaxPingsOut: 2,
			NoAdvertise: true, ConnectRetries: retryImplicit,
			PoolSize: -1, Compression: server.CompressionOpts{Mode: server.CompressionOff},
		},
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		options.Cluster.Advertise = o.Routes // by default, other nodes learn the address from which this node connects
	}
	o.keepRecords(options)
	return options, nil
}

// splitAddress returns the parts of host:port. The port must be a number.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, fmt.Errorf("%q: port %q is not a number from 1 to 65535", address, text)
	}
	return host, int(number), nil
}

// nodes returns the names of the connected nodes, sorted.
func (e *embedded) nodes() []string {
	z, err := e.servers[0].Routez(nil)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range z.Routes {
		names = append(names, r.RemoteName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *embedded) Status() Status {
	s := e.status("embedded")
	s.Nodes = e.nodes()
	return s
}

func (e *embedded) Close() {
	e.seeds.close()
	if e.close() {
		e.shutdown()
	}
}

// shutdown stops the servers.
func (e *embedded) shutdown() {
	if e.conn != nil {
		e.conn.Close()
	}
	for _, s := range slices.Backward(e.servers) {
		s.Shutdown()
	}
}
