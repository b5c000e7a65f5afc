#!/bin/bash
# The kit's ports.sh with an upstream that ignores Connection: close and never closes by itself: 1 000 ephemeral ports,
# tcp_tw_reuse off, POSTs 32 at a time. Each port would be held for closeWaitMs (1 000) after its exchange; when none is left
# the older half of those connections is reset, so no POST may fail or wait long.   ports_ignore.sh BINARY [POSTS]
set -eu
binary=$(realpath "$1"); posts=${2:-100000}; here=$(dirname "$(realpath "$0")"); dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc -O2 -o "$dir/upstream" "$here/upstream.c"
cat >"$dir/load.js" <<'J'
const http=require('http');const total=+process.argv[2];const agent=new http.Agent({keepAlive:true,maxSockets:32});
let started=0,done=0,most=0;const by={};
const one=()=>{if(started>=total)return;const id=started++,t=Date.now();
  const q=http.request({host:'127.0.0.1',port:8787,method:'POST',path:'/n/'+id,agent,headers:{'content-length':7}},r=>{
    by[r.statusCode]=(by[r.statusCode]||0)+1;most=Math.max(most,Date.now()-t);r.resume();r.on('end',fin)});
  q.on('error',e=>{by[e.code]=(by[e.code]||0)+1;fin()});q.end('{"a":1}')};
const fin=()=>{if(++done===total){console.log(JSON.stringify(by)+' slowest '+most+' ms');process.exit(0)}one()};
for(let i=0;i<32;i++)one();
J
cat >"$dir/run.sh" <<S
ip link set lo up; sysctl -qw net.ipv4.ip_local_port_range="40000 40999" net.ipv4.tcp_tw_reuse=0
$dir/upstream --deaf --port 9100 >/dev/null & u=\$!
$binary serve --listen 127.0.0.1:8787 --upstream http://127.0.0.1:9100 >/dev/null 2>$dir/log & g=\$!
trap 'kill \$g \$u 2>/dev/null' EXIT
sleep 1.5; s=\$(date +%s%N); echo "answers: \$(node $dir/load.js $posts)"; e=\$(date +%s%N)
sleep 2  # past closeWaitMs: until then the gateway may hold every port, and curl needs one to the upstream too
echo "deliveries: \$(curl -sS http://127.0.0.1:9100/count) (all, most of one, connections)"
echo "seconds: \$(( (e-s)/1000000 ))e-3"
S
out=$(timeout 400 unshare -n bash "$dir/run.sh" 2>&1) || true
echo "expected: {\"200\":$posts}, deliveries $posts, 1 of each"; echo "$out"
grep -o '"event":"[a-z_]*"' "$dir/log" | sort | uniq -c
if grep -q "answers: {\"200\":$posts} " <<<"$out" && grep -q "deliveries: $posts 1 " <<<"$out"; then echo ok; else
  grep -v '"status":200' "$dir/log" | head -3; echo FAIL; exit 1; fi
