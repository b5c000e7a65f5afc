#!/usr/bin/env bash
# curl through the running examples: curl.sh MODELS STACK WEB
models=$1 stack=$2 web=$3 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c 4000000 /dev/urandom > "$folder/data"
hash=$(sha256sum "$folder/data" | cut -d' ' -f1)

# check NAME EXPECTED SEEN
check() {
  if [[ $3 == $2 ]]; then
    echo "ok   curl: $1"
  else
    echo "FAIL curl: $1: expected $2, seen $3"
    failed=1
  fi
}

ask() { curl -sS --max-time 60 "$@" 2>&1; }

check "GET" '*"X-Forwarded-For": "127.0.0.1"*' "$(ask "$web/notes/who")"
check "HEAD" '*ontent-?ange: */*' "$(ask -I -H 'Prefer: count=exact' "$stack/rest/v1/todos")"
check "form and redirect" '*a lamp*' "$(ask -L -c "$folder/jar" -b "$folder/jar" -d thing='a lamp' "$web/cart")"
check "upload with Expect: 100-continue" "*$hash*" "$(ask -T "$folder/data" -H 'Expect: 100-continue' "$web/notes/upload")"
check "upload in chunks" "*$hash*" "$(ask -T - "$web/notes/upload" < "$folder/data")"
check "upload as a form" '*Key*' "$(ask -F "=@$folder/data;filename=x" "$stack/storage/v1/object/files/curl")"
check "download" "$hash  -" "$(ask "$stack/storage/v1/object/files/curl" | sha256sum)"
check "part of a download" 1000 "$(ask -r 5000-5999 "$stack/storage/v1/object/files/curl" | wc -c)"
check "HTTP/1.0" '100000' "$(ask -0 "$web/prices.csv" | wc -l)"
check "two on one connection" '*Re-using existing connection*' "$(ask -v "$web/notes/who" "$web/notes/who")"
check "a model's stream" '*"content":"error."*\[DONE\]*' "$(ask -N -d '{"model":"x","stream":true}' "$models/v1/chat/completions")"
check "too large" '413' "$(ask -o "$folder/out" -w '%{http_code}' -H 'Content-Length: 99999999' -H 'Expect: 100-continue' -T "$folder/data" "$stack/storage/v1/object/files/large")"
check "100 at once" '100' "$(ask -Z --parallel-max 50 -o "$folder/#1" -w '%{http_code}\n' "$web/notes/who?[1-100]" | grep -c 200)"
exit "$failed"
