#!/usr/bin/env bash
# Build the image ringmt:cpu with whatever builds images here. Arguments go to the builder.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${TAG:-ringmt:cpu}
for builder in docker podman buildah; do
  command -v "$builder" >/dev/null || continue
  if [ "$builder" = docker ] && ! docker info >/dev/null 2>&1; then continue; fi
  exec "$builder" build --target cpu -f docker/Dockerfile -t "$tag" "$@" .
done
echo "building an image needs docker, podman or buildah" >&2
exit 1
