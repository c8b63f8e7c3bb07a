// Package monitoring tests the dashboards in contrib/grafana and the alert rules in contrib/prometheus.
//
// The tests that make test runs check that panels and alerts are complete, and compare the names of metrics and labels
// with the gateway's families. TestLive, run by make dashboards, starts Prometheus and a gateway under load with one
// server that fails and one that is down. Every query of every panel must return data. The alerts of these two servers
// must fire, and no others. With -draw, it also draws the pictures in docs/images from the data of the queries.
package monitoring
