// Package faults breaks things around the real binary. It holds tests only:
//
//	servers_test.go   servers that print garbage, die, hang, flood, lie
//	clients_test.go   clients that vanish, read slowly, forge session ids, answer what nobody asked
//	life_test.go      kill -9, signals, reloads under load, two gateways on one port
//	storm_test.go     ten thousand sessions, children that die again and again
//	wire_test.go      requests that are none, too large or never end
//	config_test.go    configuration files of every bad kind
//
// Each fault must be told to whoever must know, named in the log, and cost nobody else anything: a healthy server and a
// healthy client go on meanwhile, and no process, descriptor or memory is left behind (read from /proc, so on Linux only).
package faults
