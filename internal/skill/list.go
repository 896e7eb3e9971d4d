package skill

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hermes-runtime/hermes/channel"
)

// Person is whoever can be asked in a session.
type Person interface {
	Ask(ctx context.Context, q channel.Question) (channel.Answer, error)
}

// List is the skills that the session may use. Where the project brings some that nobody agreed to, p is asked; nil = they are left out.
func (s *Session) List(ctx context.Context, p Person) []*Skill {
	skills, _ := s.Find(ctx, p)
	return skills
}

// Find is List that also says what is wrong with those that can't be used, each with its file and line.
func (s *Session) Find(ctx context.Context, p Person) (skills []*Skill, broken []error) {
	places := s.library.places()
	if project := s.agreedProject(ctx, p); project != "" {
		places = append(places, inProject(project)...)
	}
	return find(places)
}

// agreedProject is the directory of the session's project if its skills are to be used.
func (s *Session) agreedProject(ctx context.Context, p Person) string {
	dir := s.project()
	mode := s.library.o.Config.Project
	if dir == "" || mode == projectOff {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if mode == projectOn || s.library.agreed(dir) {
		return dir
	}
	s.mu.Lock()
	turned := s.turned[dir]
	s.mu.Unlock()
	if p == nil || turned || !s.consent(ctx, p, dir) {
		return ""
	}
	return dir
}

// listed is how many skills of a project a question names.
const listed = 10

// consent asks once whether the skills of a project are to be used. A yes is remembered for good, anything else for this session.
func (s *Session) consent(ctx context.Context, p Person, dir string) bool {
	skills, _ := find(inProject(dir))
	if len(skills) == 0 {
		return false
	}
	var names []string
	for i, k := range skills {
		if i == listed {
			names = append(names, fmt.Sprintf("and %d more", len(skills)-i))
			break
		}
		names = append(names, k.Name)
	}
	a, err := p.Ask(ctx, channel.Question{
		Kind: channel.KindClarify, Title: "A project brings skills.", Options: []string{yes, no},
		Text: fmt.Sprintf("%s brings skills of its own: %s. A skill tells the agent what to do and may have it run programs. Use them, now and in later sessions?", dir, strings.Join(names, ", ")),
	})
	if ctx.Err() != nil {
		return false
	}
	if err == nil && strings.EqualFold(strings.TrimSpace(a.Text), yes) {
		err = s.library.agree(ctx, dir)
		return err == nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turned[dir] = true
	return false
}

// The answers about a project's skills.
const (
	yes = "yes"
	no  = "no"
)

// Index is what a system prompt says of the skills there are: a line for each, "" where there are none. Nobody is asked for it.
func (s *Session) Index(ctx context.Context) string {
	var b strings.Builder
	for _, k := range s.List(ctx, nil) {
		fmt.Fprintf(&b, "- %s: %s\n", k.Title(), strings.Join(strings.Fields(k.Description), " "))
	}
	return b.String()
}
