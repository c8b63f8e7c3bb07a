package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/form"
	"goblin-actor/protocol"
)

// answerer answers the requests that servers send during a command: from flags, otherwise by asking the user at the
// terminal. If neither is possible, it declines them. It never asks the user about roots, see listRoots.
type answerer struct {
	given   []string // --answer
	say     []string
	roots   []string
	yes     bool
	decline bool

	fields map[string]json.RawMessage // --answer @FILE, by field
	texts  map[string]string          // --answer KEY=VALUE, by field
	about  string                     // describes the call in messages
	ctx    context.Context            // the command's context; when it ends, open questions end too
	person *questioner                // nil = the user is not asked, because there is no terminal or because of --decline
	errOut io.Writer
	bar    *terminal.ProgressBar

	mu   sync.Mutex
	said int // number of elements of say that were used
}

// canAnswerAll declares the client's capabilities: everything except sampling with tools.
const canAnswerAll = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

func (a *answerer) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&a.given, "answer", nil, "answer a field of a form with key=value, or several fields with @FILE.json (repeatable)")
	flags.StringArrayVar(&a.say, "say", nil, "response to a sampling request (repeatable, used in order)")
	flags.StringArrayVar(&a.roots, "root", nil, "directory or URI to send to servers that request roots (repeatable; default: the current directory if a user or another flag answers, otherwise none)")
	flags.BoolVar(&a.yes, "yes", false, "accept the defaults of forms and agree to visit URLs without asking")
	flags.BoolVar(&a.decline, "decline", false, "decline everything that --answer, --say and --root do not answer, without asking (roots: an empty list); overrides --yes")
}

// begin reads the flags. about names the item in messages; bar is the progress bar on the same terminal.
func (a *answerer) begin(cmd *cobra.Command, about string, bar *terminal.ProgressBar) error {
	a.about, a.bar, a.errOut = about, bar, cmd.ErrOrStderr()
	a.fields, a.texts = map[string]json.RawMessage{}, map[string]string{}
	for _, text := range a.given {
		if path, ok := strings.CutPrefix(text, "@"); ok {
			if err := a.readFile(path); err != nil {
				return err
			}
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return command.UsageError("pass a value or a file, such as --answer name=Ugg or --answer @answers.json", "--answer %q: expected key=value", text)
		}
		a.texts[key] = value
	}
	for i, root := range a.roots {
		uri, err := rootURI(root)
		if err != nil {
			return command.UsageError("pass a directory or a URI, such as --root . or --root file:///srv/work", "--root %q: %w", root, err)
		}
		a.roots[i] = uri
	}
	if !a.decline && terminal.IsTerminal(cmd.InOrStdin()) && terminal.IsTerminal(cmd.ErrOrStderr()) {
		a.person = newQuestioner(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	return nil
}

func (a *answerer) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--answer: %w", err)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxArguments+1))
	if err != nil {
		return fmt.Errorf("--answer: %w", err)
	}
	if len(raw) > maxArguments {
		return fmt.Errorf("--answer: %s has more than %d bytes", path, maxArguments)
	}
	if err := decode.Own(raw, "--answer @"+path, &a.fields); err != nil {
		return command.UsageError(`write a JSON object such as {"name": "Ugg", "age": 7}`, "%w", err)
	}
	return nil
}

// rootURI returns the URI of a directory. A URI is returned unchanged.
func rootURI(root string) (string, error) {
	if strings.Contains(root, "://") {
		return root, nil
	}
	path, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// options returns the client options, with answer as the Answerer.
func (a *answerer) options(ctx context.Context) client.Options {
	a.ctx = ctx
	return client.Options{
		Name: "goblin-actor", Version: program.Version(), Capabilities: json.RawMessage(canAnswerAll), Answer: a.answer,
	}
}

// answer implements client.Answerer.
func (a *answerer) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	// If the command is interrupted, the response must not be sent: the server could complete the call before it is
	// canceled.
	defer func(request context.Context) {
		if a.ctx.Err() != nil {
			<-request.Done()
		}
	}(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })()
	switch protocol.ParseMethod([]byte(method)) {
	case protocol.MethodElicitationCreate:
		ask, err := form.ParseElicitation(params)
		if err != nil {
			return nil, &client.RPCError{Code: -32602, Message: err.Error()}
		}
		if ask.Mode == "url" {
			return a.visit(ctx, ask)
		}
		return a.fillIn(ctx, ask)
	case protocol.MethodSamplingCreateMessage:
		return a.sample(ctx, params)
	case protocol.MethodRootsList:
		return a.listRoots()
	}
	return nil, &client.RPCError{Code: -32601, Message: "this client does not answer " + method}
}
