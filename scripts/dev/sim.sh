# Whole lives of the gateway in virtual time (docs/testing.md).

build_swarm() {
  need build
  build_preset release swarm
}

#: sim [--seeds N] [--from S] [--replay S] | live N seeds of the simulation, or one again with its timeline
cmd_sim() {
  build_swarm
  exec build/release/swarm --jobs "$(nproc)" "$@"
}

#: soak [--hours H] [--minutes M] | the simulation with fresh seeds for so long, on all cores
cmd_soak() {
  local seconds=3600
  case "${1:-}" in
    --hours) seconds=$((${2:?--hours wants a number} * 3600)) ;;
    --minutes) seconds=$((${2:?--minutes wants a number} * 60)) ;;
    '') ;;
    *) echo "usage: ./dev soak [--hours H | --minutes M]" >&2 && return 2 ;;
  esac
  build_swarm
  exec build/release/swarm --jobs "$(nproc)" --seconds "$seconds"
}

#: mutants [NAME...] | prove that the simulation can fail: live seeds of deliberately broken gateways until each is caught
cmd_mutants() {
  need build unit mutants
  exec python3 tests/mutants/run.py "$@"
}

#: coverage [SEEDS] | what the simulation (20 000 seeds) and the unit tests reach of src/: lines and branches
cmd_coverage() {
  local seeds=${1:-20000} name objects=()
  local -x LLVM_PROFILE_FILE=build/coverage/profile/%p.profraw
  need build unit
  build_preset coverage
  rm -rf build/coverage/profile
  build/coverage/swarm --jobs "$(nproc)" --from 1 --seeds "$seeds"
  for name in http io route upstream proxy sim; do
    logged "coverage-$name" "build/coverage/${name}_test"
    objects+=(-object "build/coverage/${name}_test")
  done
  llvm-profdata-19 merge -sparse build/coverage/profile/*.profraw -o build/coverage/profile/all
  llvm-cov-19 report build/coverage/swarm "${objects[@]}" -instr-profile build/coverage/profile/all \
    -show-branch-summary -show-region-summary=false -ignore-filename-regex '(_test\.cc|tests/|/usr/|testing\.h)'
}
