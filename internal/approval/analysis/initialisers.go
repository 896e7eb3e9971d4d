package analysis

import (
	"slices"
	"strings"
	"sync"
)

// initialisers print shell code that is meant to be evaluated; a row is the beginning of their argv.
var initialisers = sync.OnceValue(func() [][]string {
	var rows [][]string
	for row := range strings.SplitSeq(`ssh-agent|keychain|dircolors|gdircolors|lesspipe|lesspipe.sh|direnv hook|direnv export|pyenv init|
		pyenv virtualenv-init|rbenv init|nodenv init|goenv init|jenv init|plenv init|phpenv init|swiftenv init|anyenv init|
		luaenv init|brew shellenv|starship init|zoxide init|atuin init|mcfly init|oh-my-posh init|fzf --bash|fzf --zsh|
		conda shell.bash|conda shell.zsh|conda shell.posix|mamba shell|micromamba shell|fnm env|mise activate|mise env|
		rtx activate|vfox activate|proto activate|opam env|opam config|minikube docker-env|minikube podman-env|minikube -p|
		docker-machine env|crc oc-env|thefuck --alias|hub alias|gh copilot|luarocks path|poetry env|
		register-python-argcomplete|resize|tset|gpgconf --launch|gpg-agent|gnome-keyring-daemon|dbus-launch|guix package|
		vcpkg env|devbox shellenv|devbox global|nix print-dev-env|chef shell-init|getopt|broot --print-shell-function|
		navi widget|jump shell|pkgx --shellcode|op signin|aws configure|vault print|tmuxinator completion|
		rustup completions|deno completions|poetry completions|uv generate-shell-completion|uvx --generate-shell-completion|
		ruff generate-shell-completion|ng completion|just --completions|yq shell-completion|jj util|zellij setup|
		wezterm shell-completion|stern --completion|rg --generate|bat --completion|starship completions|pipenv --completion|
		gulp --completion|grunt --completion|rush --generate|volta completions|bw completion`, "|") {
		if words := strings.Fields(row); len(words) > 0 {
			rows = append(rows, words)
		}
	}
	for name := range strings.FieldsSeq(`kubectl helm gh npm pip pip3 docker podman nerdctl crictl kind k3d k3s k9s minikube oc istioctl eksctl argocd flux
		kustomize skaffold tilt velero cilium linkerd hugo glab hcloud doctl linode-cli flyctl fly railway supabase turso
		pdm rye hatch cobra tkn kn rke colima limactl goreleaser golangci-lint trivy cosign syft grype sops age buf task
		dagger pulumi tailscale step vcluster rclone restic chezmoi gopass`) {
		rows = append(rows, []string{name, "completion"})
	}
	return rows
})

// initialiser tells whether all commands of a flow print shell code by trade.
func (r *reader) initialiser(f Flow) bool {
	cmds := r.out.Commands[f.Start:min(f.End, len(r.out.Commands))]
	return len(cmds) > 0 && !slices.ContainsFunc(cmds, func(c Command) bool {
		return !slices.ContainsFunc(initialisers(), func(row []string) bool {
			if c.Program != row[0] || len(c.Words) < len(row) {
				return false
			}
			for i := 1; i < len(row); i++ {
				if !c.Words[i].Is(row[i]) {
					return false
				}
			}
			return true
		})
	})
}
