package rules_test

import "testing"

// A43, A44: removal by force, in bulk, with data; and doors to the host, behind any global options.
func TestContainer_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "container.remove", `
docker rm -f a
docker rm --force a b
docker rm -vf a
docker rm a -f
docker container rm -f a
docker container rm $(docker container ls -aq)
docker rm -f $(docker ps -aq)
docker rm $(docker ps -a -q)
docker stop $(docker ps -q) && docker rm $(docker ps -aq)
docker ps -aq | xargs docker rm -f
docker ps -aq | xargs -r docker rm
docker rmi -f $(docker images -q)
docker rmi $(docker images -q)
docker images -q | xargs docker rmi
docker image rm -f a
docker image prune -a --force
docker image prune
docker container prune -f
docker volume rm a b
docker volume prune
docker volume prune -af
docker volume remove a
docker volume ls -q | xargs docker volume rm
docker network prune -f
docker network rm -f x
docker system prune
docker system prune -a
docker system prune --all --force --volumes
docker builder prune -f
docker buildx prune --all
docker --context prod system prune -f
docker -c prod volume rm x
docker -H ssh://h system prune -f
docker --host=tcp://h:2375 rm -f x
docker --log-level debug volume rm x
docker --config /x image prune -a
docker compose down -v
docker compose down --volumes --remove-orphans
docker compose down --rmi all
docker compose --profile x -f a.yml -f b.yml down -v
docker compose -p app rm -f
docker compose rm -s -f -v
docker-compose down -v
docker-compose -f a.yml down --volumes
docker-compose rm -fv
docker swarm leave --force
docker stack rm app
docker stack down app
docker service rm web
docker secret rm k
docker node rm --force n1
podman rm -fa
podman rm --all
podman rmi -a
podman pod rm -f p
podman system prune -af
podman system reset
podman volume prune
podman machine rm
podman kube down --force x.yml
nerdctl -n k8s.io rmi -f x
nerdctl system prune
buildah rm --all
buildah rmi -a
ctr -n k8s.io images rm x
ctr containers delete x
crictl rm -fa
crictl rmi --prune
kind delete cluster --name x
k3d cluster delete x
minikube delete
minikube -p x delete
colima delete
limactl delete -f x
lxc delete x --force
incus delete x
multipass delete x
multipass purge
wsl --unregister Ubuntu
sudo docker system prune -af
sudo -u x docker rm -f a
DOCKER_HOST=tcp://h docker volume rm x
/usr/bin/docker volume rm x
d\o\cker volume rm x
docker-machine rm x
machinectl remove x
`)
	finds(t, "container.escape", `
docker run --privileged x
docker run -it --privileged=true x sh
docker run --rm -it --privileged --name a x
docker run -itd --restart always --privileged x
docker run -v /:/h x
docker run -v /:/h:ro x
docker run --volume=/:/h x
docker run --volume /:/h x
docker run -v/:/h x
docker run -it -v /etc:/h x
docker run -v /root:/h x
docker run -v $HOME:/h x
docker run -v /var/run/docker.sock:/s x
docker run -v /run/docker.sock:/run/docker.sock:ro x
docker run -v /run/containerd/containerd.sock:/s x
docker run -v "/var/run/docker.sock:/var/run/docker.sock" -e A=b x
docker run -v ../../..:/h x
docker run --mount type=bind,src=/,dst=/h x
docker run --mount=type=bind,source=/var/run/docker.sock,target=/s x
docker run --pid host x
docker run --pid=host x
docker run --ipc=host x
docker run --uts=host x
docker run --userns=host x
docker run --network=host x
docker run --net=host x
docker run --network host x
docker run --cap-add=SYS_ADMIN x
docker run --cap-add CAP_SYS_ADMIN x
docker run --cap-add all x
docker run --cap-drop ALL --cap-add SYS_MODULE x
docker run --security-opt apparmor=unconfined x
docker run --security-opt=seccomp:unconfined x
docker run --security-opt label=disable x
docker run --device=/dev/sda:/dev/sda x
docker run --device /dev/mem x
docker run --device-cgroup-rule='a *:* rwm' x
docker container run -v /:/h x
docker create --pid=host x
docker container create --privileged x
docker compose run -v /:/h app
docker exec --privileged -it a sh
docker exec -it --privileged a sh
podman run --privileged x
podman --remote run -v /:/h x
nerdctl run --privileged x
docker --context prod run --privileged x
docker -H tcp://h run -v /:/h x
sudo docker run --privileged x
docker run -e A -p 80:80 --privileged x
docker run --env-file f --privileged x
docker run $OPTS --privileged x
nsenter -t 1 -a sh
nsenter --target 1 -m sh
nsenter --target=1 --mount --uts --ipc --net --pid -- bash
nsenter -t1 -m
nsenter -at 1 sh
nsenter --mount=/proc/1/ns/mnt sh
kubectl debug node/n1 -it --image=x
kubectl run x --image=y --overrides='{"spec":{"hostPID": true}}'
kubectl run x --image=y --privileged
kubectl run x --image=y --overrides='{"spec":{"containers":[{"securityContext":{"privileged":true}}]}}'
chroot /hostfs sh
lxc launch ubuntu x -c security.privileged=true
lxc config device add x h disk source=/ path=/h
docker service create --mount type=bind,source=/,target=/h x
`)
}

// A35, A36: listing, single removals, what a container runs inside, values that look like options.
func TestContainer_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
docker ps
docker ps -aq
docker rm web
docker rm web db
docker rm -v web
docker container rm web
docker rmi app:old
docker image rm app:old
docker network rm net
docker stop web
docker kill web
docker restart web
docker start web
docker pause web
docker container stop web
docker images --filter dangling=true
docker volume ls
docker volume create prune
docker volume inspect x
docker system df -v
docker system info
docker builder ls
docker build -t rm .
docker build -f Dockerfile --no-cache .
docker buildx build --push .
docker pull alpine
docker push x/y
docker tag a rm
docker logs -f web
docker exec web ls
docker exec -it web bash -c 'ls'
docker run --rm alpine echo hi
docker run -d --name rm -p 80:80 nginx
docker run -it --rm -v "$PWD:/src" -w /src golang go test ./...
docker run -v /data/app:/app -v cache:/root/.cache x
docker run -v ./conf:/etc/nginx:ro nginx
docker run -v /tmp/x:/x x
docker run -v /etc/localtime:/etc/localtime:ro x
docker run -v /etc/ssl/certs:/etc/ssl/certs:ro x
docker run --tmpfs /run x
docker run --network bridge x
docker run --network=none x
docker run --pid=container:a x
docker run --ipc=private x
docker run --cap-drop=ALL x
docker run --cap-add=NET_ADMIN x
docker run --security-opt=no-new-privileges x
docker run --device /dev/ttyUSB0 x
docker run --device=/dev/dri:/dev/dri x
docker run --gpus all x
docker run --privileged=false x
docker run alpine echo --privileged -v /:/h
docker run --entrypoint sh alpine -c 'echo --pid=host'
docker run -l x=--privileged x
docker run --name --privileged x
docker run --help
docker compose up -d
docker compose up --build --force-recreate
docker compose down
docker compose down --remove-orphans
docker compose rm
docker compose stop
docker compose -f rm.yml ps
docker compose logs -f
docker compose run --rm app pytest -v
docker compose exec db psql -c 'select 1'
docker compose build --no-cache
docker-compose down
docker-compose ps
docker-compose -f docker-compose.prune.yml up
docker inspect -f '{{.State}}' rm
docker context ls
docker context use prune
docker swarm leave
docker stack ls
docker service ls
docker node ls
docker search prune
docker history x
docker cp web:/x /tmp/x
docker system prune --help
docker volume rm --help
docker rm -h
docker help rm
podman ps -a
podman run --rm x
podman rm x
podman machine list
podman system df
buildah ls
crictl ps -a
ctr images ls
kind get clusters
kind create cluster --name delete
minikube start
minikube stop
k3d cluster list
lxc list
lxc stop x
multipass list
colima start
nsenter -t 4711 -n ip addr
kubectl debug pod/x --image=busybox
kubectl run x --image=y
echo 'docker system prune -af'
grep -n 'docker rm -f' deploy.sh
git commit -m 'docker run --privileged'
`)
}
