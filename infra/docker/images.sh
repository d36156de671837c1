#!/bin/sh
# Build the images of a release (`make images`), each tagged with the version of pyproject.toml, with labels, a health
# check and an SBOM in /usr/share/doc/saycart. dist/ gets the SBOM and an OCI layout of each image, to which SBOM and
# provenance are attached: copy that to a registry (docs/containers.md).
#
#   infra/docker/images.sh PYTHON [PART...]
#
# PYTHON has requirements-supply.lock installed. Each image is built twice: the SBOM lists the contents of the first.
# SOURCE: the public repository (default: the git remote, if that is https).
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
command -v skopeo >/dev/null || stop "skopeo is missing: apt-get install skopeo"
docker info >/dev/null 2>&1 || stop "No Docker engine answers: start one (dockerd, as root)"
docker image inspect "$base" >/dev/null 2>&1 || docker pull -q "$base" ||
  stop "$base can't be pulled. Without a registry, tests/containers/base_images.sh makes a stand-in to try images on"
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
export BUILDX_NO_DEFAULT_ATTESTATIONS=1

base_digest=$(docker image inspect -f '{{if .RepoDigests}}{{index .RepoDigests 0}}{{else}}{{.Id}}{{end}}' "$base")
mkdir -p dist
label=org.opencontainers.image
for part; do
  image=saycart-$part:$version out=dist/saycart-$part started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  trap 'rm -f "$out.tar" "$out.contents"' EXIT
  build() {
    docker build -q -f infra/docker/Dockerfile --target "$part" -t "$image" --build-arg "COMMIT=$commit" \
      --label "$label.title=saycart-$part" --label "$label.version=$version" --label "$label.revision=$commit" \
      --label "$label.licenses=Apache-2.0" ${source:+--label "$label.source=$source"} "$@" . >/dev/null
  }
  build
  docker run -i --rm --network none --entrypoint python "$image" - <tests/supply/contents.py >"$out.contents"
  "$python" -m tests.supply.sbom "saycart-$part" "$version" <"$out.contents" >"$out.cdx.json"
  build --build-arg "SBOM=$out.cdx.json"
  rm -rf "$out"
  docker save -o "$out.tar" "$image"
  skopeo copy -q "docker-archive:$out.tar" "oci:$out:$version"
  rm -f "$out.contents" "$out.tar"
  "$python" -m tests.supply.provenance "$out" "$image" "$base" "$base_digest" "$commit" "$source" "$started"
  echo "$image: $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB, $out, $out.cdx.json"
done
