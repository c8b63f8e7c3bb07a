package access

import (
	"errors"
	"os"
	"regexp"
	"strings"

	"goblin-actor/internal/audit"
)

// nodeLog is one of several logs named on a command line.
type nodeLog struct {
	node  string   // the node that wrote the log; "" = a gateway that runs alone, or unknown
	must  bool     // node was given on the command line
	named []string // the files that were named, in that order
}

// path returns the path of the log's newest file.
func (l *nodeLog) path() string { return l.named[len(l.named)-1] }

// files returns all files of the log, oldest first: if one was named, it and the older ones that it was rotated into.
func (l *nodeLog) files() []string {
	if all := audit.Files(l.named[0]); len(l.named) == 1 && len(all) > 0 {
		return all
	}
	return l.named
}

// nodePrefix is the NODE= of an argument NODE=FILE.
var nodePrefix = regexp.MustCompile(`^([a-z0-9-]{1,63})=(.+)$`)

// splitNode splits an argument of the form NODE=FILE. It returns node "" for the name of a file.
func splitNode(argument string) (node, file string) {
	m := nodePrefix.FindStringSubmatch(argument)
	if m == nil {
		return "", argument
	}
	if _, err := os.Lstat(argument); err == nil { // the name of the file contains =
		return "", argument
	}
	return m[1], m[2]
}

// findNodeLogs returns the logs that files belong to, each with its files. Files belong to the same log if the same node
// wrote them. It returns nil if the arguments name at most one log, without its node.
func findNodeLogs(arguments []string) ([]*nodeLog, error) {
	if len(arguments) == 0 {
		return nil, nil
	}
	if node, _ := splitNode(arguments[0]); len(arguments) == 1 && node == "" {
		return nil, nil
	}
	files, err := describeFiles(arguments)
	if err != nil {
		return nil, err
	}
	var logs []*nodeLog
	newest := map[string]*nodeLog{} // by node
	for _, f := range files {
		log := newest[f.node]
		if log == nil || f.first && f.node != "" {
			log = &nodeLog{node: f.node}
			newest[f.node], logs = log, append(logs, log)
		}
		log.named, log.must = append(log.named, f.path), log.must || f.must
	}
	if len(logs) == 1 && !logs[0].must {
		return nil, nil
	}
	return logs, nil
}

// namedFile is a file named on a command line.
type namedFile struct {
	path  string
	node  string // the node that wrote it; "" = a gateway that runs alone, or unknown
	must  bool   // node was given on the command line
	first bool   // the file is the first one of its log
}

// describeFiles finds the nodes that wrote the files.
func describeFiles(arguments []string) (files []namedFile, err error) {
	nodes := map[string]string{} // by the path of a log's newest file
	for _, argument := range arguments {
		node, path := splitNode(argument)
		head, err := audit.Head(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, noAudit(argument, err)
		}
		f := namedFile{path: path, node: node, must: node != "", first: head.N == 1}
		if !f.must {
			f.node = head.Node
		}
		if f.node != "" {
			nodes[audit.CurrentPath(path)] = f.node
		}
		files = append(files, f)
	}
	for i := range files {
		if f := &files[i]; f.node == "" { // perhaps written before the gateway became a node
			f.node = nodes[audit.CurrentPath(f.path)]
		}
	}
	return files, nil
}

// names returns the nodes of logs, for display.
func names(logs []*nodeLog) string {
	list := make([]string, len(logs))
	for i, log := range logs {
		if list[i] = log.node; list[i] == "" {
			list[i] = log.path()
		}
	}
	return strings.Join(list, ", ")
}
