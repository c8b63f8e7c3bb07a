package audit

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxCheckpoint   = 1024             // bytes of Checkpoint.Line; the gateway's are shorter than 500
	maxWitnessed    = 16               // maximum number of nodes whose checkpoints are quoted; a cluster has no more
	witnessInterval = 50 * time.Second // a node's log is witnessed once a minute; checkpoints that arrive sooner are ignored
)

// Checkpoint is a signed line of a node's log. Nodes send each other their newest one every minute, and each node quotes
// those of the others in its own log. If the end of a node's log is removed later, or the log is replaced, the other logs
// still prove what it contained.
type Checkpoint struct {
	Key  string `json:"key"`  // public key of the log's signatures, as KeyText; 44 bytes
	Line string `json:"line"` // the line without its newline, at most 1024 bytes
}

var (
	errCheckpoint     = errors.New("not a checkpoint of an audit log")
	errManyCheckpoint = fmt.Errorf("checkpoints of more than %d nodes within a minute", maxWitnessed)
)

// parse checks the form and the signature of a checkpoint, and returns its line.
func (c *Checkpoint) parse() (Line, error) {
	if len(c.Key) > maxText || len(c.Line) > maxCheckpoint || !utf8.ValidString(c.Line) {
		return Line{}, errCheckpoint
	}
	key, err := ParseKey(c.Key)
	if err != nil || KeyText(key) != c.Key {
		return Line{}, errCheckpoint
	}
	line, err := ParseLine([]byte(c.Line))
	if err != nil || !line.Signed() || line.Node == "" {
		return Line{}, errCheckpoint
	}
	if !signedBy([]byte(c.Line), &line, key) {
		return Line{}, fmt.Errorf("%w: its signature does not match its key", errCheckpoint)
	}
	return line, nil
}

// Checkpoint returns the log's newest signed line on disk, for other nodes to witness. It stays the same while the log only
// gets checkpoints and lines about other nodes. It returns the zero Checkpoint if there is none: the log is off or new, or
// the gateway runs alone.
func (l *Log) Checkpoint() Checkpoint {
	if c := l.checkpoint.Load(); c != nil {
		return *c
	}
	return Checkpoint{}
}

// offer publishes the checkpoint of mark for other nodes, unless only checkpoints and lines about other nodes were written
// since the last offered one. Otherwise, nodes would quote each other's new lines every minute, even without any calls.
func (w *writer) offer(mark *Mark) {
	text := w.marks.last.text
	if text == "" || len(text) > maxCheckpoint || w.marks.news <= w.marks.offered {
		return
	}
	w.marks.offered = mark.N
	w.l.checkpoint.Store(&Checkpoint{Key: mark.Key, Line: text})
}

// witnesses are the newest checkpoints of other nodes that the log quotes.
type witnesses struct {
	mu   sync.Mutex
	seen map[string]witnessed // by node; at most maxWitnessed
}

type witnessed struct {
	checkpoint Checkpoint
	n          uint64 // number of its line
	at         time.Time
}

// Witness quotes the newest checkpoint of another node in the log. The caller must have authenticated the node. Witness
// ignores a checkpoint that the log already quotes, and more than one a minute of a node. It returns an error if c is not
// a checkpoint of that node's log, or if there are too many nodes. It does not block.
func (l *Log) Witness(node string, c Checkpoint) error {
	if !l.Flags().Has(On) || l.o.Node == "" {
		return nil
	}
	now := time.Now()
	s := &l.witnesses
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.seen[node]
	if known && (was.checkpoint == c || now.Sub(was.at) < witnessInterval && !now.Before(was.at)) {
		return nil
	}
	line, err := c.parse()
	switch {
	case err != nil:
		return err
	case line.Node != node || node == l.o.Node:
		return fmt.Errorf("%w of node %.64q, but of node %.64q", errCheckpoint, node, line.Node)
	case !known && !s.hasRoom(now):
		return errManyCheckpoint
	}
	if known && (line.N <= was.n || c.Key != was.checkpoint.Key) {
		l.o.Log.Warn("the audit log of another node does not continue its previous log; unless audit.file was changed there, run goblin-actor audit verify with the files of all nodes",
			"node", node, "before", was.n, "now", line.N)
	}
	if l.add(Record{Event: EventWitness, witness: &c}, nil) {
		s.seen[node] = witnessed{c, line.N, now}
	}
	return nil
}

// hasRoom makes room for another node. It removes the one whose checkpoint is oldest, and returns false if that one is not
// older than a minute.
func (s *witnesses) hasRoom(now time.Time) bool {
	if s.seen == nil {
		s.seen = map[string]witnessed{}
	}
	if len(s.seen) < maxWitnessed {
		return true
	}
	oldest, at := "", now
	for node := range s.seen {
		if seen := s.seen[node].at; oldest == "" || seen.Before(at) {
			oldest, at = node, seen
		}
	}
	if now.Sub(at) < time.Minute {
		return false
	}
	delete(s.seen, oldest)
	return true
}
