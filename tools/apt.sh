# Shared by tools/setup and tools/trust/qemu: packages of Debian suites that the system does not use.
# shellcheck shell=bash disable=SC2034 # APT is for the caller

# A private apt configuration: the machine's own mirror, the suites named, nothing of the system's
# lists or sources touched. Sets APT to the options. Needs WORK, a folder to keep its state in.
private_apt() { # suite...
    local mirror suite state="$WORK/apt-$1${2:+-and-more}"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | grep '/debian/*$' | head -n 1)
    [ -n "$mirror" ] || return 1
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    for suite in "$@"; do
        printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite"
    done >"$state/sources.list"
    APT_CACHE="$state/cache"
    APT="-o Dir::Etc::sourcelist=$state/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$state/lists \
         -o Dir::Cache=$state/cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none -qq"
    # shellcheck disable=SC2086 # a list of options is meant
    apt-get $APT update >"$state/update.log" 2>&1
}
