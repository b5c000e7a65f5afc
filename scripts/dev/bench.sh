# Speed, side by side (bench/README.md).

#: bench [--quick] [--case NAME...] [--write] | measure CPU, latency and memory beside peers (20 minutes; --quick 3; --help)
cmd_bench() {
  local word build=yes
  for word in "$@"; do
    case "$word" in
      -h | --help | --again) exec bench/run "$@" ;;
      --program | --program=*) build=no ;;
    esac
  done
  need build bench
  [[ $build == no ]] || build_preset release hushgate
  logged configure-bench cmake --preset release -B build/bench -DHUSHGATE_BENCH=ON
  ninja --quiet -C build/bench bench_programs
  exec bench/run "$@"
}
