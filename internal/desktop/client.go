package desktop

// Client is a desktop program with a file that lists MCP servers.
type Client struct {
	ID    string // as typed by users, for example claude-desktop
	Title string
	After string // what the user must do after the file has changed

	key   string  // key of the servers in the file
	url   string  // key of an address in an entry; "" if only programs are supported
	typed bool    // entries have type: stdio or http
	vars  dialect // syntax of variables in values
}

// dialect is the syntax of variables in a file.
type dialect string

const (
	noVariables    dialect = "none"   // ${…} is literal text
	shellVariables dialect = "shell"  // ${NAME} and ${NAME:-default}, as in goblin.yaml
	prefixVars     dialect = "prefix" // ${env:NAME}, ${userHome}
	editorVars     dialect = "editor" // like prefix, and ${input:id}
	mcpServers             = "mcpServers"
)

// Clients lists the supported clients in display order.
var Clients = []Client{
	{ID: "claude-desktop", Title: "Claude Desktop", After: "quit and restart Claude Desktop", key: mcpServers, vars: noVariables},
	{ID: "claude-code", Title: "Claude Code", After: "start a new Claude Code session", key: mcpServers, url: "url", typed: true, vars: shellVariables},
	{ID: "cursor", Title: "Cursor", After: "enable the server in Cursor's settings if asked", key: mcpServers, url: "url", vars: prefixVars},
	{ID: "vscode", Title: "VS Code", After: "start the server in VS Code with the command MCP: List Servers", key: "servers", url: "url", typed: true, vars: editorVars},
	{ID: "windsurf", Title: "Windsurf", After: "refresh the MCP servers in Windsurf", key: mcpServers, url: "serverUrl", vars: prefixVars},
	{ID: "zed", Title: "Zed", After: "nothing to do, because Zed reloads its settings", key: "context_servers", url: "url", vars: noVariables},
}

// ByID returns the client with that ID. ok is false if there is none.
func ByID(id string) (Client, bool) {
	for _, c := range Clients {
		if c.ID == id {
			return c, true
		}
	}
	return Client{}, false
}

// IDs returns the IDs of all clients.
func IDs() []string {
	var ids []string
	for _, c := range Clients {
		ids = append(ids, c.ID)
	}
	return ids
}

// TakesURL reports whether an entry in the client's file can be an address.
func (c Client) TakesURL() bool { return c.url != "" }
