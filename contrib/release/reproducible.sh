#!/usr/bin/env bash
# Builds the release of HEAD twice, in two directories, the second time with an empty build cache, and compares the checksums of all
# files but the SBOMs, which contain the time and a random id.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for side in first a/longer/second; do
	mkdir -p "$work/$side"
	TMPDIR=$work/$side "$(dirname "$0")/snapshot.sh" "$work/$side/dist" --skip=sbom >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	export GOCACHE=$work/cache
done
diff "$work/first/dist/checksums.txt" "$work/a/longer/second/dist/checksums.txt"
echo "equal checksums:"
cat "$work/first/dist/checksums.txt"
