#!/usr/bin/env bash
# Builds the images with buildah: contrib/container/build.sh [ARCH...] (default: this machine's).
#
# TARGETS selects images (default: "minimal full"), BASE the Debian image to start from. The result is a manifest list for each image,
# goblin-actor:minimal and goblin-actor:full, with one entry per architecture.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${VERSION:-$(git describe --tags --always --dirty)}
commit=$(git rev-parse HEAD)
package=goblin-actor/internal/cli/program
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp tests/interop/python/uv.txt "$context/"
for target in ${TARGETS:-minimal full}; do
	buildah manifest rm "goblin-actor:$target" >/dev/null 2>&1 || true
done
for arch in "${@:-$(go env GOARCH)}"; do
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -tags grpcnotrace -trimpath -buildvcs=false \
		-ldflags "-s -w -X $package.version=$version -X $package.commit=$commit -X $package.date=$(git show -s --format=%cI HEAD)" \
		-o "$context/linux/$arch/goblin-actor" ./cmd/goblin-actor
	for target in ${TARGETS:-minimal full}; do
		# The docker format has HEALTHCHECK, which the OCI format lacks. All times are those of the commit. Older versions of buildah do not set
		# BUILDPLATFORM.
		buildah build --format docker --platform "linux/$arch" --target "$target" --timestamp "$(git show -s --format=%ct HEAD)" \
			${BASE:+--build-arg "BASE=$BASE"} --build-arg "BUILDPLATFORM=linux/$(go env GOHOSTARCH)" --build-arg "VERSION=$version" --build-arg "REVISION=$commit" \
			--manifest "goblin-actor:$target" -f contrib/container/Containerfile "$context"
	done
done
