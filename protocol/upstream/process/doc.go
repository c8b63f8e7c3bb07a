// Package process is the link to a server that is a program: frames are lines on its stdin and stdout, its stderr is told
// line by line, and when the link ends the whole process group does. MCP 2025-11-25, basic/transports#stdio.
package process
