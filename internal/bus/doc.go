// Package bus is how the nodes of a cluster talk to each other: messages that may be lost, questions with one answer, and
// records that change by compare-and-swap. Large payloads do not belong here; nodes exchange requests over HTTPS.
//
// There are several engines with one interface, Bus. Start starts a NATS server in this process, which connects to the
// servers of the other nodes. Connect uses an external NATS server. Solo serves a single node without a network. Package
// fabric simulates a cluster in one process. No other package imports NATS.
//
//	b, err := bus.Start(bus.Options{Cluster: "prod", Node: "a", Routes: "10.0.0.1:8732", Seeds: []string{"nodes:8732"}, TLS: tls, Log: log})
//	cancel, err := b.Subscribe("beat", func(m bus.Message) { … })
//	b.Publish("beat", beat)
//	answer, err := b.Ask(ctx, "node.abcdefg2.notes", question) // ErrNoListener at once if that node is gone
//	cancel()
//	b.Close()
//
// A lease (see Leases) is a key that one node at a time holds, such as the right to run a server. It is stored in a record,
// which the holder renews:
//
//	leases := bus.NewLeases(b.Records(), time.Now)
//	l, err := leases.Take(ctx, "run.github", "node a") // *HeldError if another node has it
//	l, err = leases.Renew(ctx, l)                      // every LeaseRenewal; while l.Certain(now), no other node has it
//
// Delivery: each subscription receives the messages of one publisher in the order in which they were published, each at
// most once. A node receives its own messages, too.
package bus
