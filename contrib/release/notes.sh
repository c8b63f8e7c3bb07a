#!/usr/bin/env bash
# Prints the release notes of a version: its section of CHANGELOG.md, without the heading, with links to the files of that version.
# GOBLIN_OWNER is the GitHub account in the links. Usage: notes.sh VERSION, such as v0.1.0
set -euo pipefail
version=${1#v}
files=https://github.com/${GOBLIN_OWNER:-OWNER}/goblin-actor/blob/v$version
notes=$(awk -v heading="## $version" '
	/^## / { inside = $0 == heading || index($0, heading " ") == 1; next }
	inside && (NF || started) { started = 1; print }' "$(dirname "$0")/../../CHANGELOG.md" | sed "s|](docs/|]($files/docs/|g")
test -n "$notes" || {
	echo "error: CHANGELOG.md has no section for $version; move its entries below a heading \"## $version (DATE)\"" >&2
	exit 1
}
echo "$notes"
