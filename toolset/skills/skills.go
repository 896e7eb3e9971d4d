// Package skills is the toolset skills: texts that teach an agent a kind of work.
package skills

import (
	"errors"

	"github.com/hermes-runtime/hermes/internal/skill"
	"github.com/hermes-runtime/hermes/tool"
)

// session finds the skills of a call's session.
func session(c *tool.Call) (*skill.Session, error) {
	if s, ok := tool.Service[*skill.Session](c); ok {
		return s, nil
	}
	return nil, errors.New("this session has no skills")
}

// refused is what a model reads of a call that found nothing.
type refused struct {
	Success   bool     `json:"success"`
	Error     string   `json:"error"`
	Available []string `json:"available_skills,omitempty"`
	Matches   []string `json:"matches,omitempty"`
}
