#!/bin/sh
# Succeeds when Qt has a screen to draw on: a display, or Xvfb, which pytest-xvfb starts.
# On Linux without either, names the packages that are missing in one line and fails. It installs
# them only where somebody said so: with --install, or where CI=true, as services of continuous
# integration set it; and only where that takes no password (root or passwordless sudo, with
# apt-get). It says what it installs before it does.

[ "$(uname -s)" = Linux ] || exit 0
[ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || exit 0

PATH="$PATH:/usr/sbin:/sbin" # ldconfig lies there
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# What Qt and Xvfb need, as file:package (the names of Debian and Ubuntu).
needed="Xvfb:xvfb xauth:xauth libEGL.so.1:libegl1 libglib-2.0.so.0:libglib2.0-0
    libdbus-1.so.3:libdbus-1-3 libfontconfig.so.1:libfontconfig1
    libxcb-cursor.so.0:libxcb-cursor0 libxcb-icccm.so.4:libxcb-icccm4
    libxcb-keysyms.so.1:libxcb-keysyms1 libxcb-shape.so.0:libxcb-shape0
    libxkbcommon-x11.so.0:libxkbcommon-x11-0"

missing() {
    libraries=$(ldconfig -p 2>/dev/null)
    for pair in $needed; do
        case $pair in
            lib*) case $libraries in *"${pair%%:*}"*) ;; *) printf '%s ' "${pair#*:}" ;; esac ;;
            *) command -v "${pair%%:*}" >/dev/null || printf '%s ' "${pair#*:}" ;;
        esac
    done
}

install() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" = 0 ]; then as_root=env
    elif sudo -n true 2>/dev/null; then as_root="sudo -n env"
    else return 1
    fi
    echo "No screen: installing system packages with apt-get: $*"
    quick="-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
    {
        $as_root DEBIAN_FRONTEND=noninteractive apt-get $quick update &&
            $as_root DEBIAN_FRONTEND=noninteractive \
                apt-get $quick install -y --no-install-recommends "$@"
    } </dev/null >"$log" 2>&1
}

packages=$(missing)
[ -z "$packages" ] && exit 0
if [ "${1:-}" = --install ] || [ "${CI:-}" = true ]; then
    # shellcheck disable=SC2086 # a list of words
    install $packages
    packages=$(missing)
    [ -z "$packages" ] && exit 0
    tail -n 3 "$log" >&2
fi
echo "No screen: the tests that need one are left out. Missing packages: $packages" >&2
exit 1
