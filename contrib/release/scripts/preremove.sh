#!/bin/sh
# Stops and disables the service before the package is removed. deb passes "remove", rpm the number of versions that remain.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now goblin-actor.service
	fi
	;;
esac
