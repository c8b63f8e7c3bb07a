#!/usr/bin/env bash
# Builds the release of HEAD twice, in two directories and a few seconds apart, and compares the checksums of all files but the SBOMs,
# which contain the time and a random id. Usage: reproducible.sh GORELEASER
set -euo pipefail
goreleaser=$(realpath "$1")
root=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in first a/longer/second; do
	mkdir -p "$work/$(dirname "$side")"
	git clone -q "$root" "$work/$side"
	(cd "$work/$side" && "$goreleaser" release --snapshot --clean --skip=sign,sbom >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
	sleep 2
done
cmp "$work/first/dist/checksums.txt" "$work/a/longer/second/dist/checksums.txt"
echo "equal checksums:"
cat "$work/first/dist/checksums.txt"
