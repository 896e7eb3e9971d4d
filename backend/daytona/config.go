package daytona

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "daytona"

const (
	// defaultImage has Python, Node and a shell, which is what most tasks want.
	defaultImage = "nikolaik/python-nodejs:python3.11-nodejs20"
	// defaultURL is the public service.
	defaultURL = "https://app.daytona.io/api"
	// maxDisk is what a sandbox may have, in GiB.
	maxDisk = 10
	// defaultDisk is container_disk where nobody set it.
	defaultDisk = 51200
)

// Config is the part of `terminal:` that is about sandboxes of Daytona.
type Config struct {
	Image      string `yaml:"daytona_image" env:"TERMINAL_DAYTONA_IMAGE" default:"nikolaik/python-nodejs:python3.11-nodejs20" help:"image that sandboxes are made from"`
	Snapshot   string `yaml:"daytona_snapshot" env:"TERMINAL_DAYTONA_SNAPSHOT" help:"snapshot of your organization that sandboxes are made from instead of the image; it sets processors, memory and disk"`
	AutoStop   int    `yaml:"daytona_auto_stop" env:"TERMINAL_DAYTONA_AUTO_STOP" default:"15" min:"1" help:"minutes without use after which Daytona stops a sandbox"`
	AutoDelete int    `yaml:"daytona_auto_delete" env:"TERMINAL_DAYTONA_AUTO_DELETE" default:"1440" min:"1" help:"minutes after which Daytona deletes a sandbox that is stopped"`

	Kept         bool          `yaml:"container_persistent" env:"TERMINAL_CONTAINER_PERSISTENT" default:"true" help:"stop the sandbox at the end and use it again; false deletes it"`
	CPU          float64       `yaml:"container_cpu" env:"TERMINAL_CONTAINER_CPU" default:"1" min:"0" help:"processors of a sandbox, rounded up"`
	MemoryMB     int           `yaml:"container_memory" env:"TERMINAL_CONTAINER_MEMORY" default:"5120" min:"0" help:"memory of a sandbox in MB, rounded up to GiB"`
	DiskMB       int           `yaml:"container_disk" env:"TERMINAL_CONTAINER_DISK" default:"51200" min:"0" help:"disk of a sandbox in MB, rounded up to GiB, 10 at most"`
	Network      bool          `yaml:"container_network" env:"TERMINAL_CONTAINER_NETWORK" default:"true" help:"sandboxes reach the network"`
	StartTimeout time.Duration `yaml:"pull_timeout" env:"TERMINAL_PULL_TIMEOUT" default:"600" min:"1" help:"seconds that making a sandbox from an image may take"`
	MaxPlaces    int           `yaml:"max_sandboxes" env:"TERMINAL_MAX_SANDBOXES" default:"8" min:"1" help:"sandboxes of clouds that may run at once"`
	Resident     string        `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath string        `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config {
	return &Config{
		Image: defaultImage, AutoStop: 15, AutoDelete: 1440, Kept: true, CPU: 1, MemoryMB: 5120, DiskMB: defaultDisk, Network: true,
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

// check finds what is wrong for a task that has overrides, without asking anybody.
func (c *Config) check(overrides map[string]string) error {
	switch image, snapshot := c.image(overrides); {
	case image == "" && snapshot == "":
		return badConfig("daytona_image", errors.New("neither an image nor a snapshot is named"))
	case strings.ContainsFunc(image, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || strings.HasPrefix(image, "-"): // it becomes a line of a Dockerfile, where FROM has flags
		return badConfig("daytona_image", fmt.Errorf("%q is no name of an image", image))
	case c.AutoStop < 1:
		return badConfig("daytona_auto_stop", errors.New("a sandbox that never stops is not made; at least 1 minute is allowed"))
	case c.AutoDelete < 1:
		return badConfig("daytona_auto_delete", errors.New("a sandbox that is never deleted is not made; at least 1 minute is allowed"))
	}
	return brought.CheckMode(c.Resident)
}

// cpus, memory and disk are whole processors and GiB; note says where less is given than was asked for.
func (c *Config) cpus() int   { return max(1, int(math.Ceil(c.CPU))) }
func (c *Config) memory() int { return max(1, (c.MemoryMB+1023)/1024) }
func (c *Config) disk() (gib int, note string) {
	gib = max(1, (c.DiskMB+1023)/1024)
	if gib <= maxDisk {
		return gib, ""
	}
	if c.DiskMB != defaultDisk {
		note = fmt.Sprintf("a sandbox has at most %d GiB of disk, less than terminal.container_disk asks for", maxDisk)
	}
	return maxDisk, note
}

// image is what sandboxes of a task are made from: its own choice, a snapshot, the image.
func (c *Config) image(overrides map[string]string) (image, snapshot string) {
	switch o := overrides["daytona_image"]; {
	case o != "":
		return o, ""
	case c.Snapshot != "":
		return "", c.Snapshot
	}
	return c.Image, ""
}

// The variables with credentials.
const (
	varKey    = "DAYTONA_API_KEY"
	varJWT    = "DAYTONA_JWT_TOKEN"
	varOrg    = "DAYTONA_ORGANIZATION_ID"
	varURL    = "DAYTONA_API_URL"
	varTarget = "DAYTONA_TARGET"
)

const wanted = varKey + ", or " + varJWT + " and " + varOrg

// access is how the account is reached.
type access struct {
	api     *cloud.API
	account string
	target  string
}

// accessOf reads the credentials.
func accessOf(variable func(string) string) (*access, error) {
	key, jwt, org := variable(varKey), variable(varJWT), variable(varOrg)
	h := http.Header{"User-Agent": {"hermes"}}
	switch {
	case key != "":
		h.Set("Authorization", "Bearer "+key)
	case jwt != "" && org != "":
		h.Set("Authorization", "Bearer "+jwt)
		h["X-Daytona-Organization-ID"] = []string{org}
	case jwt != "":
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use Daytona", Err: errors.New(varJWT + " is set without " + varOrg)}
	default:
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use Daytona", Err: errors.New("no credentials: set " + wanted)}
	}
	if err := errors.Join(cloud.Credential(varKey, key), cloud.Credential(varJWT, jwt), cloud.Credential(varOrg, org)); err != nil {
		return nil, err
	}
	base, err := cloud.Base(varURL, cmp.Or(variable(varURL), defaultURL))
	if err != nil {
		return nil, err
	}
	a := &access{api: &cloud.API{Base: base, Header: h, Client: cloud.NewClient()}, target: variable(varTarget)}
	if a.account = cloud.Account(key); key == "" {
		a.account = cloud.Account(org) // tokens change from login to login
	}
	return a, nil
}
