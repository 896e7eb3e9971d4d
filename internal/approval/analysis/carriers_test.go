package analysis_test

import (
	"slices"
	"strings"
	"testing"
)

// carriers hold commands that all run "rm -rf build" in the end, a line each.
const carriers = `
sudo rm -rf build
sudo -u ann -- rm -rf build
sudo -nEH A=1 rm -rf build
sudo --user=ann rm -rf build
sudo --us ann rm -rf build
doas -u ann rm -rf build
pkexec --user ann rm -rf build
run0 -u ann rm -rf build
su -c 'rm -rf build' ann
su - ann -c 'rm -rf build'
su ann --command='rm -rf build'
runuser -u ann -- rm -rf build
runuser -l ann -c 'rm -rf build'
gosu ann rm -rf build
su-exec ann rm -rf build
setpriv --reuid=1000 --clear-groups rm -rf build
chpst -u ann rm -rf build
sg users -c 'rm -rf build'
sg users 'rm -rf build'
newgrp -c 'rm -rf build' users
env -i A=1 rm -rf build
env -S 'rm -rf build'
env -S "bash -c 'rm -rf build'"
env --split-string='rm -rf build'
env -u X -C /data rm -rf build
nohup rm -rf build &
nice -n 5 rm -rf build
nice -5 rm -rf build
ionice -c3 rm -rf build
timeout -k 5 --signal=KILL 10 rm -rf build
timeout --sig KILL 10 rm -rf build
time -p rm -rf build
/usr/bin/time -f %e rm -rf build
stdbuf -oL rm -rf build
setsid -f rm -rf build
chrt -f 50 rm -rf build
taskset -c 0 rm -rf build
flock /tmp/l rm -rf build
flock -w 3 /tmp/l -c 'rm -rf build'
flock -n /tmp/l sh -c 'rm -rf build'
watch -n 5 rm -rf build
watch 'rm -rf build'
strace -f -o x rm -rf build
systemd-run --user --unit=x rm -rf build
systemd-inhibit --what=sleep rm -rf build
prlimit --nofile=10 rm -rf build
cgexec -g cpu:x rm -rf build
numactl -N 0 rm -rf build
valgrind --leak-check=full rm -rf build
gdb --args rm -rf build
gdb -batch -ex run --args rm -rf build
hyperfine 'rm -rf build'
hyperfine --prepare 'rm -rf build' ls
ls | entr rm -rf build
watchexec -e js -- rm -rf build
nodemon -x 'rm -rf build'
unbuffer rm -rf build
faketime '1 day ago' rm -rf build
caffeinate -i rm -rf build
fakeroot rm -rf build
xvfb-run -a rm -rf build
script -qc 'rm -rf build' /dev/null
script -q /dev/null -c 'rm -rf build'
command -p rm -rf build
builtin command rm -rf build
exec -a x rm -rf build
eval rm -rf build
eval "rm -rf build"
busybox rm -rf build
toybox rm -rf build
busybox sh -c 'rm -rf build'
echo build | xargs rm -rf
echo build | xargs -I{} rm -rf {}
echo build | xargs -i rm -rf {}
echo build | xargs -n1 -P4 sh -c 'rm -rf "$0"'
parallel rm -rf ::: build
parallel 'rm -rf {}' ::: build
parallel -j4 rm -rf {} ::: build
chroot --userspec=a:b / rm -rf build
unshare -r rm -rf build
nsenter -t 1 -m rm -rf build
bwrap --ro-bind / / --dev /dev rm -rf build
firejail --quiet --net=none rm -rf build
proot -r /x -b /dev rm -rf build
ssh host rm -rf build
ssh -p 22 -i key ann@host 'rm -rf build'
ssh host -p 22 rm -rf build
ssh -o StrictHostKeyChecking=no host -- rm -rf build
ssh host "cd x && rm -rf build"
ssh host bash -c "'rm -rf build'"
ssh host <<< 'rm -rf build'
ssh host bash -s <<< 'rm -rf build'
sshpass -p x ssh host rm -rf build
mosh host -- rm -rf build
autossh -M 0 host rm -rf build
pssh -h hosts -i 'rm -rf build'
pdsh -w a,b rm -rf build
docker exec -it -u root c rm -rf build
docker exec c sh -c 'rm -rf build'
docker -H tcp://h container exec c rm -rf build
docker run --rm -v /a:/b -e X=1 alpine:3 rm -rf build
docker run --rm --entrypoint rm alpine -rf build
docker run --rm -it --name x --network=host alpine sh -c 'rm -rf build'
docker compose -f x.yml exec -T web rm -rf build
docker compose run --rm web rm -rf build
docker-compose exec web rm -rf build
podman exec c rm -rf build
nerdctl run --rm alpine rm -rf build
kubectl exec -it pod -n ns -- rm -rf build
kubectl -n ns exec deploy/x -c y -- sh -c 'rm -rf build'
kubectl exec pod rm -rf build
oc exec pod -- rm -rf build
oc rsh pod rm -rf build
k3s kubectl exec pod -- rm -rf build
kubectl run x --rm -it --image=alpine -- rm -rf build
lxc exec c -- rm -rf build
incus exec c -- rm -rf build
crictl exec -it abc rm -rf build
singularity exec x.sif rm -rf build
apptainer exec -B /a:/b x.sif rm -rf build
machinectl shell root@c /bin/rm -rf build
vagrant ssh -c 'rm -rf build'
vagrant ssh box --command 'rm -rf build'
gcloud compute ssh vm --zone=z --command='rm -rf build'
az vm run-command invoke -g x -n y --command-id RunShellScript --scripts 'rm -rf build'
aws ecs execute-command --cluster c --task t --command 'rm -rf build' --interactive
aws ssm send-command --instance-ids i --document-name AWS-RunShellScript --parameters commands='rm -rf build'
aws ssm send-command --targets x --parameters 'commands=["rm -rf build"]'
doctl compute ssh x --ssh-command 'rm -rf build'
fly ssh console -C 'rm -rf build'
heroku run -a x rm -rf build
adb shell rm -rf build
multipass exec vm -- rm -rf build
limactl shell vm rm -rf build
minikube ssh -- rm -rf build
wsl -d Ubuntu -e rm -rf build
wsl rm -rf build
ansible all -i h -m shell -a 'rm -rf build'
salt '*' cmd.run 'rm -rf build'
tmux new-session -d -s x 'rm -rf build'
tmux new -d rm -rf build
tmux send-keys -t x 'rm -rf build' Enter
tmux send-keys -t x rm Space -rf Space build C-m
tmux new -d \; send-keys 'rm -rf build' Enter
tmux run-shell 'rm -rf build'
tmux split-window -h 'rm -rf build'
screen -dmS x rm -rf build
screen -S x -X stuff $'rm -rf build\n'
screen -S x -p 0 -X stuff 'rm -rf build^M'
zellij run -- rm -rf build
zellij action write-chars 'rm -rf build'
xterm -e rm -rf build
xterm -e 'rm -rf build'
gnome-terminal -- rm -rf build
at now <<< 'rm -rf build'
echo 'rm -rf build' | at now
echo 'rm -rf build' | batch
npx rm -rf build
npx -y -p x rm -rf build
npx -c 'rm -rf build'
npm exec -- rm -rf build
npm exec -c 'rm -rf build'
pnpm dlx rm -rf build
pnpm exec rm -rf build
yarn dlx rm -rf build
yarn exec rm -rf build
bunx rm -rf build
bun x rm -rf build
uv run rm -rf build
uv run --with x -- rm -rf build
uvx rm -rf build
uv tool run rm -rf build
pipx run rm -rf build
poetry run rm -rf build
pipenv run rm -rf build
hatch run rm -rf build
pdm run rm -rf build
rye run rm -rf build
bundle exec rm -rf build
nix develop -c rm -rf build
nix develop .#x --command rm -rf build
nix shell nixpkgs#x -c rm -rf build
nix-shell --run 'rm -rf build'
nix-shell -p x --run 'rm -rf build'
conda run -n env rm -rf build
mamba run -n env rm -rf build
direnv exec . rm -rf build
op run --env-file=x -- rm -rf build
envdir d rm -rf build
dotenv -f x run rm -rf build
dotenv rm -rf build
aws-vault exec prof -- rm -rf build
doppler run -- rm -rf build
mise exec -- rm -rf build
mise x -c 'rm -rf build'
rustup run stable rm -rf build
cargo watch -s 'rm -rf build'
cmd.exe /c rm -rf build
start-stop-daemon --start --exec /bin/rm -- -rf build
find . -maxdepth 0 -exec rm -rf build \;
find . -ok rm -rf build \;
fd -x rm -rf build
trap 'rm -rf build' EXIT
alias x='rm -rf build'
coproc rm -rf build
time -- rm -rf build
! rm -rf build
`

// A20, A21, A24–A26: whatever stands in front, the command that runs is found.
func TestRead_CarriersShowWhatTheyRun(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(carriers)) {
		command = strings.TrimSpace(command)
		if !runs(t, command, "rm -rf build") {
			t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
		}
	}
}

func runs(t *testing.T, command, want string) bool {
	t.Helper()
	return slices.ContainsFunc(strings.Split(argvs(read(t, command)), "\n"), func(line string) bool {
		return line == want || line == "/bin/"+want || strings.HasPrefix(line, want+" ")
	})
}

// A20, A35: what only looks like a carrier runs nothing.
func TestRead_LookAlikesOfCarriersRunNothing(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(`
sudo -l rm -rf build
sudo --list rm -rf build
command -v rm -rf build
ssh -N -L 1:2:3 host
docker build -t x .
docker exec --help
kubectl get pods rm
npm install rm
uv pip install rm
poetry add rm
nix build
gdb rm
vagrant ssh
flock /tmp/l true
gcloud compute ssh vm
tmux attach -t rm
tmux kill-session -t rm
screen -r rm
man rm
taskset -p 123
at -l
atq
echo sudo rm -rf build
start-stop-daemon --stop --exec /bin/rm
`)) {
		command = strings.TrimSpace(command)
		for _, c := range read(t, command).Commands {
			if c.Program == "rm" || c.Program == "build" {
				t.Errorf("%q runs\n%s", command, argvs(read(t, command)))
			}
		}
	}
}
