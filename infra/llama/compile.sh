#!/usr/bin/env bash
# Compile llama.cpp from the source package of xllamacpp, whose wheel uses no instructions beyond AVX2.
#
#   infra/llama/compile.sh native|portable FOLDER     # writes FOLDER/llama-VERSION
#
# native: for this machine's processor (`make engine`). portable: for every kind of processor; the library chooses at start
# (the image `llm`). Needs a C++ compiler, and on PATH the Python and CMake of requirements-engine.lock.
set -euo pipefail
lock=$(dirname "${BASH_SOURCE[0]}")/../../requirements.lock
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^[a-z0-9]/ { on = /^xllamacpp==/ } on' "$lock" >"$work/source.lock"
python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation --require-hashes \
  --dest "$work" --requirement "$work/source.lock" 2>"$work/log" || { cat "$work/log"; exit 1; }
tar -xzf "$work"/xllamacpp-*.tar.gz -C "$work"
source=$(echo "$work"/xllamacpp-*/)

options=(-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN')
for part in COMMON EXAMPLES SERVER TESTS TOOLS; do options+=("-DLLAMA_BUILD_$part=OFF"); done
case $1 in
native) options+=(-DGGML_NATIVE=ON) ;;
portable) options+=(-DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON) ;;
esac
{
  cmake -S "${source}thirdparty/llama.cpp" -B "$work/build" "${options[@]}" &&
    cmake --build "$work/build" --parallel "$(nproc)" --target llama
} >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }

version=$(basename "$source")
to=$2/llama-${version#xllamacpp-}
rm -rf "$to" "$to.part"
mkdir -p "$to.part"
cp -P "$work"/build/bin/*.so* "$to.part/"
# Another processor may lack instructions of this one.
[ "$1" = portable ] || grep -m 1 '^flags' /proc/cpuinfo >"$to.part/processor" || true
mv "$to.part" "$to"
