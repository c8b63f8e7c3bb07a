// Package poll detects, for any number of sockets, that bytes or the end of the connection have arrived. A goroutine for each
// socket, which waits in a read, would do the same, but its stack would be much of the cost of an idle connection.
package poll
