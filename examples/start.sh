# What the run scripts share. Each one says, in the folder of its example:
#   source ../start.sh
#   start NAME PORT COMMAND...   a server; it finds its port in $PORT
#   gateway PORT "$@"            waits for the servers, starts hushgate, stays until Ctrl-C; with --test, runs ./test.mjs
#
# HUSHGATE=PROGRAM      the hushgate to run (default: this project's release build, else the one in PATH)
# EXAMPLES_SHIFT=N      adds N to every port, here and in hushgate.jsonc: several of these at once, or ports that are taken

set -euo pipefail
shift_by=${EXAMPLES_SHIFT:-0}
ports=() pids=()

find_hushgate() {
  local built=../../build/release/hushgate
  if [[ -n "${HUSHGATE:-}" ]]; then
    echo "$HUSHGATE"
  elif [[ -x "$built" ]]; then
    echo "$built"
  else
    command -v hushgate || { echo "no hushgate: build it with ./dev build, or set HUSHGATE" >&2 && return 1; }
  fi
}

want() {
  local program
  for program in "$@"; do
    command -v "$program" > /dev/null || { echo "this example needs $program" >&2 && exit 3; }
  done
}

end_all() {
  trap - EXIT INT TERM
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2> /dev/null || true
  wait
}
trap end_all EXIT
trap 'exit 0' INT TERM

start() {
  local name=$1 port=$(($2 + shift_by))
  shift 2
  PORT=$port "$@" &
  pids+=("$!") ports+=("$name $port $!")
}

# serves NAME PORT PID: waits until it accepts connections, on either loopback.
serves() {
  local _
  for _ in {1..300}; do
    kill -0 "$3" 2> /dev/null || { echo "$1 has ended before it served" >&2 && return 1; }
    { : < "/dev/tcp/127.0.0.1/$2" || : < "/dev/tcp/::1/$2"; } 2> /dev/null && return
    sleep 0.1
  done
  echo "$1 does not serve on port $2" >&2
  return 1
}

# The example's file, its ports moved.
configuration() {
  if ((shift_by)); then
    perl -pe 's/((?:127\.0\.0\.1|localhost):)(\d+)/$1 . ($2 + '"$shift_by"')/ge' hushgate.jsonc > "$1"
    echo "$1"
  else
    echo hushgate.jsonc
  fi
}

# gateway PORT [--test]
gateway() {
  local port=$(($1 + shift_by)) program file server status=0 folder
  program=$(find_hushgate)
  for server in "${ports[@]}"; do
    # shellcheck disable=SC2086
    serves $server
  done
  folder=$(mktemp -d)
  file=$(configuration "$folder/hushgate.jsonc")
  "$program" serve -c "$file" &
  local pid=$!
  pids+=("$pid")
  serves hushgate "$port" "$pid" || status=1
  if ((status == 0)) && [[ ${2:-} == --test ]]; then
    node test.mjs "http://127.0.0.1:$port" || status=$?
    # What hushgate's own end says counts too.
    kill "$pid" && wait "$pid" || status=$?
  elif ((status == 0)); then
    echo "http://127.0.0.1:$port is up; Ctrl-C ends it all"
    wait "$pid" || status=$?
  fi
  rm -rf "$folder"
  exit "$status"
}
