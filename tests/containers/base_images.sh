#!/bin/sh
# Stand-ins for the base images that saycart's container files name, for a machine with a Docker engine from which no
# image registry can be reached. They are NOT the official images: Debian bookworm, with its Python 3.11, redis 7.0
# and PostgreSQL 15 (where the compose file asks for 17), under the very names that the files use. A name that is
# there already is left alone.
#
#   tests/containers/base_images.sh        as root, with debootstrap and a Debian mirror; a minute or two, 1 GB
#
# Remove them before the official ones are wanted: docker image rm python:3.11-slim-bookworm redis:7-alpine postgres:17-alpine
set -eu
here=$(cd "$(dirname "$0")" && pwd)

made() { docker image inspect "$1" >/dev/null 2>&1; }

if ! made saycart-stand-in:bookworm; then
  command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap"; exit 2; }
  [ "$(id -u)" -eq 0 ] || { echo "debootstrap needs root"; exit 2; }
  root=$(mktemp -d "${TMPDIR:-/var/tmp}/stand-in.XXXXXX")
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$root.log" 2>&1 || { tail -5 "$root.log"; exit 1; }
  rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  # Whom this machine trusts: behind a proxy that ends TLS nothing could be fetched in a build otherwise.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  tar -C "$root" -c . | docker import \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'LABEL saycart.stand-in="Debian bookworm by debootstrap"' \
    - saycart-stand-in:bookworm >/dev/null
fi

for pair in python=python:3.11-slim-bookworm redis=redis:7-alpine postgres=postgres:17-alpine; do
  name=${pair#*=}
  made "$name" || docker build -q --target "${pair%%=*}" -t "$name" "$here/stand_ins" >/dev/null
  echo "$name: $(docker image inspect -f '{{with .Config.Labels}}{{index . "saycart.stand-in"}}{{end}}' "$name")"
done
