package vercel

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "vercel_sandbox"

const (
	// defaultURL is the public service.
	defaultURL = "https://vercel.com/api"
	// defaultDisk and defaultMemory are container_disk and container_memory where nobody set them.
	defaultDisk, defaultMemory = 51200, 5120
	// idle is how long a sandbox runs without a sign of use; Vercel grants no less than five minutes reliably.
	idle = 5 * time.Minute
	// memoryPerCPU is what a processor of a sandbox comes with, in MB.
	memoryPerCPU = 2048
)

// runtimes are the systems that sandboxes may have.
var runtimes = []string{"node24", "node22", "python3.13"}

// Config is the part of `terminal:` that is about sandboxes of Vercel.
type Config struct {
	URL     string `yaml:"vercel_api_url" env:"TERMINAL_VERCEL_API_URL" default:"https://vercel.com/api" help:"address of Vercel's API; https, except on this machine"`
	Runtime string `yaml:"vercel_runtime" env:"TERMINAL_VERCEL_RUNTIME" default:"node24" enum:"node24|node22|python3.13" help:"system that sandboxes of Vercel have"`

	Kept         bool          `yaml:"container_persistent" env:"TERMINAL_CONTAINER_PERSISTENT" default:"true" help:"stop the sandbox at the end and use it again; false deletes it"`
	CPU          float64       `yaml:"container_cpu" env:"TERMINAL_CONTAINER_CPU" default:"1" min:"0" help:"processors of a sandbox, rounded down to 1 or an even number"`
	MemoryMB     int           `yaml:"container_memory" env:"TERMINAL_CONTAINER_MEMORY" default:"5120" min:"0" help:"memory of a sandbox in MB; Vercel gives 2048 for each processor"`
	DiskMB       int           `yaml:"container_disk" env:"TERMINAL_CONTAINER_DISK" default:"51200" min:"0" help:"disk of a sandbox in MB; Vercel lets nobody choose it"`
	Network      bool          `yaml:"container_network" env:"TERMINAL_CONTAINER_NETWORK" default:"true" help:"sandboxes reach the network"`
	StartTimeout time.Duration `yaml:"pull_timeout" env:"TERMINAL_PULL_TIMEOUT" default:"600" min:"1" help:"seconds that making a sandbox may take"`
	MaxPlaces    int           `yaml:"max_sandboxes" env:"TERMINAL_MAX_SANDBOXES" default:"8" min:"1" help:"sandboxes of clouds that may run at once"`
	Resident     string        `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath string        `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config {
	return &Config{
		URL: defaultURL, Runtime: runtimes[0], Kept: true, CPU: 1, MemoryMB: defaultMemory, DiskMB: defaultDisk, Network: true,
		StartTimeout: 600 * time.Second, MaxPlaces: cloud.MaxPlaces, Resident: brought.Auto,
	}
}

// configOf gives the settings that a function of the registration was called with.
func configOf(c any) *Config {
	if c, ok := c.(*Config); ok && c != nil {
		return c
	}
	return defaults()
}

func badConfig(key string, err error) error {
	return &environment.Error{Kind: environment.ErrConfig, Op: "terminal." + key, Err: err}
}

// check finds what is wrong without asking anybody.
func (c *Config) check() error {
	switch {
	case !slices.Contains(runtimes, c.Runtime):
		return badConfig("vercel_runtime", fmt.Errorf("%q is none of %s", c.Runtime, strings.Join(runtimes, ", ")))
	case c.DiskMB != defaultDisk:
		return badConfig("container_disk", fmt.Errorf("sandboxes of Vercel have a disk of one size; leave it at %d", defaultDisk))
	}
	return brought.CheckMode(c.Resident)
}

// cpus is 1 or an even number, as Vercel wants it.
func (c *Config) cpus() int {
	n := max(1, int(c.CPU))
	if n > 1 {
		n -= n % 2
	}
	return n
}

// The variables with credentials.
const (
	varOIDC    = "VERCEL_OIDC_TOKEN"
	varToken   = "VERCEL_TOKEN"
	varTeam    = "VERCEL_TEAM_ID"
	varProject = "VERCEL_PROJECT_ID"
)

const wanted = varOIDC + ", or " + varToken + ", " + varTeam + " and " + varProject

// access is how the account is reached.
type access struct {
	api           *cloud.API
	account       string
	team, project string
}

func noAccess(format string, args ...any) error {
	return &environment.Error{Kind: environment.ErrUnavailable, Op: "use Vercel", Err: fmt.Errorf(format, args...)}
}

// accessOf reads the credentials. A token of a login (OIDC) says itself which team and project it is for.
func accessOf(c *Config, variable func(string) string) (*access, error) {
	from, token, a := varOIDC, variable(varOIDC), &access{}
	if token != "" {
		claims, err := claimsOf(token)
		switch {
		case err != nil:
			return nil, noAccess("%s %w", varOIDC, err)
		case claims.Ends != 0 && time.Now().Unix() >= claims.Ends:
			return nil, noAccess("%s expired at %s; get another one (vercel env pull), or unset it to use %s", varOIDC, time.Unix(claims.Ends, 0).UTC().Format(time.RFC3339), varToken)
		}
		a.team, a.project = claims.Team, claims.Project
	} else {
		from = varToken
		token, a.team, a.project = variable(varToken), variable(varTeam), variable(varProject)
		var missing []string
		for _, v := range []struct{ name, value string }{{varToken, token}, {varTeam, a.team}, {varProject, a.project}} {
			if v.value == "" {
				missing = append(missing, v.name)
			}
		}
		switch len(missing) {
		case 0:
		case 3:
			return nil, noAccess("no credentials: set %s", wanted)
		default:
			return nil, noAccess("%s not set", strings.Join(missing, " and "))
		}
	}
	if err := errors.Join(cloud.Credential(from, token), cloud.Credential(varTeam, a.team), cloud.Credential(varProject, a.project)); err != nil {
		return nil, err
	}
	base, err := cloud.Base("terminal.vercel_api_url", cmp.Or(c.URL, defaultURL))
	if err != nil {
		return nil, err
	}
	a.api = &cloud.API{Base: base, Header: http.Header{"User-Agent": {"hermes"}, "Authorization": {"Bearer " + token}}, Client: cloud.NewClient()}
	a.account = cloud.Account(a.team + "/" + a.project) // tokens change
	return a, nil
}

// claims are what a token says of itself.
type claims struct {
	Team    string `json:"owner_id"`
	Project string `json:"project_id"`
	Ends    int64  `json:"exp"`
}

// claimsOf reads what a token says. Whether it is genuine is for Vercel to find out.
func claimsOf(token string) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, errors.New("is no token of the form A.B.C")
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(b, &c) != nil {
		return c, errors.New("can't be read")
	}
	if c.Team == "" || c.Project == "" {
		return c, errors.New("names no team or no project (owner_id, project_id)")
	}
	return c, nil
}

// query is what every request says.
func (a *access) query() url.Values { return url.Values{"teamId": {a.team}} }

// named is what requests say that name a sandbox.
func (a *access) named() url.Values {
	q := a.query()
	q.Set("projectId", a.project)
	return q
}
