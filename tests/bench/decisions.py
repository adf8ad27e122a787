"""Decisions of the cache on a recorded trace, beside libCacheSim on the same blocks."""
import json
import subprocess
import sys

from measure import KVFALL, Unfit, say
from simulate import clocked

VERSION, TIMES, BLOCKS = "0.3.5", 10, 10000
POLICIES = {"lru": "LRU", "arc": "ARC", "sieve": "Sieve"}
# The file is mapped and read as it goes, as programs that use the library do.
THEIRS = """
import sys, time, libcachesim as sim
alike = sim.ReaderInitParam()
alike.ignore_obj_size = True
reader = sim.TraceReader(sys.argv[1], sim.TraceType.ORACLE_GENERAL_TRACE, alike)
cache = getattr(sim, sys.argv[2])(int(sys.argv[3]))
begun = time.process_time()
missed = cache.process_trace(reader)[0]
print(time.process_time() - begun, missed)
"""
SCENARIO = """
model: {preset: tiny-1b, layers: 1}
mode: simulate
run: {duration: 1000h, warmup: 0s, interval: 5m}
tiers: {cpu: {blocks: %d}}
cache: {granularity: block, headroom: 0, eviction: %s}
workload: {source: mooncake, path: "%s"}
"""


def library(bench):
    """A Python that imports it."""
    folder = bench.path("libcachesim")
    python = folder + "/bin/python"
    for argv in ([sys.executable, "-m", "venv", folder],
                 [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "libcachesim==" + VERSION]):
        try:
            got = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Unfit("libcachesim %s cannot be installed: %s" % (VERSION, e))
        if got.returncode != 0:
            said = (got.stderr.strip() or got.stdout.strip() or "no reason given").splitlines()[-1]
            raise Unfit("libcachesim %s cannot be installed: %s" % (VERSION, said))
    return python


def repeated(bench, trace):
    """The rows of a trace several times over, times going on."""
    rows = [json.loads(line) for line in open(trace, encoding="utf-8")]
    path, span = bench.path("repeated.jsonl"), rows[-1]["timestamp"] + 3000
    with open(path, "w", encoding="utf-8") as out:
        for n in range(TIMES):
            for row in rows:
                out.write(json.dumps(dict(row, timestamp=row["timestamp"] + n * span)) + "\n")
    return path


def decisions(bench, trace, which):
    path, binary = repeated(bench, trace), bench.path("repeated.oracleGeneral")
    bench.finish(bench.start([str(KVFALL), "trace", path, "-o", binary, "--format", "oracleGeneral"]))
    try:
        python, why = library(bench), None
    except Unfit as e:
        python, why = None, str(e)
    for policy, name in POLICIES.items():
        scenario, read = bench.path(policy + ".yaml"), []
        with open(scenario, "w", encoding="utf-8") as out:
            out.write(SCENARIO % (BLOCKS, policy, path))

        def ours():
            argv = [str(bench.program("bench_trace")), scenario, str(BLOCKS)]
            asked, hits, took, rows = map(float, bench.finish(bench.start(argv)).split())
            read.append(asked / (took + rows) / 1e6)
            return asked, hits, asked / took / 1e6

        def theirs():
            took, missed = map(float, bench.finish(bench.start([python, "-c", THEIRS, binary, name, str(BLOCKS)])).split())
            return took, missed
        what = "blocks asked for, " + policy
        if python is None:
            bench.row_value(what, [ours()[2] for _ in range(bench.pairs)], "%.2f M/s")
            bench.row_none("  beside libCacheSim", why)
        else:
            got = bench.pair(what, ours, theirs)
            bench.row_ratio(what, [(rate, asked / took / 1e6) for (asked, _, rate), (took, _) in got], "%.2f M/s", least=1.5)
            asked, hits, _ = got[0][0]
            bench.row_same("  share of hits", hits / asked, 1 - got[0][1][1], 0.5 / asked, "%.6f", "libCacheSim's")
        bench.row_value("  with the rows read from JSON", read, "%.2f M/s")
        whole = []
        for _ in range(min(bench.pairs, 3)):
            r, _, cpu_s = clocked(lambda: bench.kvfall(SCENARIO % (BLOCKS, policy, path)))
            whole.append(r["lookups"] / cpu_s / 1e6)
        bench.row_value("  in a simulated run", whole, "%.2f M/s")
        say("  decisions, " + policy)
    bench.notes.append("decisions: blocks of %s, %d times over, one a request, a cache of one tier with room for %d: hits, misses and "
                       "victims on one core, a second of processor time; no run around them, but in the last row of each policy, "
                       "where all blocks of a request are one and the whole command counts. The yardstick is libCacheSim %s, "
                       "which reads the same blocks from a file in its oracleGeneral form." % (which, TIMES, BLOCKS, VERSION))
