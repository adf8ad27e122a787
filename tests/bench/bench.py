#!/usr/bin/env python3
"""The figures of speed and memory, each beside its yardstick: bench.py [--quick] [BENCH]...

  nvme      entry reads and writes of four sizes against fio: bandwidth, CPU time per GiB
  block     the trace of the kernel's block layer, on : off
  ranks     two ranks on a disk against one run, skew of their start, cost of the gather
  memory    the same on the memory tier against threads that only copy
  rss       peak memory with entries of 2.5 GiB and 16 workers, after 10 s and at the end
  users     100,000 users on timers: CPU, memory, lateness; what the database costs whom
  start     from the start of the program to its first request
  parts     a latency recorded, a snapshot, a cache decision, the autoscaler's interval
  cache     decisions under each eviction policy with a million entries
  workload  a request made; files of conversations and rows against readers in Python
  record    logs and KV events recorded, against a parser and a subscriber that throw them away
  simulate  a recorded trace on a virtual clock, a million entries, sweeps
  crowd     simulated requests of ten thousand to ten million users, memory of a user
  decisions a cache on the blocks of a trace, beside libCacheSim on the same blocks
  autoscaler
            searches for knees of 1 to 10,000 users that are known, in simulated runs
  truth     what a calibrated simulation says beside the real run: seven cases
  remote    values on a Redis server and in an S3 bucket against redis-benchmark and libcurl
  gpu       the gpu tier against copies and fills by the runtime, on the GPU that is here
  results   a large history: listed, shown, compared, reported; bytes of an interval
  compare   how often equal runs are told apart, and whether a slower tier is found
  screen    a picture, a day of its history; runs with and without it; from a key to its picture

A yardstick runs in pairs with kvfall, in turn who begins; the table has the median of the ratios of
the pairs and the least and the largest. Sizes follow the disk and the memory that are free. Nothing
is judged but in the table: the exit status is 0 whatever the figures are."""
import argparse
import os
import pathlib
import shutil
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import figures
from measure import BUILD, KVFALL, Bench, Trouble, Unfit, say, size


def options_parse():
    words = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(prog="bench.py", description=words[0], epilog=words[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(figures.BENCHES)
    parser.add_argument("bench", nargs="*", metavar="BENCH", help="only these: " + ", ".join(names))
    parser.add_argument("--quick", action="store_true", help="shorter measurements, as many pairs")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of each figure (5)")
    parser.add_argument("--workers", type=int, default=min(max(len(os.sched_getaffinity(0)), 2), 16),
                        help="workers of kvfall and jobs of fio (usable CPUs, 2 to 16)")
    parser.add_argument("--dir", default=".", help="directory on the disk to measure (.)")
    parser.add_argument("--case", action="append", metavar="WORDS", help="of the benches truth and remote only the cases "
                        "with these words in their names; may be repeated")
    parser.add_argument("--traces", help="directory with mooncake/conversation_trace.jsonl")
    options = parser.parse_args()
    unknown = [name for name in options.bench if name not in names]
    if unknown:
        parser.error("there is no bench %s; there are %s" % (unknown[0], ", ".join(names)))
    if options.pairs < 1 or not 1 <= options.workers <= 256:
        parser.error("--pairs must be 1 or more, --workers 1 to 256")
    options.dir = os.path.abspath(options.dir)
    options.bench = options.bench or names
    return options


def stopped(number, _):
    sys.exit(128 + number)


def needs(options):
    """The sentence that says what is missing, or None."""
    if not os.access(str(KVFALL), os.X_OK):
        return "%s is not there; build it with ./bootstrap build, or run make bench" % KVFALL
    for name, users in (("bench_cache", {"cache"}), ("bench_copy", {"memory"}), ("bench_curl", {"remote"}), ("bench_events", {"record"}), ("bench_gpu", {"gpu"}), ("bench_parts", {"parts"}), ("bench_screen", {"screen"}), ("bench_trace", {"decisions"}),
                        ("bench_workload", {"workload"}), ("kvfall_sliced", {"block"})):
        if users & set(options.bench) and not os.access(str(BUILD / "tests/bench" / name), os.X_OK):
            return "%s is not built; run make bench" % (BUILD / "tests/bench" / name)
    if "nvme" in options.bench and not shutil.which("fio"):
        return "fio is missing, the yardstick of bench nvme: install the package fio"
    return None


def main():
    options = options_parse()
    missing = needs(options)
    if missing:
        print("bench: " + missing, file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGHUP, stopped)
    bench = None
    try:
        bench = Bench(options)
        print("machine: %d CPUs, %s of memory available, %s free under %s; %d workers, %d pairs%s"
              % (len(os.sched_getaffinity(0)), size(bench.memory), size(bench.free), options.dir, options.workers,
                 options.pairs, ", quick" if options.quick else ""), flush=True)
        for name in options.bench:
            say(name)
            try:
                figures.BENCHES[name](bench)
            except Unfit as why:
                bench.row_none(name, str(why))
        bench.table()
        return 0
    except Trouble as e:
        if bench and bench.rows:
            bench.table()
        print("bench: %s" % e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if bench:
            bench.close()


sys.exit(main())
