package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

const (
	symptomRunes = 300
	stderrRunes  = 200
	stderrShown  = 5 // maximum number of lines of stderr in the table format
	othersShown  = 3 // maximum number of further causes in the table format
)

// diagnosisDoc is the output of doctor -o json. For compatibility, fields may be added but never changed.
type diagnosisDoc struct {
	OK       bool         `json:"ok"`
	Config   string       `json:"config"`
	Faults   []findingDoc `json:"faults"`
	Warnings []findingDoc `json:"warnings"`
	Behind   []behindDoc  `json:"behind,omitempty"` // gateways that could not reload the file and run with an older version
	Cluster  *clusterDoc  `json:"cluster,omitempty"`
	Servers  []serverDoc  `json:"servers"`
}

type behindDoc struct {
	Listen []string  `json:"listen"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

type findingDoc struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type serverDoc struct {
	Name      string           `json:"name"`
	OK        bool             `json:"ok"`
	State     string           `json:"state"`
	TookMs    int64            `json:"tookMs"`
	Protocol  string           `json:"protocol,omitempty"`
	Transport string           `json:"transport,omitempty"`
	Tools     int              `json:"tools"`
	Prompts   int              `json:"prompts"`
	Resources int              `json:"resources"`
	Templates int              `json:"templates"`
	Noise     int              `json:"noise,omitempty"`    // lines on stdout that are not messages
	Invalid   []status.Invalid `json:"invalid,omitempty"`  // tools with invalid definitions
	Findings  int              `json:"findings,omitempty"` // lint findings other than invalid schemas
	Symptom   string           `json:"symptom,omitempty"`
	Cause     string           `json:"cause,omitempty"`
	Todo      string           `json:"todo,omitempty"`
	Others    []advice         `json:"others,omitempty"` // other possible causes, the most likely first
	Stderr    []string         `json:"stderr,omitempty"` // distinct lines, in order
}

// advice is a possible cause of a symptom and its fix.
type advice struct {
	Cause string `json:"cause"`
	Todo  string `json:"todo"`
}

// begin reports the findings about the file.
func (d *diagnosis) begin() {
	d.doc.Faults, d.doc.Warnings = findingDocs(d.report.Faults), findingDocs(d.report.Warnings)
	if d.format != output.Table {
		return
	}
	known := "cannot be read"
	if d.cfg != nil {
		known = terminal.Count(len(d.cfg.Servers), "server")
	}
	fmt.Fprintf(d.out, "%s: %s\n", terminal.Clean(d.doc.Config), known)
	for _, f := range d.report.Faults {
		fmt.Fprintf(d.out, "%s %s\n", d.paint.Bad("✗"), terminal.Clean(f.Error()))
		d.fix(f.Hint)
	}
	d.reportOutdated()
	for _, f := range d.report.Warnings {
		fmt.Fprintf(d.out, "%s %s\n", d.paint.Warn("!"), terminal.Clean(f.Error()))
		d.fix(f.Hint)
	}
}

// fix prints a fix, which may have several lines.
func (d *diagnosis) fix(hint string) {
	word := "fix:"
	for line := range strings.Lines(program.Hint(hint)) {
		fmt.Fprintf(d.out, "    %s %s\n", word, terminal.Clean(strings.TrimRight(line, "\n")))
		word = "    "
	}
}

// reportOutdated reports the gateways that could not reload the file.
func (d *diagnosis) reportOutdated() {
	for _, g := range d.doc.Behind {
		fmt.Fprintf(d.out, "%s the gateway on %s could not reload the file and has been using an older version of it since %s\n    fix: correct the errors and save the file; the gateway reloads it\n",
			d.paint.Bad("✗"), terminal.OneLine(strings.Join(g.Listen, ", "), 200), g.Since.Local().Format("2006-01-02 15:04"))
	}
}

func findingDocs(findings []*config.Finding) []findingDoc {
	docs := []findingDoc{}
	for _, f := range findings {
		docs = append(docs, findingDoc{f.File, f.Line, f.Column, f.Path, f.Message, f.Hint})
	}
	return docs
}

// add adds a server to the report and, in the table format, prints it.
func (d *diagnosis) add(server status.Server, backend status.Backend) {
	doc := serverDoc{
		Name: server.Name, OK: slices.Contains([]string{"ready", "disabled"}, server.State) || d.idle(server), State: server.State, TookMs: time.Since(d.began).Milliseconds(),
		Protocol: backend.Protocol, Transport: backend.Transport, Noise: backend.Noise,
		Tools: server.Tools, Prompts: server.Prompts, Resources: server.Resources, Templates: server.Templates, Invalid: server.Invalid,
	}
	if !doc.OK {
		d.unhealthy++
		s := symptom{server: d.configOf(server.Name), state: server.State, reason: cmp.Or(server.Reason, backend.Reason), noise: backend.Noise, file: d.doc.Config}
		if failure, again := message.CutFailure(s.reason); again { // the next attempt has started
			s.reason, s.state = failure, "waiting"
		}
		doc.State = s.state
		s.command = d.report.CommandLine(s.server)
		for _, line := range backend.Stderr {
			if line = terminal.OneLine(line, stderrRunes); line != "" && !slices.Contains(s.stderr, line) { // each start of the program writes the same lines
				s.stderr = append(s.stderr, line)
			}
		}
		doc.Stderr = s.stderr
		doc.Symptom = terminal.OneLine(s.summary(time.Since(d.began).Round(time.Second)), symptomRunes)
		s.suspects = d.suspects(s.server)
		all := s.explain()
		doc.Cause, doc.Todo, doc.Others = all[0].Cause, all[0].Todo, all[1:]
	}
	if doc.OK && d.tools != nil {
		doc.Findings = otherFindings(d.tools()[server.Name])
	}
	d.servers[server.Name] = doc
	if d.format == output.Table {
		d.print(doc, server.Reason)
	}
}

// print prints a server in the table format.
func (d *diagnosis) print(doc serverDoc, reason string) {
	out, p, name := d.out, d.paint, terminal.OneLine(doc.Name, 0)
	switch {
	case doc.State == "disabled":
		fmt.Fprintf(out, "%s %s: disabled\n", p.Warn("–"), name)
	case doc.OK && doc.State == "idle":
		fmt.Fprintf(out, "%s %s: idle; it starts on its first call\n", p.Warn("–"), name)
	case doc.OK:
		fmt.Fprintf(out, "%s %s: ready, protocol %s over %s; %s, %s, %s, %s\n", p.Good("✓"), name,
			cmp.Or(doc.Protocol, "?"), cmp.Or(doc.Transport, "?"), terminal.Count(doc.Tools, "tool"), terminal.Count(doc.Prompts, "prompt"),
			terminal.Count(doc.Resources, "resource"), terminal.Count(doc.Templates, "template"))
		if reason != "" && strings.Contains(reason, "could not be listed") {
			fmt.Fprintf(out, "    %s %s; the gateway retries\n", p.Warn("!"), terminal.OneLine(reason, symptomRunes))
		}
		if doc.Noise > 0 {
			fmt.Fprintf(out, "    %s stdout also carried %s of other text, which the gateway skips; the server should log to stderr\n", p.Warn("!"), terminal.Count(doc.Noise, "line"))
		}
		for _, warning := range status.InvalidWarnings(doc.Invalid) {
			fmt.Fprintf(out, "    %s %s\n", p.Warn("!"), terminal.OneLine(program.Hint(warning), symptomRunes))
		}
		if doc.Findings > 0 {
			fmt.Fprintf(out, "    %s %s about its tools, besides invalid schemas: run %s\n", p.Warn("!"), terminal.Count(doc.Findings, "finding"), program.Hint("goblin-actor lint "+name))
		}
	default:
		fmt.Fprintf(out, "%s %s: %s: %s\n", p.Bad("✗"), name, doc.State, doc.Symptom)
		given := advice{doc.Cause, doc.Todo}
		if other := d.advised[given]; other != "" {
			fmt.Fprintf(out, "    same cause and fix as %s\n", other)
		} else {
			d.advised[given] = name
			fmt.Fprintf(out, "    cause: %s\n", program.Hint(doc.Cause))
			d.fix(doc.Todo)
		}
		for _, other := range doc.Others[:min(len(doc.Others), othersShown)] {
			fmt.Fprintf(out, "    or: %s\n", program.Hint(other.Cause))
			d.fix(other.Todo)
		}
		for _, line := range stderrLines(doc) {
			fmt.Fprintf(out, "    stderr: %s\n", line)
		}
	}
}

// stderrLines returns the lines of stderr to print below the symptom: the last few, preceded by the most telling one if
// it is not among them. It returns none if the symptom already quotes stderr.
func stderrLines(doc serverDoc) []string {
	if strings.Contains(doc.Symptom, "; stderr: ") {
		return nil
	}
	telling := status.FailureLine(doc.Stderr)
	lines := doc.Stderr[max(0, len(doc.Stderr)-stderrShown):]
	if telling != "" && !slices.Contains(lines, telling) {
		lines = append([]string{telling}, lines...)
	}
	return lines
}

// end completes the document, and prints it in the formats JSON and YAML.
func (d *diagnosis) end() error {
	d.doc.OK = d.unhealthy == 0 && d.clusterFailed == 0 && len(d.report.Faults) == 0
	d.doc.Servers = []serverDoc{}
	if d.cfg != nil {
		for _, server := range d.cfg.Servers {
			for _, name := range []string{server.Name, server.Group} {
				if doc, ok := d.servers[name]; ok {
					d.doc.Servers = append(d.doc.Servers, doc)
					delete(d.servers, name)
				}
			}
		}
	}
	if d.format == output.Table {
		return nil
	}
	data, err := json.Marshal(d.doc)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return d.format.Write(d.out, data)
}
