package load

import "testing"

func TestRefusals(t *testing.T) {
	if !isRefusal([]byte(`{"error":{"data":{"code":"QUEUE_FULL"}}}`)) || isRefusal([]byte(`{"result":{}}`)) {
		t.Error("isRefusal is wrong")
	}
}
