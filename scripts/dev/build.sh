# Building and running.

# The sanitizers find their symbolizer by name only without a version.
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:external_symbolizer_path=$ASAN_SYMBOLIZER_PATH}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:external_symbolizer_path=$ASAN_SYMBOLIZER_PATH}

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1
  shift
  logged "configure-$preset" cmake --preset "$preset"
  if [[ -t 1 ]]; then
    ninja -C "build/$preset" "$@"
  else
    ninja --quiet -C "build/$preset" "$@"
  fi
}

#: build [PRESET] | build (release; debug, asan, tsan and fuzz are the other presets)
cmd_build() {
  local preset=${1:-release}
  need build
  [[ $preset == release ]] || need unit
  build_preset "$preset"
  echo "built: build/$preset"
}

#: run [ARGUMENTS] | build the release and show it: a gateway in front of a built-in upstream
cmd_run() {
  need build demo
  [[ -x build/release/hushgate ]] || echo "./dev: building build/release, which takes some minutes"
  build_preset release
  exec build/release/hushgate demo "$@"
}

#: kit ARGUMENTS | run a script of the black-box kit beside the project, if there is one
cmd_kit() {
  local kit=${HUSHGATE_KIT:-../shared/kit} script=${1:-lifecycle.py}
  shift || true
  if [[ ! -d "$kit" ]]; then
    echo "./dev kit: no kit at $kit (HUSHGATE_KIT says where it is)" >&2
    return 1
  fi
  need build test
  build_preset release
  case "$script" in
    lifecycle.py | ports.sh) set -- build/release/hushgate "$@" ;;
  esac
  case "$script" in
    *.py) python3 "$kit/$script" "$@" ;;
    *) bash "$kit/$script" "$@" ;;
  esac
}

#: fuzz [--seconds N] [NAME] | run each fuzzer (or one) for N seconds, 60 by default
cmd_fuzz() {
  local seconds=60 only='*' fuzzer name ran=0
  while (($#)); do
    case "$1" in
      --seconds) seconds=$2 && shift ;;
      *) only=${1%_fuzz} ;;
    esac
    shift
  done
  need build unit
  build_preset fuzz
  for fuzzer in build/fuzz/${only}_fuzz; do
    [[ -x "$fuzzer" ]] || continue
    name=$(basename "$fuzzer")
    mkdir -p "build/corpus/$name"
    local corpora=("build/corpus/$name")
    [[ -d "fuzz/seeds/${name%_fuzz}" ]] && corpora+=("fuzz/seeds/${name%_fuzz}")
    echo "$name: $seconds s"
    "$fuzzer" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -dict=fuzz/http.dict "-artifact_prefix=build/corpus/$name-" "${corpora[@]}" 2> "build/log/$name.log" ||
      { tail -n 60 "build/log/$name.log" >&2 && return 1; }
    grep -E 'stat::number_of_executed_units|stat::average_exec' "build/log/$name.log" || true
    ran=$((ran + 1))
  done
  ((ran)) || { echo "./dev fuzz: no fuzzer named $only" >&2 && return 1; }
}
