// Package output prints results as a table, JSON or YAML.
package output
