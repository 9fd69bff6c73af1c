#!/bin/sh
# Runs a command with ROS and this workspace sourced.
set -e
# shellcheck disable=SC1091
. "/opt/ros/${ROS_DISTRO:-jazzy}/setup.sh"
if [ -f /oceangym/.oceangym/env.sh ]; then
    # shellcheck disable=SC1091
    . /oceangym/.oceangym/env.sh
fi
exec "$@"
