#!/bin/sh
# The one recipe of both containers, envs/Containerfile and envs/container.def: installs the pinned
# versions of everything that runs the workflow. The workflow itself is not in the container, but in
# the checkout that it is started in (docs/containers.md).
#
#   TORCH_INDEX   where another build of torch comes from, such as https://download.pytorch.org/whl/cpu
set -eu
cd /opt/matched-eval
install="python -m pip install --no-cache-dir --disable-pip-version-check --constraint envs/lock.txt"
if [ -n "${TORCH_INDEX:-}" ]; then
    $install --index-url "$TORCH_INDEX" --no-deps torch
fi
$install '.[workflow,pacs]'
