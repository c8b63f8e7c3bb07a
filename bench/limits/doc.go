// Package limits finds the highest load that a machine can sustain, and the bottleneck there.
//
// For each server and era of clients it increases the number of clients, or the rate of calls, until throughput stops
// growing or a limit is exceeded. The knee is the fewest clients that reach about the best throughput. The bottleneck
// is determined from the use of processors and queues in the step after the knee.
package limits
