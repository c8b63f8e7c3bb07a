#!/usr/bin/env bash
# Runs every kind of bench except telemetry and writes a report for each into the directory $1. The reports in docs/bench
# were made with this script. It takes a quarter of an hour on two cores, during which the machine should be otherwise idle.
# Each --assert is a goal. A missed goal is noted in the report and does not end the script; a failed run does. The
# variables TIME and ROUNDS set the duration of each measurement and the number of rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?expected a directory for the reports}
time="--duration ${TIME:-8s} --rounds ${ROUNDS:-8}"

run() {
  printf '\n== bench %s\n' "$*"
  ./bin/goblin-actor bench "$@" --out "$out/$1" || test $? = 1
}

# shellcheck disable=SC2086 # two flags with their values
{
  run calls --self --compare direct,reverse-proxy,forwarder --concurrency 1,8,32,64,256 $time \
    --assert 'ratio(calls,http,c=64) >= 1.8' --assert 'ratio(calls,stdio,c=64) >= 2.6' \
    --assert 'p50(calls,http,c=1,to=direct) <= 2.6' --assert 'p50(calls,stdio,c=1,to=direct) <= 1.9' \
    --assert 'p99(calls,c=32,to=direct) <= 1.1' --assert 'p99(calls,c=256,to=direct) <= 1.1' --assert 'cpu(calls,c=64,to=forwarder) <= 1.8'
  run cells --self --concurrency 8 $time
  run big --self --compare direct,reverse-proxy,forwarder,whole-forwarder $time \
    --assert 'ratio(big,http,to=whole-forwarder) >= 0.95' --assert 'ratio(big,stdio,to=whole-forwarder) >= 0.8'
  run list --self $time --assert 'ratio(list) >= 0.95'
  run identity --self --concurrency 64 $time --assert 'cpu(identity,keys and roles,to=gateway) <= 1.03' --assert 'cpu(identity,audit,to=gateway) <= 1.05'
}
run idle --self --assert 'session(idle) <= 6KiB'
run cold --self --assert 'complete(cold,no state file) <= 15ms'
run fanout --subscribers 1000,5000 --assert 'ratio(fanout) <= 1.2' --assert 'failed(fanout) <= 0'
run faults --assert 'back(faults,kill,stdio) <= 30ms' --assert 'failed(faults) <= 0'
run growth --assert 'failed(growth) <= 0'
run limits --self --assert 'failed(limits) <= 0'
