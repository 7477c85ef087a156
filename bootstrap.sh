#!/bin/sh
# Makes .venv and installs into it the locked packages of a running server (run) or of development and tests (test).
# Does nothing, in milliseconds, when they are there already.
#
# Usage: ./bootstrap.sh [run|test]
# PYTHON=/path/to/python3 names the interpreter; otherwise the first Python from 3.12 to 3.14 that can be found is used.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")"

kind=${1:-run}
stamp=.venv/.bootstrap
made=$(cat "$stamp" 2>/dev/null || true)
# Everything a server needs is in the test lock as well, so running must not undo what the tests need.
case $kind:$made in run:test\ *) kind=test ;; esac
case $kind in
    run) lock=requirements.txt ;;
    test) lock=requirements-dev.txt ;;
    *) echo "Usage: ./bootstrap.sh [run|test]" >&2; exit 2 ;;
esac

say() { printf '%s\n' "$*" >&2; }
have_uv() { command -v uv >/dev/null 2>&1; }
# Prints "3.13". Asked of the interpreter itself: a pyenv shim exists without working, and python3 may be anything.
version_of() { "$1" -I -S -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
fits() { case $1 in 3.12 | 3.13 | 3.14) true ;; *) false ;; esac; }
can_make_venv() { have_uv || "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# The stamp names the folder and the Python version: a .venv that was moved, or whose Python was replaced, is rebuilt.
where="$(version_of .venv/bin/python || true) $(pwd -P)"
wanted="$kind $(cksum <"$lock") $where"
[ "$made" != "$wanted" ] || exit 0

# An unfinished one is not trusted; one without a stamp was made by hand, and is kept if it works.
reusable() {
    fits "${where%% *}" && [ -f .venv/pyvenv.cfg ] || return 1
    have_uv || [ -d ".venv/lib/python${where%% *}/site-packages/pip" ] || return 1
    case $made in '' | *" $where") true ;; *) false ;; esac
}

# Sets $python, or says what was found instead and ends.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3.14 python3.13 python3.12 python3 "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[234]*/bin/python
        if have_uv; then set -- "$@" "$(uv python find '>=3.12,<3.15' 2>/dev/null || true)"; fi
    fi
    found='' without_venv=''
    for python in "$@"; do
        version=$(version_of "$python") || continue
        if ! fits "$version"; then
            found="$found
  $(command -v "$python") is Python $version"
        elif can_make_venv "$python"; then
            return 0
        else
            without_venv=$version
        fi
    done
    if [ -n "$without_venv" ]; then
        say "Python $without_venv is here, but without the modules that make a virtual environment (venv, ensurepip)."
        say "Install them and try again. On Debian and Ubuntu: apt-get install python$without_venv-venv"
    else
        say "Personas needs Python 3.12, 3.13 or 3.14. Found instead:${found:- no Python at all.}"
        say "Install one (Debian 13: apt-get install python3 python3-venv; or https://www.python.org/downloads/) and try again."
        say "If it is in a folder of its own, name it: PYTHON=/path/to/python3 ./bootstrap.sh $kind"
    fi
    exit 1
}

if ! reusable; then
    find_python
    say "Making .venv with Python $version."
    rm -rf .venv
    if have_uv; then uv venv --quiet --no-config --python "$python" .venv; else "$python" -m venv .venv; fi
    where="$version $(pwd -P)"
fi

echo unfinished >"$stamp"
say "Installing the packages of $lock. This takes up to a minute, once."
if have_uv; then
    uv pip install --quiet --python .venv/bin/python --require-hashes -r "$lock"
else
    .venv/bin/python -m pip install -qq --no-input --disable-pip-version-check --require-hashes -r "$lock"
fi || { say "The packages could not be installed; the reason stands above. Running this again starts afresh."; exit 1; }
echo "$kind $(cksum <"$lock") $where" >"$stamp"
