// Package ask contains the commands that act as an MCP client of a gateway: list, call, read, prompt, describe and watch.
//
// A call can make a server send requests to the client (elicitation, sampling, roots). The answerer answers them from flags or
// asks the user at the terminal.
package ask
