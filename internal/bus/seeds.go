package bus

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

// resolveInterval is the time between two lookups of the seeds that are host names.
const resolveInterval = 5 * time.Second

// maxAddresses limits the addresses of all seeds that are host names. A cluster has up to 16 nodes.
const maxAddresses = 64

// seeds keeps the routes of the server equal to the addresses of the seeds. The server itself would connect to one random
// address of a host name, so two halves of a cluster could stay apart after a partition.
type seeds struct {
	fixed []*url.URL // seeds that are addresses
	names []string   // seeds that are host names, with port
	apply func([]*url.URL) error
	log   *slog.Logger
	look  func(ctx context.Context, host string) (addresses []string, err error)

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// routesOf returns the routes for the seeds that are addresses.
func routesOf(list []string) ([]*url.URL, error) {
	var routes []*url.URL
	for _, seed := range list {
		host, _, err := splitAddress(seed)
		if err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		if net.ParseIP(host) != nil {
			routes = append(routes, routeTo(seed))
		}
	}
	return routes, nil
}

func routeTo(address string) *url.URL { return &url.URL{Scheme: "nats-route", Host: address} }

// newSeeds returns the seeds. apply replaces the routes of the server.
func newSeeds(list []string, apply func([]*url.URL) error, log *slog.Logger) *seeds {
	s := &seeds{apply: apply, log: log, look: net.DefaultResolver.LookupHost, cancel: func() {}}
	s.fixed, _ = routesOf(list) // has been checked
	for _, seed := range list {
		if host, _, err := splitAddress(seed); err == nil && net.ParseIP(host) == nil {
			s.names = append(s.names, seed)
		}
	}
	return s
}

// start starts to look up the seeds that are host names.
func (s *seeds) start() {
	if len(s.names) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.done.Go(func() { s.run(ctx) })
}

func (s *seeds) run(ctx context.Context) {
	ticker := time.NewTicker(resolveInterval)
	defer ticker.Stop()
	known := map[string][]string{} // the addresses of each name when it was last resolved
	var applied []string
	for {
		for _, name := range s.names {
			s.resolve(ctx, name, known)
		}
		if addresses := merged(known); !slices.Equal(addresses, applied) {
			routes := slices.Clone(s.fixed)
			for _, address := range addresses {
				routes = append(routes, routeTo(address))
			}
			if err := s.apply(routes); err != nil {
				s.log.Warn("cannot use the addresses of the seeds", "error", err.Error())
			} else {
				applied = addresses
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// resolve looks up a name. If that fails, it keeps the addresses of the last lookup.
func (s *seeds) resolve(ctx context.Context, name string, known map[string][]string) {
	ctx, cancel := context.WithTimeout(ctx, resolveInterval)
	defer cancel()
	host, port, _ := net.SplitHostPort(name)
	ips, err := s.look(ctx, host)
	if err != nil {
		s.log.Debug("cannot resolve a seed", "seed", name, "error", err.Error())
		return
	}
	var addresses []string
	for _, ip := range ips {
		addresses = append(addresses, net.JoinHostPort(ip, port))
	}
	known[name] = addresses
}

// merged returns the addresses of all names, sorted and at most maxAddresses.
func merged(known map[string][]string) []string {
	var all []string
	for _, addresses := range known {
		all = append(all, addresses...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxAddresses)]
}

func (s *seeds) close() {
	s.cancel()
	s.done.Wait()
}
