package protocol

import "testing"

func TestParseNotes(t *testing.T) {
	for _, c := range []struct {
		result            string
		resource, failure bool
	}{
		{`{"content":[{"type":"resource"}]}`, true, false},
		{`{"content":[{"type":"resource_link"}]}`, true, false},
		{`{"type":"\u0072esource"}`, true, false},
		{`{"type":"r\u0065source"}`, true, false},
		{`{"type":"resourc\u0065"}`, true, false},
		{`{"type":"resource\u005flink"}`, true, false},
		{`{"type":"resource\u005Flink"}`, true, false},
		{`["resource"]`, true, false},
		{`{"resource":1,"resource_link":2}`, false, false},
		{`{"text":"resources of ours"}`, false, false},
		{`{"text":"a \"resource\" in text"}`, false, false},
		{`{"text":"\n\u0072esource"}`, false, false},
		{`{"text":"res\nource"}`, false, false},
		{`{"text":"resourc"}`, false, false},
		{`{"text":"r"}`, false, false},
		{`{"isError":true}`, false, true},
		{"{\"a\":1,\n\"isError\"\t: \r\n true }", false, true},
		{`{"x":{"isError":true}}`, false, true},
		{`{"isError":false}`, false, false},
		{`{"isError":"true"}`, false, false},
		{`{"isErrors":true,"Error":true,"a":[true,true]}`, false, false},
		{`{"text":"\"isError\":true"}`, false, false},
		{`[true,{"type":"resource","isError":true}]`, true, true},
	} {
		var f Frame
		if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + c.result + `}`)); err != nil {
			t.Fatal(err)
		}
		if f.Resource != c.resource || f.Failure != c.failure {
			t.Errorf("%s: noted resource %v, failure %v", c.result, f.Resource, f.Failure)
		}
	}
}
