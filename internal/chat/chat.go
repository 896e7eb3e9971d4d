// Package chat is a conversation at a terminal: what the model says, a line for each call that runs, and the message that is written.
package chat

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// Settings is `display:`, how a conversation at a terminal looks and behaves.
type Settings struct {
	BusyInputMode Busy `yaml:"busy_input_mode" default:"interrupt" enum:"interrupt|queue|steer" help:"what a message does that is sent while the model works: end the turn, wait for its end, or be told to the model within it"`
	Still         bool `yaml:"still" default:"false" help:"change nothing that stands on the screen, for screen readers; a dumb terminal is treated so anyway"`
}

// Section is where the settings stand.
func (*Settings) Section() string { return "display" }

func init() { config.Register(func() config.Sectioned { return &Settings{} }) }

// Busy says what becomes of a message that is sent while a turn runs.
type Busy string

// What may become of it.
const (
	Interrupt Busy = "interrupt" // the turn ends, the message begins the next; the default
	Queue     Busy = "queue"     // it begins a turn once the running one has ended
	Steer     Busy = "steer"     // the model is told within the turn
)

// Opening says which conversation is opened.
type Opening struct {
	Resume string // a stored one, by id, prefix, title, or "last"; "" = a new one
	Model  string // [PROVIDER/]MODEL; "" = the stored or the configured one
	Shared bool   // also one that is in use elsewhere
	Asker  channel.Asker
	Listen func(agent.Event)
}

// Conversation is what is had at the screen.
type Conversation interface {
	ID() string
	Model() provider.Info
	Turn(ctx context.Context, text string) agent.Outcome
	Steer(text string) bool
	Unread() []string
	// StopChildren ends those that work in the background, and says how many that are.
	StopChildren() int
	Compact(ctx context.Context) error
	History() []provider.Message
	Close(ctx context.Context) error
}

// Tool is one that the model may call.
type Tool struct{ Name, Toolset, Description string }

// Skill is one that a command begins.
type Skill struct{ Name, Description string }

// Host opens conversations and tells of what is stored.
type Host interface {
	// Open opens a conversation, with notices for the person. It is store.ErrInUse if it is in use elsewhere.
	Open(ctx context.Context, o Opening) (Conversation, []string, error)
	Tools(c Conversation) []Tool
	Skills(ctx context.Context, c Conversation) []Skill
	// Find finds a stored one as Opening.Resume says.
	Find(ctx context.Context, ref string) (store.Session, error)
	Todos(ctx context.Context, session string) ([]store.Todo, error)
	Sessions(ctx context.Context) ([]store.Entry, error)
}

// Options begins a chat.
type Options struct {
	Host    Host
	Screen  *Screen
	In      *os.File // a terminal
	Opening Opening  // of the first conversation; Asker and Listen are filled in
	Busy    Busy     // "" = Interrupt
	Still   bool     // nothing that stands on the screen is changed: screen readers would read it again and again
	// Asker makes who asks the person; interrupt is to be called when they interrupt a question. nil = nobody can answer.
	Asker func(interrupt func()) channel.Asker
}

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

// What bounds the end of a conversation: of its turn, and of what else it holds.
const (
	turnEnd = 3 * time.Second
	restEnd = 2 * time.Second
)

// Left says how a chat ended.
type Left struct {
	Code     int      // to exit with
	Sessions []string // that can be gone on with, the last one last
}

// Run has conversations until the person leaves. The error says why the first one could not be opened. Ending ctx ends the chat. The
// terminal is given back on every way out.
func Run(ctx context.Context, o Options) (left Left, err error) {
	t := &talk{
		o: o, screen: o.Screen, keyboard: &keyboard{file: o.In, out: o.Screen.o.Rest, dumb: o.Screen.o.Dumb},
		strokes: make(chan stroke), interrupts: make(chan struct{}, 1),
	}
	o.Screen.still = o.Screen.still || o.Still
	if err := t.keyboard.open(); err != nil {
		return left, fmt.Errorf("read from the terminal: %w", err)
	}
	defer func() {
		t.screen.leave()
		if closeErr := t.keyboard.close(); err == nil && closeErr != nil {
			err = fmt.Errorf("give the terminal back: %w", closeErr)
		}
		left.Sessions = t.left
	}()
	ctx, stop := t.signals(ctx)
	defer stop()
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); t.keyboard.read(reading, t.strokes) }()
	defer func() { cancel(); <-done }()
	if err := t.open(ctx, o.Opening); err != nil {
		return left, err
	}
	defer t.close(ctx)
	left.Code = t.run(ctx)
	return left, nil
}

// signals ends the context with an interrupt or a request to end, also a second time: dying of it would leave the terminal as it is.
func (t *talk) signals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-c:
				cancel(tool.Shutdown)
				if n > 0 { // whoever sends it twice doesn't want to wait
					_ = t.keyboard.restore()
					os.Exit(exitInterrupted)
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(c); close(done); <-ended; cancel(nil) }
}
