//go:build unix

package hermes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/tool"
)

// Questions that are answered elsewhere: each by its id.
func ExampleOpenQuestions() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	questions, err := hermes.OpenQuestions(ctx, hermes.QuestionOptions{Dir: dir + "/questions"})
	if err != nil {
		panic(err)
	}
	defer questions.Close(ctx)
	rt, err := hermes.New(hermes.Options{Home: dir + "/home", Dir: dir, Asker: questions}).Open(ctx)
	if err != nil {
		panic(err)
	}
	defer rt.Close(ctx)

	open, stop := questions.Subscribe("console")
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		q := <-open
		fmt.Println(q.Command, "-", q.Findings[0].Key)
		outcome, err := questions.Answer(ctx, q.ID, hermes.QuestionReply{Choice: channel.Deny, By: hermes.Person{Channel: "console", ID: "ann"}})
		fmt.Println(outcome.Status, outcome.Who, err)
		<-open // it has ended
	}()
	result := rt.Call(ctx, tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command": "rm -rf build"}`)})
	<-done
	fmt.Println(result.Status)
	// Output:
	// rm -rf build - recursive delete
	// denied console:ann <nil>
	// denied
}
