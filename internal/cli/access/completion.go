package access

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

// completeKeys completes names of keys. It completes nothing if the key file cannot be read.
func completeKeys(of *keyFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return keyNames(of), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWho completes principals: local and the names of the keys.
func completeWho(configFlag *string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append([]string{identity.LocalID}, keyNames(&keyFlags{config: *configFlag})...), cobra.ShellCompDirectiveNoFileComp
	}
}

func keyNames(of *keyFlags) []string {
	file, err := of.find()
	if err != nil {
		return nil
	}
	keys, err := auth.Load(file.path)
	if err != nil {
		return nil
	}
	var words []string
	for _, k := range keys {
		words = append(words, k.Name+"\t"+strings.Join(k.Roles, ", "))
	}
	return words
}

// completeRoles completes names of roles in the configuration.
func completeRoles(configFlag *string) cobra.CompletionFunc {
	return completeFrom(configFlag, func(cfg *config.Config) (words []string) {
		for _, r := range cfg.Policy.Roles {
			words = append(words, r.Name)
		}
		return words
	})
}

// completeProjects completes names of projects in the configuration.
func completeProjects(configFlag *string) cobra.CompletionFunc {
	return completeFrom(configFlag, func(cfg *config.Config) (words []string) {
		for _, p := range cfg.Projects {
			words = append(words, p.Name)
		}
		return words
	})
}

// completeFrom completes with words from the configuration.
func completeFrom(configFlag *string, words func(*config.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		path, ok := config.Find(*configFlag, os.Getenv)
		if !ok {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, _ := config.Peek(path)
		if cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cfg), cobra.ShellCompDirectiveNoFileComp
	}
}
