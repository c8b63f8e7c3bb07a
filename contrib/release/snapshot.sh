#!/usr/bin/env bash
# Builds all release files of HEAD into DIR with goreleaser, without a tag or an account. It builds in a clone, since goreleaser reads the
# commit only in a checkout that has a remote, and since files that are not committed must not be in a release.
# Usage: snapshot.sh DIR [FLAG OF goreleaser]…
set -euo pipefail
dir=$(realpath -m "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$(git rev-parse --show-toplevel)" "$work/source"
(cd "$work/source" && goreleaser release --snapshot --clean --skip=sign "$@")
rm -rf "$dir"
mv "$work/source/dist" "$dir"
