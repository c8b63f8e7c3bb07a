//go:build unix

package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// voterProcesses are three voters as processes, and two nodes in this process that are no voters.
type voterProcesses struct {
	t         testing.TB
	options   map[string]Options
	processes map[string]*exec.Cmd
	x, y      *embedded
}

func startVoters(t testing.TB) *voterProcesses {
	t.Helper()
	if *voterFaults == 0 {
		t.Skip("takes minutes; see make voters")
	}
	v := &voterProcesses{t: t, options: map[string]Options{}, processes: map[string]*exec.Cmd{}}
	list := threeVoters(t)
	x, y := newNode(t, "x", 4), newNode(t, "y", 5)
	for _, o := range list {
		v.options[o.Node] = o
		x.Seeds, y.Seeds = append(x.Seeds, o.Routes), append(y.Seeds, o.Routes)
		v.start(o.Node)
	}
	x.Voters, y.Voters = list[0].Voters, list[0].Voters
	y.Seeds = append(y.Seeds, x.Routes)
	v.x, v.y = startNode(t, x), startNode(t, y)
	t.Logf("the records are available after %v", ready(t, v.x))
	return v
}

func (v *voterProcesses) start(names ...string) {
	v.t.Helper()
	for _, name := range names {
		v.processes[name] = startProcess(v.t, v.options[name])
	}
}

func (v *voterProcesses) kill(names ...string) {
	for _, name := range names {
		_ = v.processes[name].Process.Kill()
		_ = v.processes[name].Wait()
	}
}

// info describes the stream. It waits until the stream has a leader.
func (v *voterProcesses) info() *jetstream.ClusterInfo {
	v.t.Helper()
	var info *jetstream.StreamInfo
	within(v.t, 30*time.Second, "a leader", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		stream, err := v.x.records.open(ctx)
		if err == nil {
			info, err = stream.Info(ctx)
		}
		return err == nil && info.Cluster != nil && info.Cluster.Leader != ""
	})
	return info.Cluster
}

// leader returns the voter that leads the stream.
func (v *voterProcesses) leader() string { return v.info().Leader }

// complete waits until all voters have all records, and know each other again. Until then, a voter that lost its disk has no vote.
func (v *voterProcesses) complete() time.Duration {
	v.t.Helper()
	took := within(v.t, 60*time.Second, "all voters have all records", func() bool {
		current := 0
		for _, peer := range v.info().Replicas {
			if peer.Current && !peer.Offline && peer.Active < time.Second {
				current++
			}
		}
		time.Sleep(100 * time.Millisecond)
		return current == 2
	})
	time.Sleep(12 * time.Second) // the voters also choose a leader for their configuration, which info does not show
	return took
}

// stepDown makes the stream's leader step down.
func (v *voterProcesses) stepDown() {
	v.t.Helper()
	if m, err := v.x.conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+v.x.records.name, nil, 5*time.Second); err != nil {
		v.t.Fatalf("%v, %v", m, err)
	}
	time.Sleep(time.Second)
}

// put stores a value and returns its revision.
func (v *voterProcesses) put(value string, revision uint64) uint64 {
	v.t.Helper()
	var next uint64
	within(v.t, 40*time.Second, "a write", func() bool {
		var err error
		next, err = v.x.Records().Put(context.Background(), "key", []byte(value), revision)
		if err != nil && !errors.Is(err, ErrNoQuorum) {
			v.t.Fatal(err)
		}
		return err == nil
	})
	if next <= revision {
		v.t.Fatalf("revision %d after %d", next, revision)
	}
	return next
}

// expect reads the record at the other node.
func (v *voterProcesses) expect(value string, revision uint64) {
	v.t.Helper()
	within(v.t, 40*time.Second, "a read", func() bool {
		r, err := v.y.Records().Get(context.Background(), "key")
		if err == nil && (string(r.Value) != value || r.Revision != revision) {
			if r.Revision > revision {
				v.t.Fatalf("read %s in revision %d, want %s in %d", r.Value, r.Revision, value, revision)
			}
			v.t.Logf("read an old state, in revision %d instead of %d", r.Revision, revision)
			return false
		}
		return err == nil
	})
}

// With one voter of three, nothing is written. After the other two have restarted, records can be read and written again.
func TestVotersLoseQuorum(t *testing.T) {
	v := startVoters(t)
	first := v.put("1", 0)
	v.kill("a", "b")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := v.x.Records().Put(ctx, "key", []byte("lost"), first); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("without quorum: %v", err)
	}
	if v.x.Status().Records.IsZero() {
		t.Error("the status does not say that the records are unavailable")
	}
	begin := time.Now()
	v.start("a", "b")
	now, err := v.x.Records().Get(context.Background(), "key")
	for err != nil {
		now, err = v.x.Records().Get(context.Background(), "key")
	}
	t.Logf("read %v after the restart: %s in revision %d", time.Since(begin), now.Value, now.Revision)
	v.expect("3", v.put("3", v.put("2", now.Revision)))
}

// After all voters are restarted at the same time, the records are as before, and revisions increase.
func TestVotersRestartAtOnce(t *testing.T) {
	v := startVoters(t)
	first := v.put("1", 0)
	for i := range 3 {
		v.kill("a", "b", "c")
		begin := time.Now()
		v.start("a", "b", "c")
		v.expect(fmt.Sprint(i+1), first)
		t.Logf("read %v after the restart", time.Since(begin))
		first = v.put(fmt.Sprint(i+2), first)
		t.Logf("written %v after the restart", time.Since(begin))
	}
}

// A voter whose disk was emptied receives the records from the others. From then on, another voter may fail.
func TestVoterWithEmptyDisk(t *testing.T) {
	v := startVoters(t)
	first := v.put("1", 0)
	for _, name := range []string{"b", v.leader()} {
		v.kill(name)
		if err := os.RemoveAll(v.options[name].Store); err != nil {
			t.Fatal(err)
		}
		v.start(name)
		first = v.put("2 without the disk of "+name, first)
		t.Logf("%s has the records again after %v", name, v.complete())
		other := v.leader()
		for other == name {
			v.stepDown()
			other = v.leader()
		}
		v.kill(other)
		begin := time.Now()
		v.expect("2 without the disk of "+name, first)
		t.Logf("read %v after the leader %s was killed", time.Since(begin), other)
		v.start(other)
		first = v.put("3", first)
	}
}

// If all voters lose their disks, the records are lost, but revisions rise all the same.
func TestAllVotersWithEmptyDisks(t *testing.T) {
	v := startVoters(t)
	first := v.put("1", 0)
	v.kill("a", "b", "c")
	for _, o := range v.options {
		if err := os.RemoveAll(o.Store); err != nil {
			t.Fatal(err)
		}
	}
	v.start("a", "b", "c")
	begin := time.Now()
	if next := v.put("2", 0); next <= first {
		t.Errorf("revision %d after %d", next, first)
	}
	t.Logf("written %v after the restart", time.Since(begin))
}

// While the leader is stopped, the records are unavailable until another one leads. A watch receives what changes then.
func TestStoppedLeader(t *testing.T) {
	v := startVoters(t)
	seen := make(chan string, 100)
	if _, err := v.y.Records().Watch("key", func(r Record) { seen <- string(r.Value) }); err != nil {
		t.Fatal(err)
	}
	first := v.put("0", 0)
	receive(t, seen)
	for i := range 3 {
		leader := v.leader()
		_ = v.processes[leader].Process.Signal(syscall.SIGSTOP)
		begin := time.Now()
		time.AfterFunc(8*time.Second, func() { _ = v.processes[leader].Process.Signal(syscall.SIGCONT) })
		value := fmt.Sprint(i + 1)
		first = v.put(value, first)
		written := time.Since(begin)
		within(t, 30*time.Second, "the watch", func() bool {
			select {
			case got := <-seen:
				return got == value
			default:
				return false
			}
		})
		t.Logf("written %v after the stop, seen %v later", written, time.Since(begin)-written)
		time.Sleep(max(0, 9*time.Second-time.Since(begin)))
		v.expect(value, first)
	}
}

// Whatever happens to the voters, at most one node is certain of a lease, and lease tokens increase. Healthy holders lose no leases
// while two voters work.
func TestLeasesWhileVotersFail(t *testing.T) {
	v := startVoters(t)
	c := &competition{t: t, end: time.Now().Add(*voterFaults)}
	var all sync.WaitGroup
	for _, n := range []*embedded{v.x, v.y} {
		all.Go(func() { c.compete(n.conn.Opts.Name, n.Records()) })
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for time.Now().Before(c.end) {
		name := []string{"a", "b", "c"}[rng.IntN(3)]
		if rng.IntN(2) == 0 {
			_ = v.processes[name].Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(rng.IntN(9000)) * time.Millisecond)
			_ = v.processes[name].Process.Signal(syscall.SIGCONT)
		} else {
			v.kill(name)
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			v.start(name)
		}
		c.faults++
		time.Sleep(time.Duration(rng.IntN(9000)) * time.Millisecond)
		if _, err := v.y.Records().Get(context.Background(), "key"); errors.Is(err, ErrNoQuorum) {
			t.Errorf("no quorum within 10 s of the last fault")
		}
		time.Sleep(5 * time.Second) // for a renewal
	}
	all.Wait()
	t.Logf("%d faults, taken %d times, %d renewals, %d failed, %d leases lost or given up", c.faults, c.taken, c.renewed, c.failed, c.lost)
	if c.taken == 0 || c.lost > 0 {
		t.Errorf("taken %d times, lost %d", c.taken, c.lost)
	}
}

// competition is a lease for which nodes compete. Its holder releases it from time to time.
type competition struct {
	t      testing.TB
	end    time.Time
	faults int

	mu                           sync.Mutex
	certain                      string // the node that is certain of the lease
	until                        time.Time
	last                         uint64
	taken, renewed, failed, lost int
}

func (c *competition) compete(name string, records Records) {
	leases := NewLeases(records, time.Now)
	var l *Lease
	for i := 0; time.Now().Before(c.end); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		switch {
		case l == nil:
			l, _ = leases.Take(ctx, "run.x", name)
			c.took(name, l)
		case i%20 == 19:
			c.stopped(name)
			if leases.Release(ctx, l) != nil {
				time.Sleep(LeaseTime) // it ends by itself
			}
			l = nil
		default:
			next, err := leases.Renew(ctx, l)
			if l = c.renewal(name, l, next, err); l == nil {
				c.t.Logf("%s: %v", name, err)
			}
		}
		cancel()
		time.Sleep(LeaseRenewal / 3)
	}
}

// took notes that a node has taken the lease.
func (c *competition) took(name string, l *Lease) {
	if l == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.certain != "" && now.Before(c.until) && l.Certain(now) {
		c.t.Errorf("%s takes the lease while %s is certain of it", name, c.certain)
	}
	if l.Token <= c.last {
		c.t.Errorf("token %d after %d", l.Token, c.last)
	}
	c.taken++
	c.certain, c.until, c.last = name, l.Until(now), l.Token
}

// renewal notes the result of a renewal, and returns the lease that the node has now.
func (c *competition) renewal(name string, old, renewed *Lease, err error) *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		c.renewed++
		c.certain, c.until = name, renewed.Until(now)
		return renewed
	case errors.Is(err, ErrLeaseLost), !old.Certain(now):
		c.lost++
		return nil
	}
	c.failed++
	return old
}

// stopped notes that a node no longer relies on the lease.
func (c *competition) stopped(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certain == name {
		c.certain = ""
	}
}
