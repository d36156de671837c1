#!/bin/sh
# Build the images of a release (`make images`), each tagged with the version of pyproject.toml, with labels, a health
# check and an SBOM, which is in the image's /usr/share/doc/saycart and in dist/; its provenance is in dist/.
#
#   infra/docker/images.sh PYTHON [PART...]
#
# PYTHON has requirements-supply.lock installed. Each image is built twice: the SBOM lists the contents of the first.
# SOURCE: the public repository (default: the git remote, if that is https). ATTEST: options for attestations.
set -eu
python=$1
shift
[ $# -gt 0 ] || set -- api worker hearing llm weights

base=$(sed -n 's/^ARG PYTHON_IMAGE=//p' infra/docker/Dockerfile)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
commit=$(git describe --always --exclude '*' --abbrev=40 --dirty)
source=${SOURCE-$(git config --get remote.origin.url | sed -n 's|^https://\([^@/]*@\)\{0,1\}|https://|p')}

stop() { echo "$*" >&2; exit 1; }
command -v docker >/dev/null || stop "docker is missing: apt-get install docker.io"
docker info >/dev/null 2>&1 || stop "No Docker engine answers: start one (dockerd, as root)"
docker image inspect "$base" >/dev/null 2>&1 || docker pull -q "$base" ||
  stop "$base can't be pulled. Without a registry, tests/containers/base_images.sh makes a stand-in to try images on"

# Attached attestations need BuildKit's plugin and an image store that keeps them.
if ! docker buildx version >/dev/null 2>&1; then
  export DOCKER_BUILDKIT=0
elif docker info -f '{{.DriverStatus}}' | grep -q io.containerd.snapshotter; then
  : "${ATTEST=--sbom=true --provenance=mode=max}"
fi
[ -n "${ATTEST:-}" ] || echo "Attestations only in dist/: attaching needs buildx and the containerd image store (docs/containers.md)"

base_digest=$(docker image inspect -f '{{if .RepoDigests}}{{index .RepoDigests 0}}{{else}}{{.Id}}{{end}}' "$base")
mkdir -p dist
label=org.opencontainers.image
for part; do
  image=saycart-$part:$version sbom=dist/saycart-$part.cdx.json started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  build() {
    docker build -q -f infra/docker/Dockerfile --target "$part" -t "$image" --build-arg "COMMIT=$commit" \
      --label "$label.title=saycart-$part" --label "$label.version=$version" --label "$label.revision=$commit" \
      --label "$label.licenses=Apache-2.0" ${source:+--label "$label.source=$source"} "$@" . >/dev/null
  }
  build
  docker run -i --rm --network none --entrypoint python "$image" - <tests/supply/contents.py >"$sbom.contents"
  "$python" -m tests.supply.sbom "saycart-$part" "$version" <"$sbom.contents" >"$sbom"
  rm "$sbom.contents"
  # shellcheck disable=SC2086 # options, each a word
  build --build-arg "SBOM=$sbom" ${ATTEST:-}
  "$python" -m tests.supply.provenance "$image" "$(docker image inspect -f '{{.Id}}' "$image")" \
    "$base" "$base_digest" "$commit" "$source" "$started" "$sbom" >"dist/saycart-$part.intoto.json"
  echo "$image: $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB, $sbom, dist/saycart-$part.intoto.json"
done
