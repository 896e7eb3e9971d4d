package singularity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

const (
	// prefix begins the names of instances.
	prefix = "hermes_"
	// carried is where the hermes binary is found in an instance.
	carried = "/.hermes/resident"
	// partsFlags can't stand in what flags name: they part it, or are read as quotes.
	partsFlags = ",:\"\r\n"
	// keeping is how the keeper of jobs there is called, as the kernel tells it.
	keeping = carried + "\x00resident\x00--keeper"
)

// scratch is the directory for images and for files of instances.
type scratch string

// scratch decides which one it is.
func (c *Config) scratch(o environment.OpenOptions) scratch {
	if c.Scratch != "" {
		return scratch(expandHome(c.Scratch))
	}
	if u := o.Variable("USER"); u != "" && filepath.Base(u) == u {
		if own := filepath.Join("/scratch", u); canWrite(own) {
			return scratch(filepath.Join(own, "hermes-agent"))
		}
	}
	dir := expandHome(c.SandboxDir)
	if dir == "" {
		dir = filepath.Join(o.HermesHome, "sandboxes")
	}
	return scratch(filepath.Join(dir, name))
}

func canWrite(dir string) bool {
	f, err := os.CreateTemp(dir, ".hermes-")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

func (s scratch) overlays() string { return filepath.Join(string(s), "hermes-overlays") }

// sif is the file that an image becomes.
func (s scratch) sif(image string) string {
	sum := sha256.Sum256([]byte(image))
	_, short, _ := strings.Cut(image, "://")
	return filepath.Join(string(s), "images", fileName(short)+"-"+hex.EncodeToString(sum[:4])+".sif")
}

// fileName makes of a text a part of a file's name that needs no quoting anywhere.
func fileName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, s)
	return safe[:min(len(safe), 63)]
}

// plan is an instance before it is started.
type plan struct {
	name    string
	image   string // as configured
	scratch scratch
	overlay string   // directory with the files that it keeps; "" = they live in memory
	args    []string // flags of instance start
	bounds  []string // more of them, which not every machine grants
	asks    []string // flags of exec
	shared  []environment.Mount
	jobs    string // sets its jobs apart from those of others with the same home
	notes   []string
	digest  string // of two plans of a name, tells whether one instance is as good for both
}

// rootFlags leave root the capabilities that commands need: files of other users, ending their processes, becoming another user.
var rootFlags = []string{"--no-privs", "--add-caps", "CAP_DAC_OVERRIDE,CAP_CHOWN,CAP_FOWNER,CAP_KILL,CAP_SETUID,CAP_SETGID"}

// newPlan decides what an instance is to be like. resident is the binary that is brought; "" = none.
func newPlan(c *Config, o environment.OpenOptions, resident string) (*plan, error) {
	p := &plan{image: c.Image, scratch: c.scratch(o), args: []string{"--containall", "--no-home"}}
	for key, path := range map[string]string{"scratch_dir": string(p.scratch), "resident_path": resident} {
		if strings.ContainsAny(path, partsFlags) {
			return nil, badConfig(key, fmt.Errorf("%q has a comma, a colon, a quote or a line break in it, and can't be given to Apptainer", path))
		}
	}
	if !isRemote(p.image) {
		abs, err := filepath.Abs(expandHome(p.image))
		if err != nil {
			return nil, badConfig("singularity_image", err)
		}
		p.image = abs
	}
	if asRoot() {
		p.args, p.asks = append(p.args, rootFlags...), rootFlags
	} else {
		p.args = append(p.args, "--userns") // without it, an installation with the setuid bit lets nobody but root use a directory as overlay
	}
	owner := envs.Owner(o.HermesHome)
	p.jobs = owner + "-" + fileName(o.Key)
	if c.Files {
		sum := sha256.Sum256([]byte(owner + "\x00" + o.Variable("HERMES_PROFILE") + "\x00" + o.Key))
		p.name = prefix + hex.EncodeToString(sum[:6])
		p.overlay = filepath.Join(p.scratch.overlays(), "overlay-"+fileName(o.Key)+"-"+hex.EncodeToString(sum[:4]))
		p.args = append(p.args, "--overlay", p.overlay)
	} else {
		var b [6]byte
		_, _ = rand.Read(b[:])
		p.name = prefix + hex.EncodeToString(b[:])
		p.jobs = p.name
		p.args = append(p.args, "--writable-tmpfs")
	}
	if !c.Network {
		p.args = append(p.args, "--net", "--network", "none")
	}
	if c.MemoryMB > 0 {
		p.bounds = append(p.bounds, "--memory", strconv.Itoa(c.MemoryMB)+"M")
	}
	if c.CPU > 0 {
		p.bounds = append(p.bounds, "--cpus", strconv.FormatFloat(c.CPU, 'f', -1, 64))
	}
	stamp := p.bring(resident)
	p.share(o.Share)
	text, _ := json.Marshal([]any{p.image, p.args, p.bounds, stamp}) // data only
	sum := sha256.Sum256(text)
	p.digest = hex.EncodeToString(sum[:8])
	return p, nil
}

// bring has the instance show the hermes binary, and gives what tells one build from another.
func (p *plan) bring(resident string) string {
	if resident == "" {
		return ""
	}
	stamp := ""
	if i, err := os.Stat(resident); err == nil {
		stamp = fmt.Sprintf("%d %d", i.Size(), i.ModTime().UnixNano())
	}
	p.args = append(p.args, "--bind", resident+":"+carried+":ro")
	return stamp
}

// share has the instance show what it is to have of this machine, for reading. What can't be written in a flag is brought in another way.
func (p *plan) share(all []environment.Share) {
	home := insideHome()
	for _, s := range all {
		at := environment.SharedPath(environment.Path(home), s.Name)
		if home == "" || strings.ContainsAny(s.Host+string(at), partsFlags) {
			continue
		}
		p.args = append(p.args, "--bind", s.Host+":"+string(at)+":ro")
		p.shared = append(p.shared, environment.Mount{Host: s.Host, Inside: at})
	}
}

// insideHome is the home directory of commands in an instance: that of the user here.
func insideHome() string {
	u, err := user.Current()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
}

// split parts what hermes shares with the instance from what else of the host is seen there.
func (p *plan) split(mounts []environment.Mount) (others, shows []environment.Mount) {
	for _, m := range mounts {
		known := false
		for _, s := range p.shared {
			known = known || s.Inside == m.Inside && !m.Writable
		}
		if known {
			shows = append(shows, m)
		} else {
			others = append(others, m)
		}
	}
	return others, shows
}
