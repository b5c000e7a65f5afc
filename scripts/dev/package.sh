# Packages: one program for all of them, in build/package; what is given away, in build/dist.

package_version() { echo "${HUSHGATE_RELEASE:-$(packaging/version)}"; }

# The release preset, with what Debian's and others' systems may lack linked in (libstdc++, libgcc, liburing, nghttp2; for other
# systems OpenSSL, which Debian keeps safe by itself). Only the C library stays outside: names are resolved through it
# and this machine's nsswitch.
build_for_packages() {
  local version=$1 static_openssl=$2 static=$PWD/build/package/static
  mkdir -p "$static"
  ln -sf "$(clang++-19 -print-file-name=liburing.a)" "$static/liburing.a"
  logged configure-package cmake --preset release -B build/package \
    "-DOPENSSL_USE_STATIC_LIBS=$static_openssl" -UOPENSSL_*_LIBRARY -ULIB_EAY_* -USSL_EAY_* \
    "-DHUSHGATE_RELEASE=$version" "-DCMAKE_PROJECT_hushgate_INCLUDE=$PWD/packaging/version.cmake" \
    "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=$PWD=." \
    "-DCMAKE_EXE_LINKER_FLAGS=-L$static -static-libstdc++ -static-libgcc -Wl,-z,now"
  ninja --quiet -C build/package hushgate
}

# The same commit makes the same bytes.
set_source_date() {
  if [[ -z "${SOURCE_DATE_EPOCH:-}" ]]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || date +%s)
  fi
  export SOURCE_DATE_EPOCH
}

#: package [--archive] [--test] | a .deb (or an archive for any Linux) in build/dist; --test: live its life in a fresh root
cmd_package() {
  local kind=deb test=no version made
  while (($#)); do
    case "$1" in
      --archive) kind=archive ;;
      --test) test=yes ;;
      *) echo "usage: ./dev package [--archive] [--test]" >&2 && return 2 ;;
    esac
    shift
  done
  need build package
  version=$(package_version)
  set_source_date
  build_for_packages "$version" "$([[ $kind == archive ]] && echo TRUE || echo FALSE)"
  mkdir -p build/dist
  made=$("packaging/make-$kind" build/package/hushgate "$version" build/dist)
  echo "built: $made"
  [[ $test == yes ]] || return 0
  need package_test
  "packaging/test-$kind" "$made"
}
