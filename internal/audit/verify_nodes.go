package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// NodeLog names the files of one log of a cluster.
type NodeLog struct {
	Name  string   // names the log in findings: the path of its newest file
	Files []string // paths, oldest first
	Trust Trust
}

// NodeReport is the result of VerifyNodes for one log.
type NodeReport struct {
	Report
	Name      string
	Seen      uint64    // number of the newest line that another node has quoted; 0 = none
	SeenTime  time.Time // time of that line
	Unchanged uint64    // a faulty log is authentic up to this line; 0 = no line is
}

// ClusterReport is the result of VerifyNodes.
type ClusterReport struct {
	Logs    []NodeReport // in the order of the parameter
	Missing []Finding    // nodes whose log was quoted, but not given
}

// comparison compares what the logs of a cluster say about each other.
type comparison struct {
	reports []NodeReport
	logs    []evidence // with the indexes of reports
}

// VerifyNodes checks the logs of a cluster's nodes: first each log, as Verify does, then whether each has the lines that
// other nodes have quoted. A removed end, or a file that was replaced by an older copy, shows in the other logs. Logs of
// the nodes in without, which no longer exist, may be missing. It returns an error if a file cannot be read.
//
// It needs about 100 bytes of memory for each checkpoint and each quoted line.
func VerifyNodes(logs []NodeLog, without []string) (ClusterReport, error) {
	c := comparison{make([]NodeReport, len(logs)), make([]evidence, len(logs))}
	for i := range logs {
		v := verifier{trust: logs[i].Trust, key: logs[i].Trust.Key, file: logs[i].Name, evidence: &c.logs[i]}
		err := v.readAll(logs[i].Files)
		if err != nil {
			return ClusterReport{}, err
		}
		c.reports[i] = NodeReport{Report: v.Report, Name: logs[i].Name, Unchanged: v.Signed}
	}
	report := ClusterReport{Logs: c.reports}
	quotes := c.quotes()
	for _, node := range slices.Sorted(maps.Keys(quotes)) {
		switch of := c.of(node); {
		case len(of) > 0:
			c.judge(of, quotes[node])
		case len(logs) > 1 && !slices.Contains(without, node) && len(report.Missing) < maxNotes:
			report.Missing = append(report.Missing, missingLog(node, quotes[node]))
		}
	}
	return report, nil
}

// quotes returns the quotes of all logs by node: those of the first log in its order, then those of the next one.
func (c *comparison) quotes() map[string][]quote {
	all := map[string][]quote{}
	for i := range c.logs {
		for node, quotes := range c.logs[i].quotes {
			all[node] = append(all[node], quotes...)
		}
		c.logs[i].quotes = nil
	}
	return all
}

// of returns the indexes of the logs of a node. It can have several, if its audit.file was changed.
func (c *comparison) of(node string) (of []int) {
	for i := range c.reports {
		if c.reports[i].Node == node {
			of = append(of, i)
		}
	}
	return of
}

// missingLog returns the finding for a node whose log was not given.
func missingLog(node string, quotes []quote) Finding {
	q := slices.MaxFunc(quotes, byNumber)
	return Finding{q.file, q.line, q.n, fmt.Sprintf("node %s quotes line n=%d of node %s, written at %s, but no file of node %s was given", q.by, q.n, node, stamp(q.time), node)}
}

// byNumber orders quotes by the number of the line.
func byNumber(a, b quote) int { return cmp.Compare(a.n, b.n) }

// judge looks for each quoted line in the logs of its node. It sets the fault of a log that lacks one.
func (c *comparison) judge(of []int, quotes []quote) {
	var lacking []quote
	confirmed := map[string]*signedAt{} // by the node that quotes: the newest line that is found, before the first that is not
	disputed := map[string]bool{}       // nodes that quote a line that is not found
	for i := range quotes {
		q := &quotes[i]
		switch found, result := c.find(of, q); result {
		case lineFound:
			if r := &c.reports[found]; r.Seen < q.n {
				r.Seen, r.SeenTime = q.n, q.time
			}
			if newest := confirmed[q.by]; !disputed[q.by] && (newest == nil || newest.n < q.n) {
				confirmed[q.by] = &q.signedAt
			}
		case lineDiffers:
			lacking, disputed[q.by] = append(lacking, *q), true
		}
	}
	if len(lacking) == 0 {
		return
	}
	unchanged := signedAt{}
	for by := range disputed {
		if newest := confirmed[by]; newest != nil && newest.n > unchanged.n {
			unchanged = *newest
		}
	}
	c.accuse(c.suspect(of, quotes), lacking, unchanged)
}

// find looks for a quoted line in all logs of its node. It returns the log that has the line.
func (c *comparison) find(of []int, q *quote) (log int, result lookResult) {
	for _, log := range of {
		switch c.look(log, q) {
		case lineFound:
			return log, lineFound
		case lineUnknown:
			result = lineUnknown
		}
	}
	return 0, result
}

// Results of look.
type lookResult int

const (
	lineDiffers lookResult = iota // the log has another line of that number, or ends before it
	lineFound
	lineUnknown // the log's files do not reach back so far, or the log is faulty
)

// look looks for a quoted line in a log.
func (c *comparison) look(log int, q *quote) lookResult {
	own := c.logs[log].own
	at, ok := slices.BinarySearchFunc(own, q.n, func(s signedAt, n uint64) int { return cmp.Compare(s.n, n) })
	switch r := &c.reports[log]; {
	case ok && own[at].sum == q.sum:
		return lineFound
	case q.n < r.First || r.Fault != nil:
		return lineUnknown
	}
	return lineDiffers
}

// suspect returns the log that is to blame if a quoted line is missing: the newest one that has the key of the newest quote,
// or else the newest one.
func (c *comparison) suspect(of []int, quotes []quote) int {
	key := slices.MaxFunc(quotes, func(a, b quote) int { return a.time.Compare(b.time) }).key
	best := of[0]
	for _, log := range of[1:] {
		is, was := &c.reports[log], &c.reports[best]
		newer := is.LastTime.After(was.LastTime)
		if (is.Key == key) == (was.Key == key) && newer || is.Key == key && was.Key != key {
			best = log
		}
	}
	return best
}

// accuse sets the fault of a log that does not have the quoted lines in lacking. unchanged is the newest line up to which
// the log agrees with a node that also quotes a lacking line; zero = there is none.
func (c *comparison) accuse(log int, lacking []quote, unchanged signedAt) {
	r := &c.reports[log]
	first, last := slices.MinFunc(lacking, byNumber), slices.MaxFunc(lacking, byNumber)
	var what string
	switch {
	case first.key != r.Key:
		what = fmt.Sprintf("node %s quotes line n=%d, written at %s and signed with key %s, but the log is signed with key %s: the log was replaced (%s)",
			first.by, first.n, stamp(first.time), first.key, r.Key, first.place())
		r.Unchanged = 0
	case first.n > r.Last:
		what = fmt.Sprintf("the log of node %s ends with line n=%d, written at %s, but node %s quotes its line n=%d, written at %s: the end of the log was removed, or its files were replaced by an older copy (%s)",
			r.Node, r.Last, stamp(r.LastTime), last.by, last.n, stamp(last.time), last.place())
	default:
		what = fmt.Sprintf("line n=%d differs from the one that node %s quotes, written at %s: the log was replaced or rewritten", first.n, first.by, stamp(first.time))
		if r.Unchanged = unchanged.n; unchanged.n > 0 {
			what += fmt.Sprintf(" after line n=%d, written at %s", unchanged.n, stamp(unchanged.time))
		}
		what += " (" + first.place() + ")"
	}
	r.Fault = &Finding{File: r.Name, N: first.n, What: what}
}

func (q *quote) place() string { return fmt.Sprintf("%s:%d", q.file, q.line) }

func stamp(t time.Time) string { return t.Local().Format(time.DateTime) }
