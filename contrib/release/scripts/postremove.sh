#!/bin/sh
# Makes systemd forget the unit. Purging the deb also removes the state and the credentials; rpm has no purge and leaves both.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/goblin-actor /var/lib/private/goblin-actor /etc/goblin-actor
fi
