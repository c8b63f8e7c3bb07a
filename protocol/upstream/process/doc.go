// Package process is the link to a server that is a program. Frames are lines on its stdin and stdout, lines on its
// stderr are reported as events, and the whole process group ends with the link. MCP 2025-11-25,
// basic/transports#stdio.
package process
