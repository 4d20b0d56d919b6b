# Sourced by scripts: packages of another Debian suite or architecture, without touching the system's own configuration.
# shellcheck shell=bash disable=SC2034 # APT and APT_CACHE are for the caller

# private_apt DIRECTORY "SUITE..." [ARCHITECTURE]: reads those suites' lists into DIRECTORY, from the mirror that this
# machine uses already. Sets APT to the options for apt-get and apt-cache, APT_CACHE to the cache's folder. Status 1: no
# such mirror or suite.
private_apt() {
    local state="$1/apt-${2// /-}-${3:-native}" mirror suite arch="${3:-$(dpkg --print-architecture)}"
    # shellcheck disable=SC2016 # apt's own variable
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | grep '/debian/*$' | head -n 1)
    [ -n "$mirror" ] || return 1
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    for suite in $2; do
        printf 'deb [arch=%s signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$arch" "$mirror" "$suite"
    done >"$state/sources.list"
    APT_CACHE="$state/cache"
    APT="-o Dir::Etc::sourcelist=$state/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$state/lists \
         -o Dir::Cache=$state/cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
         -o Acquire::Languages=none -o APT::Architecture=$arch -o APT::Architectures=$arch -qq"
    # shellcheck disable=SC2086 # a list of words is meant
    apt-get $APT update >"$state/update.log" 2>&1
}

# unpack_package DIRECTORY PACKAGE: downloads PACKAGE with the options in APT and unpacks it into DIRECTORY/PACKAGE.
unpack_package() {
    local into="$1/$2"
    rm -rf "$into" "$1/download" && mkdir -p "$1/download" "$into"
    # shellcheck disable=SC2086
    (cd "$1/download" && apt-get $APT download "$2" >download.log 2>&1) || { tail -n 5 "$1/download/download.log" >&2; return 1; }
    dpkg-deb -x "$1"/download/*.deb "$into" && rm -rf "$1/download"
}
