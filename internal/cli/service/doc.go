// Package service has the command service, which runs the gateway as a service of the user: a unit of the systemd user
// instance, an agent of launchd, or a task of the Windows task scheduler.
//
// A definition describes the service. A manager writes it as a file in the form of its system and controls the service
// with the system's own commands. All three managers are compiled everywhere, so that their files can be tested on one
// system.
package service
