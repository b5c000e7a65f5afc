# Style.

#: tidy [--deep] | check floors, lengths, patterns, headers and format; --deep runs clang-tidy too
cmd_tidy() {
  need build unit tidy
  python3 scripts/tidy
  [[ "${1:-}" == --deep ]] || return 0
  need deep
  logged configure-debug cmake --preset debug
  git ls-files -co --exclude-standard 'src/*.cc' |
    xargs -r -P "$(nproc)" -n 4 clang-tidy-19 --quiet -p build/debug
}

#: fmt [FILE...] | format the files, or every source file
cmd_fmt() {
  local files=("$@") _
  need tidy
  ((${#files[@]})) || mapfile -t files < <(git ls-files -co --exclude-standard '*.cc' '*.h')
  # Twice: a comment that was broken into lines may be aligned differently the next time.
  for _ in 1 2; do
    ((${#files[@]} == 0)) || clang-format-19 -i "${files[@]}"
  done
}
