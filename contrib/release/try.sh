#!/usr/bin/env bash
# Installs the packages of `make dist` for this platform as a new user would, and calls a tool through each.
# Usage: try.sh [DIST]
set -euo pipefail
dist=$(realpath "${1:-dist}")
contrib=$(realpath "$(dirname "$0")/..")
platform=$(node -p 'process.platform + "-" + process.arch')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config
export npm_config_cache=$work/npm-cache npm_config_offline=true npm_config_update_notifier=false UV_CACHE_DIR=$work/uv-cache UV_OFFLINE=1
mkdir "$HOME" "$work/npx" "$work/mcpb"

# run shows a command and runs it.
run() { echo "\$ $*" | sed "s|$dist|dist|g; s|$contrib|contrib|g; s|$work|WORK|g"; "$@"; }

# try serves the demo servers with the command in its arguments and calls one of their tools with the same command.
try() {
	run "$@" version
	"$@" serve --demo --listen 127.0.0.1:0 >"$work/log" 2>&1 &
	local server=$! url=
	for _ in $(seq 100); do
		url=$(grep -om1 'http://127[^ ]*' "$work/log") && break
		sleep 0.2
	done
	run "$@" call notes_add_note title=milk 'text=two bottles' --connect "$url"
	kill "$server"
	wait "$server" || true # npx ends before the program
	for _ in $(seq 50); do
		grep -o 'msg=stopped' "$work/log" && return
		sleep 0.2
	done
	echo "error: the gateway did not stop"
	return 1
}

cd "$work/npx"
run npm install --silent "$dist"/npm/goblin-actor-"$platform"-*.tgz "$dist"/npm/goblin-actor-[0-9]*.tgz
try npx goblin-actor

if command -v uvx >/dev/null; then
	cd "$work"
	try uvx --no-index --find-links "$dist/pypi" goblin-actor
else
	echo "not tried: uvx is not installed"
fi

cd "$work/mcpb"
run "$contrib/mcpb/node_modules/.bin/mcpb" unpack "$dist"/mcpb/goblin-actor-*-"$platform".mcpb . >/dev/null
run node "$contrib/mcpb/try.mjs" .
echo '{"mcpServers": {"mine": {"command": "./server/goblin-actor", "args": ["demo", "notes"]}}}' >chosen.json
run node "$contrib/mcpb/try.mjs" . "$PWD/chosen.json"
