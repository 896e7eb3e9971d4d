package runtime

import (
	"errors"
	"reflect"
	"sync"

	"github.com/hermes-runtime/hermes/internal/config"
)

// services finds what tools ask for: a value by its own type or by an interface that it has, or a settings struct, which is
// filled from the configuration at the first question.
type services struct {
	outer  *services // asked where this one has nothing
	held   []any
	doc    func() *config.Document
	getenv func(string) string
	warn   func(error)
	found  sync.Map // reflect.Type → any
}

// none marks a type that nothing answers to.
type none struct{}

// Service implements tool.Services.
func (s *services) Service(t reflect.Type) any {
	if v, ok := s.found.Load(t); ok {
		if _, missing := v.(none); missing {
			return nil
		}
		return v
	}
	v := s.find(t)
	if v == nil {
		s.found.Store(t, none{})
		return nil
	}
	kept, _ := s.found.LoadOrStore(t, v)
	return kept
}

func (s *services) find(t reflect.Type) any {
	for _, v := range s.held {
		if vt := reflect.TypeOf(v); vt == t || t.Kind() == reflect.Interface && vt.Implements(t) {
			return v
		}
	}
	if s.outer != nil {
		return s.outer.Service(t)
	}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		if v, ok := reflect.New(t.Elem()).Interface().(config.Sectioned); ok {
			return s.settings(v)
		}
	}
	return nil
}

// settings fills a settings struct. Fields with bad values have their defaults; each problem is told once.
func (s *services) settings(v config.Sectioned) any {
	err := s.doc().Decode(v.Section(), v)
	if err == nil {
		return v
	}
	if k, ok := v.(interface{ Invalid(error) }); ok { // it refuses by itself when it is used
		k.Invalid(err)
	}
	for _, e := range unjoin(err) {
		s.warn(e)
	}
	return v
}

func unjoin(err error) []error {
	if j, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// Getenv implements tool.Services.
func (s *services) Getenv(name string) string {
	if s.getenv == nil {
		return s.outer.Getenv(name)
	}
	return s.getenv(name)
}
