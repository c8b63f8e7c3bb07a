// Package ask contains the commands that act as an MCP client of a gateway: list, call, read, prompt, describe and watch.
//
// During a call, a server may send requests to the client (elicitation, sampling, roots). The answerer answers them
// from flags or by asking the user at the terminal.
package ask
