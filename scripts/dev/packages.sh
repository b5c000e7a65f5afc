# What each purpose needs from Debian. `need PURPOSE...` installs what is missing and does nothing when all is there.

packages_of() {
  case "$1" in
    build) echo clang-19 lld-19 llvm-19 libclang-rt-19-dev libstdc++-12-dev cmake ninja-build \
      libfmt-dev libspdlog-dev rapidjson-dev libcli11-dev liburing-dev libssl-dev libnghttp2-dev ;;
    unit) echo libgtest-dev libgmock-dev libboost-dev ;;
    tidy) echo python3 clang-format-19 ;;
    deep) echo clang-tidy-19 ;;
    test) echo python3 python3-jsonschema python3-hpack python3-grpcio nodejs curl netcat-openbsd iproute2 procps openssl \
      nginx haproxy nghttp2-client nghttp2-proxy ;;
    demo) echo curl ;;
    mutants) echo python3 patch rsync ;;
    bench) echo python3 nginx haproxy caddy h2o nghttp2-client nodejs valgrind libbenchmark-dev libboost-dev libhttp-parser-dev ;;
    package) echo binutils dpkg-dev git ;;
    package_test) echo lintian groff debootstrap systemd-container ;;
    *) return 1 ;;
  esac
}

reason_of() {
  case "$1" in
    build) echo "compiler, build tools and libraries" ;;
    unit) echo "unit tests and fuzzers, and the HTTP parser they compare with" ;;
    tidy) echo "format and style checks" ;;
    deep) echo "clang-tidy" ;;
    test) echo "end-to-end tests: clients, upstreams and network tools" ;;
    demo) echo "the commands that the demo prints" ;;
    bench) echo "gateways to measure beside, valgrind, and libraries for the microbenchmarks" ;;
    mutants) echo "copies of the sources with deliberate faults" ;;
    package) echo "tools that make packages" ;;
    package_test) echo "package checks, and a system of its own to install in" ;;
  esac
}

log_file() {
  mkdir -p build/log
  echo "build/log/$1.log"
}

# Runs a command with its output in a log, which is shown only if the command fails.
logged() {
  local log
  log=$(log_file "$1")
  shift
  if ! "$@" > "$log" 2>&1; then
    echo "--- failed: $* (whole output: $log)" >&2
    tail -n 60 "$log" >&2
    return 1
  fi
}

# Sets `missing` to the packages of the arguments that are not installed.
find_missing() {
  local package
  missing=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2> /dev/null | grep -qx installed ||
      missing+=("$package")
  done
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  else
    sudo "$@"
  fi
}

known_to_apt() {
  local package
  for package in "$@"; do
    apt-cache show --no-all-versions "$package" > /dev/null 2>&1 || return 1
  done
}

# No service that a package brings is to start on a developer's machine only because it was installed.
apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive sh -c '
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      printf "#!/bin/sh\nexit 101\n" > "$policy" && chmod +x "$policy"
      trap "rm -f $policy" EXIT
    fi
    apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"' sh "$@"
}

apt_update() { as_root apt-get -q -o DPkg::Lock::Timeout=300 update; }

# Lists that are there but old name files that mirrors no longer have, hence the second try.
install_packages() {
  local updated=no
  if ! known_to_apt "$@"; then
    apt_update
    updated=yes
  fi
  apt_install "$@" && return
  [[ $updated == no ]] && apt_update && apt_install "$@"
}

explain_no_root() {
  cat >&2 << END
./dev: $2 package(s) are missing, and this user is not root and has no sudo.
Ask an administrator to run, then call ./dev again:

  apt-get update && apt-get install --no-install-recommends $1

END
}

need() {
  local purpose missing wanted=()
  for purpose in "$@"; do
    # shellcheck disable=SC2046
    find_missing $(packages_of "$purpose")
    ((${#missing[@]})) || continue
    echo "./dev: installing for $purpose ($(reason_of "$purpose")): ${missing[*]}"
    wanted+=("${missing[@]}")
  done
  ((${#wanted[@]})) || return 0
  if ! command -v apt-get > /dev/null; then
    echo "./dev: no apt-get here. Debian 12 is the reference; elsewhere install the same by hand." >&2
    return 1
  fi
  if [[ $(id -u) != 0 ]] && ! command -v sudo > /dev/null; then
    explain_no_root "${wanted[*]}" "${#wanted[@]}"
    return 1
  fi
  as_root true  # a password is asked for here, not behind the log
  logged install install_packages "${wanted[@]}"
}
