# The tests. Every part ends in a line "N passed, N failed"; the whole does too.

test_passed=0 test_failed=0

count() {
  test_passed=$((test_passed + $1))
  test_failed=$((test_failed + $2))
}

# A test that ran without a word leaves out its two lines; the one in which a program crashed stays.
without_good_tests() {
  awk '/^\[ RUN / { if (held != "") print held; held = $0; next }
       /^\[       OK / && held != "" { held = ""; next }
       { if (held != "") print held; held = ""; print }
       END { if (held != "") print held }' "$1"
}

# part NAME COMMAND...: runs it, shows its output, and adds its closing counts. A command that fails without having
# counted a failure has failed once itself.
part() {
  local name=$1 log status=0 start=$SECONDS counts passed=0 failed=0
  shift
  log=$(log_file "test-${name//[^a-z0-9]/-}")
  echo "== $name"
  "$@" < /dev/null > "$log" 2>&1 || status=$?
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1 || true)
  [[ -n "$counts" ]] && read -r passed _ failed _ <<< "$counts"
  ((status != 0 && failed == 0)) && failed=1
  ((status == 0 && passed + failed == 0)) && failed=1 && echo "$name: nothing was counted" >> "$log"
  if ((failed)); then
    without_good_tests "$log" | tail -n "${HUSHGATE_TEST_LINES:-120}"
    echo "   (whole output: $log)"
  fi
  printf '== %s: %d passed, %d failed, %d s\n' "$name" "$passed" "$failed" $((SECONDS - start))
  count "$passed" "$failed"
}

# A build is no test: it counts only when it fails, and then its tests do not run.
prepare() {
  local preset=$1 start=$SECONDS
  shift
  echo "== build $preset"
  if logged "build-$preset" build_preset "$preset" "$@"; then
    printf '== build %s: %d s\n' "$preset" $((SECONDS - start))
    return 0
  fi
  count 0 1
  return 1
}

# unit_test PROGRAM: its report says how it ended, if it does not say it itself.
unit_test() {
  local report
  report=build/log/reports/$(basename "$1").json
  echo "--- $1"
  timeout -k 10 "${HUSHGATE_UNIT_SECONDS:-300}" "$1" --gtest_output="json:$report" ||
    echo "{\"ended\": $?}" > "$report.ended"
}

# Runs them, one per core at a time, and sums what they say. One that ends without saying it, or not at all, has failed.
unit_tests() {
  local program pids=() outputs=()
  local reports=build/log/reports
  rm -rf "$reports" && mkdir -p "$reports"
  for program in "$@"; do
    [[ -x "$program" ]] || continue
    ((${#pids[@]} < $(nproc))) || wait "${pids[-$(nproc)]}"
    outputs+=("$reports/$(basename "$program").out")
    unit_test "$program" > "${outputs[-1]}" 2>&1 &
    pids+=($!)
  done
  ((${#pids[@]})) || { echo "no test program among: $*" && return 1; }
  wait "${pids[@]}"
  cat "${outputs[@]}"
  python3 scripts/gtest_counts "$reports"
}

test_units() { prepare asan && part "unit tests (asan, ubsan)" unit_tests build/asan/*_test; }

# Where threads meet: the loops, tickets' keys, the resolver, the workers, the log, and the whole program.
test_threads() {
  local names=(io threads base)
  local tests=("${names[@]/%/_test}")
  local ready=yes
  prepare tsan hushgate "${tests[@]}" || ready=no
  [[ -z ${begun[asan]:-} ]] || part "end to end (asan)" finish asan
  [[ $ready == yes ]] || return 0
  part "unit tests (tsan)" unit_tests "${tests[@]/#/build/tsan/}"
  [[ -x build/tsan/hushgate && -e tests/e2e/run.py ]] && grep -q -e --tsan tests/e2e/run.py &&
    part "end to end (tsan)" end_to_end tsan --tsan
  return 0
}

# lives NAME ARGUMENTS: one more thing that passes or fails.
lives() {
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $name"; fi
}

same_in_every_build() {
  local preset
  for preset in release asan; do
    "build/$preset/swarm" --from 1 --seeds 200 --hashes > "build/log/hashes-$preset" || return 1
  done
  diff <(grep -v '/s)' build/log/hashes-release) <(grep -v '/s)' build/log/hashes-asan)
}

# A fixed set of seeds, the same everywhere; the same lives in an optimized and in a sanitizer's build; then fresh
# ones for a while: more of them is what ./dev soak is for.
simulated_lives() {
  local passed=0 failed=0
  lives "fixed seeds" build/release/swarm --jobs "$(nproc)" --from 1 --seeds 5000
  [[ -x build/asan/swarm ]] && lives "the same in every build" same_in_every_build
  lives "fresh seeds" build/release/swarm --jobs "$(nproc)" --seconds "${HUSHGATE_SIM_SECONDS:-20}"
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

test_lives() { prepare release swarm && part "simulated lives" simulated_lives; }

# end_to_end PRESET [ARGUMENTS]
end_to_end() {
  local program=build/$1/hushgate
  shift
  timeout -k 10 "${HUSHGATE_END_TO_END_SECONDS:-1200}" python3 tests/e2e/run.py "$program" "$@"
}

# Cases of the whole program wait most of the time, and a compiler does not: they run beside the next builds.
# begin NAME COMMAND...: starts it. `part NAME finish NAME` waits for it and takes its output over.
declare -A begun=()
begin() {
  local name=$1
  shift
  "$@" < /dev/null > "$(log_file "begun-$name")" 2>&1 &
  begun[$name]=$!
}
finish() {
  local status=0
  wait "${begun[$1]}" || status=$?
  cat "$(log_file "begun-$1")"
  return "$status"
}

#: test [--quick] | all tests; --quick: style and unit tests only. Ends with "N passed, N failed"
cmd_test() {
  local quick=no start=$SECONDS
  case "${1:-}" in
    --quick) quick=yes ;;
    '') ;;
    *) echo "usage: ./dev test [--quick]" >&2 && return 2 ;;
  esac
  need build unit tidy test
  part "style" python3 scripts/tidy
  part "style checks can fail" python3 tests/tidy_selftest
  part "versions" packaging/test-version
  if [[ $quick == yes ]]; then
    test_units || true
  else
    # End to end on both backends: io_uring, which `auto` takes where it can, and epoll with sanitizers.
    prepare release && begin release end_to_end release
    test_units || true
    [[ -z ${begun[release]:-} ]] || part "end to end (release)" finish release
    [[ ! -x build/asan/hushgate ]] || begin asan end_to_end asan --backend epoll
    test_lives || true
    test_threads
  fi
  echo "== all: $((SECONDS - start)) s"
  echo "$test_passed passed, $test_failed failed"
  ((test_failed == 0 && test_passed > 0))
}
