package report

import "testing"

func TestFanoutFailures(t *testing.T) {
	row := FanoutRow{Lost: 2, Crossed: 1}
	if got := row.failed(); got != "2 lost, 1 wrong" {
		t.Error(got)
	}
	if f := (&Fanout{Rows: []FanoutRow{row}}); f.Failures() != 3 {
		t.Error(f.Failures())
	}
}
