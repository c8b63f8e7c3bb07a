// Package faults tests the real binary with faulty peers:
//
//	servers_test.go      servers that print garbage, die, hang, flood or lie
//	clients_test.go      clients that vanish, read slowly, forge session ids, or send unexpected answers
//	life_test.go         kill -9, signals, reloads under load, two gateways on one port
//	storm_test.go        ten thousand sessions, servers that die repeatedly
//	wire_test.go         requests that are invalid, too large or never end
//	config_test.go       invalid configuration files of many kinds
//	settings_test.go     reloads of settings outside mcpServers
//	floods_test.go       servers and clients that send without pause
//	pipes_test.go        clients on stdio that are killed while a call reports progress
//	lazy_test.go         lazy servers; scaling and restarts under load
//	known_test.go        the catalog in the state file, after restarts and kill -9
//	regressions_test.go  messages that must pass unchanged, cancellations, timeouts, web pages of other origins
//
// Each fault must be reported to the affected clients and logged with its cause, and must not affect others: a healthy server and a
// healthy client continue meanwhile, and no process, descriptor or memory leaks (read from /proc, so only on Linux).
package faults
