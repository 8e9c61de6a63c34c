#!/usr/bin/env bash
# What the image of the Dockerfile promises, of an environment in a folder: commands run as a user without rights, on a
# system that may only be read, without a network; answers and ledger go to /work. Needs root, and the right to mount.
set -euo pipefail
environment=$(realpath "$1")
if [ "$(id -u)" -ne 0 ] || ! unshare --mount --net true 2> /dev/null; then
  echo "not tried in a chroot: that needs root, and the right to mount"
  exit 0
fi
place=$(mktemp -d)
trap 'rmdir "$place"' EXIT
# All mounts are those of one process, and end with it.
unshare --mount --net bash -euo pipefail -s "$place" "$environment" <<'INSIDE'
place=$1 environment=$2
mount -t tmpfs -o mode=0755 none "$place"
mkdir "$place/tmp"
mount -t tmpfs -o mode=1777 none "$place/tmp"
python=$("$environment/bin/python" -c 'import sys; print(sys.base_prefix)')
for folder in /usr /bin /lib /lib64 "$python" "$environment"; do
  [ -e "$folder" ] || continue
  mkdir -p "$place$folder"
  mount --bind "$folder" "$place$folder"
  mount -o remount,bind,ro "$place$folder"
done
mkdir -p "$place/work" "$place/dev"
touch "$place/dev/null" "$place/dev/urandom"
mount --bind /dev/null "$place/dev/null"
mount --bind /dev/urandom "$place/dev/urandom"
chown 10001:10001 "$place/work"
mount -o remount,ro,mode=0755 none "$place" 2> /dev/null || true
chroot=$(command -v chroot)
run() { env -i PATH="$environment/bin:/usr/bin:/bin" HOME=/work "$chroot" --userspec=10001:10001 "$place" sh -euc "cd /work; $1"; }
mount -t tmpfs -o mode=0755,uid=10001,gid=10001 none "$place/work"
run 'test "$(id -u)" = 10001 && dxgeom --help > /dev/null'
run 'dxgeom examples clinic && dxgeom check clinic/policy.yaml'
run 'dxgeom release clinic/policy.yaml clinic/patients.csv clinic/queries.yaml --ledger clinic.db --spend 0.5'
run 'dxgeom ledger show clinic.db && dxgeom report clinic/policy.yaml -o page.html && test -s page.html'
for folder in / /usr "$environment"; do
  if run "touch $folder/written" 2> /dev/null; then
    echo "a user without rights has written to $folder"
    exit 1
  fi
done
echo "in a chroot, without a network, as user 10001: as the image runs it"
INSIDE
