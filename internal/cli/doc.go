// Package cli is the command line of goblin-actor. NewRoot builds the tree of commands, and Run executes one command
// line.
//
// The commands are in the packages below, by task: serve, service, ask, configure, operate, doctor, access and
// benchmark. To add a command, write a constructor in one of them and call it in root.go. A command reads from
// cmd.InOrStdin. It writes its result to cmd.OutOrStdout, and progress, logs and hints to cmd.ErrOrStderr. If the exit
// code is to be other than 1, it returns a *command.Error. Command packages do not import each other, except that
// benchmark imports serve. What they share is in command, target, configfile, local, output, terminal, program and
// console.
package cli
