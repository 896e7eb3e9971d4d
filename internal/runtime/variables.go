package runtime

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/secret"
)

// Getenv looks a variable up: in the environment, else in HERMES_HOME's .env.
func (r *Runtime) Getenv(name string) string {
	v, _ := r.lookupEnv(name)
	return v
}

// fromFile are the variables of .env.
func (r *Runtime) fromFile() map[string]string {
	if vars := r.dotenv.Load(); vars != nil {
		return *vars
	}
	return nil
}

func (r *Runtime) dotenvFile() string { return filepath.Join(r.home, ".env") }

// keepVariable puts a secret that a person typed into HERMES_HOME's .env. It is known as one from now on.
func (r *Runtime) keepVariable(ctx context.Context, name, value string) error {
	r.secrets.Add(name, value)
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	if err := config.SetDotEnv(ctx, r.dotenvFile(), name, value); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	for {
		old := r.dotenv.Load()
		now := maps.Clone(*old)
		if now == nil {
			now = map[string]string{}
		}
		now[name] = value
		if r.dotenv.CompareAndSwap(old, &now) {
			return nil
		}
	}
}

// LookupEnv is Getenv that tells an empty variable from one that isn't set.
func (r *Runtime) LookupEnv(name string) (string, bool) {
	if v, ok := r.environ[name]; ok {
		return v, true
	}
	v, ok := r.fromFile()[name]
	return v, ok
}

// lookupEnv takes an empty variable for one that isn't set.
func (r *Runtime) lookupEnv(name string) (string, bool) {
	if v, ok := r.environ[name]; ok && v != "" {
		return v, true
	}
	v, ok := r.fromFile()[name]
	return v, ok
}

// heldSecrets are the values that never leave: variables and .env entries that are named like a secret.
func (r *Runtime) heldSecrets() map[string]string {
	out := map[string]string{}
	if name := r.settings.model.KeyEnv; name != "" { // whatever it is called
		out[name] = r.Getenv(name)
	}
	for _, from := range []map[string]string{r.environ, r.fromFile()} {
		for name, value := range from {
			if secret.IsSecretName(name) && !namesPlace(value) {
				out[name] = value
			}
		}
	}
	return out
}

// namesPlace tells whether a value says where something lies rather than what it is: a file that is there, a socket.
func namesPlace(value string) bool {
	if strings.HasPrefix(value, "unix:") {
		return true
	}
	if !filepath.IsAbs(value) { // a key may well begin with a slash
		return false
	}
	_, err := os.Stat(value)
	return err == nil
}

func variables(list []string) map[string]string {
	if list == nil {
		list = os.Environ()
	}
	out := make(map[string]string, len(list))
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			out[name] = value
		}
	}
	return out
}
