package rules_test

import "testing"

// A43, A44.
func TestPackage_RemovalsAreFound(t *testing.T) {
	finds(t, "package.remove", `
apt remove x
apt purge x
apt autoremove
apt -y remove x
apt-get remove -y x
apt-get -qq -y purge x
apt-get --assume-yes --purge remove x
apt-get autoremove --purge -y
apt-get -o Dpkg::Use-Pty=0 remove x
apt-get -t stable remove x
aptitude purge x
nala remove x
apt-get install -y vim nano-
dpkg -r x
dpkg -P x
dpkg --remove --force-all x
dpkg --force-depends --purge x
dnf remove x
dnf -y erase x
dnf autoremove
dnf group remove x
dnf --setopt=a=b remove x
dnf module remove x
yum remove x
yum -y erase x
yum autoremove
microdnf remove x
rpm -e x
rpm -ev x
rpm -e --nodeps x
rpm --erase x
zypper remove x
zypper -n rm x
zypper --non-interactive remove x
pacman -R x
pacman -Rs x
pacman -Rdd x
pacman -Rcns --noconfirm x
pacman --noconfirm -Rns x
pacman --remove x
yay -Rns x
pacman -Qdtq | pacman -Rns -
apk del x
apk --no-cache del x
apk del --purge x
xbps-remove -Ry x
emerge -C x
emerge --unmerge x
emerge -cv x
emerge --depclean
brew uninstall x
brew remove --force x
brew rm x
brew uninstall --cask x
brew list | xargs brew uninstall
port uninstall x
pkg delete -y x
pkg remove x
snap remove x
snap remove --purge x
flatpak uninstall x
flatpak remove --user x
nix-env -e x
nix-env --uninstall x
nix-collect-garbage -d
nix profile remove 1
guix remove x
choco uninstall x -y
choco Uninstall x
winget uninstall --id x
scoop uninstall x
rpm-ostree uninstall x
opkg remove x
sudo apt-get remove -y x
DEBIAN_FRONTEND=noninteractive apt-get purge -y x
yes | apt remove x
apt'-get' rem"ove" x
dpkg --get-selections | awk '{print $1}' | xargs apt-get -y purge
`)
}

// A35, A36.
func TestPackage_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
apt update
apt upgrade -y
apt install remove
apt-get install -y nginx
apt-get install g++
apt-get -s remove x
apt-get remove -s x
apt-get --dry-run autoremove
apt-get remove --simulate x
apt-get clean
apt-get autoclean
apt list --upgradable
apt search purge
apt show remove
apt-cache policy remove
apt-mark hold x
dpkg -l
dpkg -L x
dpkg -S remove
dpkg -i x.deb
dpkg --get-selections
dpkg --dry-run -r x
dpkg --no-act --purge x
dpkg --configure -a
dnf install x
dnf list installed
dnf search remove
dnf info remove
dnf --assumeno remove x
dnf check-update
yum install erase
yum history
rpm -qa
rpm -qi x
rpm -qe
rpm -ivh x.rpm
rpm -Uvh x.rpm
rpm -e --test x
zypper install x
zypper rm -D x
zypper se remove
zypper removerepo x
pacman -S x
pacman -Syu
pacman -Ss remove
pacman -Qi x
pacman -Rp x
pacman -Sc
apk add x
apk info
apk del -s x
apk search del
xbps-remove -n x
emerge x
emerge -p --depclean
emerge --sync
brew install x
brew upgrade
brew cleanup
brew list
brew info rm
brew uninstall --dry-run x
brew untap x
pkg install x
pkg info
pkg delete -n x
snap install x
snap list
flatpak install x
flatpak list
nix-env -i x
nix-env -q
nix-env -e x --dry-run
guix install x
choco install x
winget list
winget install uninstall
pip uninstall -y x
pip3 uninstall x
npm uninstall -g x
yarn global remove x
cargo uninstall x
gem uninstall x
go clean -modcache
pipx uninstall x
poetry remove x
uv remove x
composer remove x
bundle remove x
conda remove x
echo apt-get remove x
grep 'apt remove' log
man apt-get
which pacman
`)
}
