// Package cli is the command line of goblin-actor: NewRoot builds the tree of commands, Run executes one command line.
//
// Commands are in the packages below, by task: serve, ask, configure, operate, doctor, access and benchmark. A new command is a
// constructor in one of them and a line in root.go. A command reads cmd.InOrStdin. It writes its result to cmd.OutOrStdout, and progress,
// logs and hints to cmd.ErrOrStderr. It returns a *command.Error if the exit code is not 1. Command packages do not import each other;
// what they share is in command, target, configfile, local, output, terminal, program and console.
package cli
