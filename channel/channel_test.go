package channel_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// A question can be sent elsewhere as JSON, whole but for what comes later.
func TestQuestion_IsPlainData(t *testing.T) {
	q := channel.Question{ID: "1", Kind: channel.KindApproval, Command: "rm -rf x", Choices: []channel.Choice{channel.Once, channel.Under}, Under: "/data",
		Findings: []channel.Finding{{Key: "recursive delete", Span: [2]int{0, 8}}}, Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	sent := q
	sent.Preview = make(chan string)
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var got channel.Question
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("%v, %+v", err, got)
	}
}
