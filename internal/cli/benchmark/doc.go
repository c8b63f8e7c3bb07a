// Package benchmark contains the bench command. The measurements themselves are in package bench.
package benchmark
