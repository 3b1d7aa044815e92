#!/bin/sh
# The one installer of `make` and of both containers: the packages of a lock file, each a file whose SHA-256 is in it,
# then this project. Packages without a wheel are built by the setuptools of the lock file.
#
#   sh envs/install.sh PYTHON envs/workflow.txt .    # or --editable=.
#   TORCH_INDEX   where other builds of torch and torchvision come from, such as https://download.pytorch.org/whl/cpu.
#                 No hash of theirs is known here: HTTPS and this index vouch for them, and what only they need.
set -eu
cd "$(dirname "$0")/.."
python=$1 lock=$2 project=$3
install() { "$python" -m pip install --disable-pip-version-check --quiet "$@"; }
locked() { # the packages of the lock file for which an expression of awk is true
    awk "/^[^ #]/ { chosen = $1 } chosen" "$lock" |
        install --no-deps --no-build-isolation --use-pep517 --require-hashes --requirement /dev/stdin
}
others=1
case "${TORCH_INDEX:-} $("$python" -m pip list --disable-pip-version-check --format freeze)" in
    *://* | *torch==*+*) others='!/^(torch|torchvision|triton|nvidia-[^=]+|cuda-[^=]+)==/' ;;
esac
locked '/^setuptools==/'
locked "$others"
if [ -n "${TORCH_INDEX:-}" ]; then # after the packages that they share with others
    install --index-url "$TORCH_INDEX" $(sed -nE 's/^((torch|torchvision)==[^ ]+).*/\1/p' "$lock")
fi
install --no-deps --no-build-isolation "$project"
