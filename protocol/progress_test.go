package protocol

import "testing"

func TestProgressOf(t *testing.T) {
	for params, want := range map[string][2]float64{
		`{"progressToken":1,"progress":2.5,"total":10,"message":"m"}`: {2.5, 10},
		`{"progressToken":1,"progress":2}`:                            {2, 0},
		`{"progress":1e999,"total":-3}`:                               {0, 0},
		`{"progress":"2","total":null}`:                               {0, 0},
		`[]`:                                                          {0, 0},
	} {
		var f Frame
		if err := f.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`)); err != nil && params != "[]" {
			t.Fatal(err)
		}
		if progress, total := ProgressOf(&f); progress != want[0] || total != want[1] {
			t.Errorf("%s: got %v of %v, want %v", params, progress, total, want)
		}
	}
	if progress, total := ProgressOf(&Frame{}); progress != 0 || total != 0 {
		t.Errorf("no frame: got %v of %v", progress, total)
	}
}
