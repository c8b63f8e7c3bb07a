package desktop

// Client is a program that keeps a list of MCP servers in a file of its own.
type Client struct {
	ID    string // as people type it: claude-desktop
	Title string
	After string // what has to be done after a change of the file

	key   string  // under which the servers stand
	url   string  // the key of an address; "" = its file takes programs only
	typed bool    // entries say type: stdio or http
	vars  dialect // of variables in values
}

// dialect is how a program writes variables in its file.
type dialect string

const (
	noVariables    dialect = "none"   // ${…} is text
	shellVariables dialect = "shell"  // ${NAME} and ${NAME:-default}, as ours
	spokenVars     dialect = "prefix" // ${env:NAME}, ${userHome}
	editorVars     dialect = "editor" // these, and ${input:id}
	mcpServers             = "mcpServers"
)

// Clients are all that are known, in the order people are shown.
var Clients = []Client{
	{ID: "claude-desktop", Title: "Claude Desktop", After: "quit Claude Desktop and start it again", key: mcpServers, vars: noVariables},
	{ID: "claude-code", Title: "Claude Code", After: "start a new session of Claude Code", key: mcpServers, url: "url", typed: true, vars: shellVariables},
	{ID: "cursor", Title: "Cursor", After: "switch the server on in Cursor's settings if it asks", key: mcpServers, url: "url", vars: spokenVars},
	{ID: "vscode", Title: "VS Code", After: "start the server in VS Code: command MCP: List Servers", key: "servers", url: "url", typed: true, vars: editorVars},
	{ID: "windsurf", Title: "Windsurf", After: "press refresh among the MCP servers of Windsurf", key: mcpServers, url: "serverUrl", vars: spokenVars},
	{ID: "zed", Title: "Zed", After: "nothing else: Zed reads its settings when they change", key: "context_servers", url: "url", vars: noVariables},
}

// ByID finds a client; ok is false for a name nobody has.
func ByID(id string) (Client, bool) {
	for _, c := range Clients {
		if c.ID == id {
			return c, true
		}
	}
	return Client{}, false
}

// IDs lists the names ByID takes.
func IDs() []string {
	var ids []string
	for _, c := range Clients {
		ids = append(ids, c.ID)
	}
	return ids
}

// TakesURL tells whether the client's file can name an address instead of a program.
func (c Client) TakesURL() bool { return c.url != "" }
