// Package benchmark holds the bench command. The measurements themselves are in package bench.
package benchmark
