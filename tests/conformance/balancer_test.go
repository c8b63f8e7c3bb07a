package conformance

import (
	"flag"
	"slices"
)

var (
	balancer = flag.String("balancer", "", "run the server scenarios through a cluster behind this balancer: nginx, nginx-new, haproxy or haproxy-new (new: with a new connection for each request)")
	external = flag.Bool("nats", false, "with -balancer, let the nodes use an external nats-server")
)

// throughGateways returns the legs through the gateway. The results must be the same through a cluster, so the baseline is too.
func throughGateways(all []leg) []leg {
	return slices.DeleteFunc(slices.Clone(all), func(l leg) bool { return l.name == "direct" })
}
