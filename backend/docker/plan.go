package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/container"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// Paths inside a container.
const (
	rootHome  = "/root"
	workspace = "/workspace"
	// carried is where the hermes binary is found there.
	carried = "/.hermes/resident"
	// keeping is how the keeper of jobs there is called.
	keeping = carried + " resident --keeper"
)

// sleeper keeps a container up and does nothing. It ends at once when it is told to, also where no init stands above it.
var sleeper = []string{"/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 2147483 & wait $!; done"}

// The bounds that a container has in any case.
const processes = 256

var (
	// capabilities are those of root that commands keep: files of other users, and ending their processes.
	capabilities = []string{"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER", "CAP_KILL"}
	// switching are those for becoming another user, which package managers do.
	switching = []string{"CAP_SETUID", "CAP_SETGID"}
	// tmpfs are directories that live in memory.
	tmpfs = map[string]string{
		"/tmp":     "rw,exec,nosuid,nodev,size=512m",
		"/var/tmp": "rw,noexec,nosuid,nodev,size=256m",
		"/run":     "rw,noexec,nosuid,nodev,size=64m",
	}
	// inMemory are the directories that live in memory too where no files are kept.
	inMemory = map[string]string{
		workspace: "rw,exec,nosuid,nodev,size=10g",
		"/home":   "rw,exec,nosuid,nodev,size=1g",
		rootHome:  "rw,exec,nosuid,nodev,mode=0700,size=1g",
	}
)

// plan is a container before it is made.
type plan struct {
	config *container.Config
	host   *container.HostConfig
	labels labels
	made   []string // directories that are made here before the container is
	shared []environment.Mount
	below  []string // what is mounted below the home directory that is kept here, and the directories above it, outermost first
	unsafe []string // what opens it towards the host, as the user asked
	notes  []string
	hash   string // digest, once it is known what is brought
}

// planning is what a plan is made from.
type planning struct {
	config  *Config
	key     string
	home    string // HERMES_HOME; "" = none
	dir     string // terminal.cwd, on this machine
	profile string
	image   string
	share   []environment.Share
	local   bool // the daemon sees this machine's files
	uid     int
	gid     int
}

func newPlan(p planning) (*plan, error) {
	c := p.config
	if err := c.check(); err != nil {
		return nil, err
	}
	vars, err := c.environ()
	if err != nil {
		return nil, err
	}
	yes, pids := true, int64(processes)
	pl := &plan{
		config: &container.Config{Image: cmp.Or(p.image, c.Image), Env: vars, Entrypoint: sleeper, Cmd: []string{}},
		host: &container.HostConfig{
			CapDrop: []string{"ALL"}, CapAdd: slices.Clone(capabilities), SecurityOpt: []string{"no-new-privileges"}, Init: &yes, Tmpfs: maps.Clone(tmpfs),
			Resources: container.Resources{PidsLimit: &pids, NanoCPUs: int64(c.CPU * 1e9), Memory: int64(c.MemoryMB) << 20},
		},
		labels: labelsOf(p),
	}
	if !c.Network {
		pl.host.NetworkMode = "none"
	}
	if c.AsHostUser {
		pl.config.User = strconv.Itoa(p.uid) + ":" + strconv.Itoa(p.gid)
		pl.config.Env = append([]string{"HOME=" + rootHome}, pl.config.Env...)
	} else {
		pl.host.CapAdd = append(pl.host.CapAdd, switching...)
	}
	if c.DiskMB > 0 {
		pl.host.StorageOpt = map[string]string{"size": strconv.Itoa(c.DiskMB) + "M"}
	}
	if err := pl.mount(p); err != nil {
		return nil, err
	}
	if err := pl.flags(c.ExtraArgs); err != nil {
		return nil, err
	}
	if len(pl.unsafe) > 0 && !c.Unsafe {
		return nil, badConfig("docker_allow_unsafe", fmt.Errorf("%s would open the container towards the host; set it to true if that is meant", strings.Join(pl.unsafe, ", ")))
	}
	pl.config.WorkingDir = cmp.Or(pl.config.WorkingDir, "/")
	return pl, nil
}

// digest tells plans apart: two containers with the same one are as good as each other, and the same one's. resident stands for the binary
// that is brought.
func (p *plan) digest(resident string) string {
	text, _ := json.Marshal([]any{p.config, p.host, p.labels.text(), resident}) // data only
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// labels say whose a container is.
type labels struct{ task, profile, home string }

const (
	labelMine    = "hermes-agent"
	labelTask    = "hermes-task-id"
	labelProfile = "hermes-profile"
	labelHome    = "hermes-home"
	labelConfig  = "hermes-config"
)

func labelsOf(p planning) labels {
	return labels{task: labelText(p.key), profile: labelText(p.profile), home: envs.Owner(p.home)}
}

// text gives the labels of a container as the daemon wants them.
func (l labels) text() map[string]string {
	return map[string]string{labelMine: "1", labelTask: l.task, labelProfile: l.profile, labelHome: l.home}
}

// use names what the container is for among those who make one.
func (l labels) use() string { return l.home + "-" + l.profile + "-" + l.task }

var notInLabels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^A-Za-z0-9_.-]`)
})

// labelText makes a value that every daemon takes.
func labelText(s string) string {
	s = notInLabels().ReplaceAllString(s, "_")
	return cmp.Or(s[:min(len(s), 63)], "unknown")
}

// split parts what hermes shares with the container from what else is mounted there.
func (p *plan) split(mounts []environment.Mount) (others, shown []environment.Mount) {
	for _, m := range mounts {
		if slices.Contains(p.shared, m) {
			shown = append(shown, m)
		} else {
			others = append(others, m)
		}
	}
	return others, shown
}

// mark tells which of the mounts keep what belongs to the container alone.
func (p *plan) mark(mounts []environment.Mount) []environment.Mount {
	for i := range mounts {
		mounts[i].Own = slices.Contains(p.made, mounts[i].Host)
	}
	return mounts
}

// environmentMounts are what a container shows of the host.
func environmentMounts(points []container.MountPoint) []environment.Mount {
	var out []environment.Mount
	for _, m := range points {
		if m.Source == "" || m.Destination == carried {
			continue
		}
		out = append(out, environment.Mount{Host: m.Source, Inside: environment.Path(m.Destination), Writable: m.RW})
	}
	return out
}
