// Command check validates the files of the recipes against the schemas of Kubernetes and of compose:
//
//	go run . ../kubernetes/goblin-actor.yaml ../compose/compose.yaml
//
// It is a module of its own, so that the gateway does not depend on these libraries.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: check KUBERNETES-FILE COMPOSE-FILE")
		os.Exit(2)
	}
	objects, err := kubernetes(os.Args[1])
	if err == nil {
		fmt.Printf("%s: %d valid objects\n", os.Args[1], objects)
		err = compose(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kubernetes decodes every object of a file into its type, and refuses unknown and repeated fields.
func kubernetes(path string) (objects int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &head); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		types := map[string]any{
			"v1 ConfigMap": &corev1.ConfigMap{}, "v1 Service": &corev1.Service{}, "apps/v1 StatefulSet": &appsv1.StatefulSet{},
			"policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "networking.k8s.io/v1 NetworkPolicy": &networkingv1.NetworkPolicy{},
			"networking.k8s.io/v1 Ingress": &networkingv1.Ingress{},
		}
		kind := head.APIVersion + " " + head.Kind
		object, ok := types[kind]
		if !ok {
			return 0, fmt.Errorf("%s: unknown kind %q", path, kind)
		}
		if err := yaml.UnmarshalStrict(part, object); err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, kind, err)
		}
		objects++
	}
	return objects, nil
}

// compose loads a compose file, which validates it against the schema.
func compose(path string) error {
	options, err := cli.NewProjectOptions([]string{path}, cli.WithEnv([]string{"CLUSTER_SECRET=x"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	for _, name := range project.ServiceNames() {
		s := project.Services[name]
		fmt.Printf("%s: service %s: image %s, %d volumes, %d variables\n", path, name, s.Image, len(s.Volumes), len(s.Environment))
	}
	return nil
}
