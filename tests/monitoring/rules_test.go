package monitoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// rule is an alert of contrib/prometheus/alerts.yml.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readPrometheusFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(contrib, "prometheus", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func readRules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal([]byte(readPrometheusFile(t, "alerts.yml")), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("alerts.yml: %+v, want one group with rules", file)
	}
	return file.Groups[0].Rules
}

// Each alert says what happens and what to do, has a severity, and is tested by alerts_test.yml.
func TestAlertsAreComplete(t *testing.T) {
	tests := readPrometheusFile(t, "alerts_test.yml")
	for _, r := range readRules(t) {
		for _, key := range []string{"summary", "description", "action"} {
			if r.Annotations[key] == "" {
				t.Errorf("%s has no annotation %s", r.Alert, key)
			}
		}
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s has the severity %q, want warning or critical", r.Alert, s)
		}
		if !strings.Contains(tests, `alertname="`+r.Alert+`", alertstate="firing"`) {
			t.Errorf("alerts_test.yml has no test in which %s fires", r.Alert)
		}
	}
}
