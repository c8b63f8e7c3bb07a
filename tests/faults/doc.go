// Package faults breaks things around the real binary. It holds tests only:
//
//	servers_test.go   servers that print garbage, die, hang, flood, lie
//	clients_test.go   clients that vanish, read slowly, forge session ids, answer what nobody asked
//	life_test.go      kill -9, signals, reloads under load, two gateways on one port
//
// Each fault must be told to whoever must know, named in the log, and cost nobody else anything: a healthy server and a
// healthy client go on meanwhile, and no process, descriptor or memory is left behind (read from /proc, so on Linux only).
package faults
