"""What simulated runs cost: whole commands on traces of blocks, and sweeps of them."""
import os
import random
import resource
import sys
import time

from measure import KVFALL, peak_memory, say, watch

RESIDENT = 1 << 20
REMEMBERED = RESIDENT - RESIDENT // 10  # by s3fifo
READER = "import json, sys\nrows = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]"
LOOP = "for _ in range(10000000): pass"
RUN = """
model: {preset: tiny-1b, layers: 1}
mode: simulate
run: {duration: 1000h, warmup: 0s, interval: 5m}
tiers: {%s}
cache: {granularity: block, headroom: 0, eviction: %s}
workload: {source: mooncake, path: "%s", limit: %d}
"""
CROWD = """
model: {preset: tiny-1b, layers: 1}
mode: simulate
run: {duration: %s, warmup: 0s, interval: 10s}
tiers: {cpu: {capacity: 100TiB, read_bandwidth: 100TB/s, write_bandwidth: 100TB/s}}
workload: {users: %d, personas: [{name: chat, context: [16, 48], generate: [1, 2], think: [30s, 30s]}]}
engine: {slots: 4096}
"""
THREE_TIERS = "gpu: {blocks: 600}, cpu: {blocks: 4000}, nvme: {blocks: 16000}"


def clocked(work):
    """(what it returns, seconds, seconds of processor time of the processes that ended meanwhile)"""
    def used():
        r = resource.getrusage(resource.RUSAGE_CHILDREN)
        return r.ru_utime + r.ru_stime
    cpu, begun = used(), time.monotonic()
    got = work()
    return got, time.monotonic() - begun, used() - cpu


def decisions(r):
    """Lookups, plans, and their victims, which fall or leave."""
    return r["lookups"] + r["evictions"] + r["demotions"] + sum(
        value or 0 for name, value in r.items() if name.endswith("_write_prefill_ops"))


def blocks_file(bench, accesses):
    """Conversations in turns of up to 23 blocks, as long as 120: more blocks than are resident, many asked for again."""
    path, draw, fresh, count, row, open_ones = bench.path("blocks.jsonl"), random.Random(5), 1, 0, 0, []
    with open(path, "w") as out:
        while count < accesses:
            if draw.random() < 0.6 and open_ones:
                ids = open_ones[draw.randrange(len(open_ones))]
            else:
                ids = [0]
                if len(open_ones) < 60000:
                    open_ones.append(ids)
                else:
                    open_ones[draw.randrange(60000)] = ids
            more = draw.randrange(1, 24)
            if len(ids) + more > 120:
                del ids[1:]
            ids.extend(range(fresh, fresh + more))
            fresh += more
            out.write('{"timestamp": %d, "input_length": %d, "output_length": 300, "hash_ids": [%s]}\n'
                      % (row * 10, 512 * len(ids), ", ".join(map(str, ids))))
            count += len(ids)
            row += 1
    return path


def whole_trace(bench, trace):
    """The whole command, beside a program in Python that only reads the file."""
    for what, tiers in (("one tier", "cpu: {blocks: 16000}"), ("three tiers", THREE_TIERS)):
        def theirs():
            return clocked(lambda: bench.finish(bench.start([sys.executable, "-c", READER, trace])))[1]
        taken = []

        def ours():
            taken.append(clocked(lambda: bench.kvfall(RUN % (tiers, "lru", trace, 0))))
            return taken[-1][1]
        pairs = bench.pair("a trace, " + what, ours, theirs)
        bench.row_value("the whole trace, " + what, [one for one, _ in pairs], "%.2f s", under=1)
        bench.row_value("  processor time", [cpu_s for _, _, cpu_s in taken], "%.2f s")
        bench.row_ratio("  beside a reader of it", pairs, "%.2f s")


def peak(bench, policy, path, blocks):
    """(results, bytes) of a run on one tier."""
    process = bench.kvfall_start(RUN % ("cpu: {blocks: %d}" % blocks, policy, path, 0))
    seen = watch(process, peak_memory, 600)
    return bench.kvfall_results(process), max(most for _, most in seen)


def million(bench):
    """Decisions and memory of runs with a million resident entries."""
    path = blocks_file(bench, 2500000 if bench.quick else 6000000)
    memory = {}
    for policy, least in (("lru", 2), ("s3fifo", 1), ("arc", 1)):
        got = [clocked(lambda: peak(bench, policy, path, RESIDENT)) for _ in range(3)]
        bench.row_value("decisions of a run, " + policy, [decisions(run[0]) / cpu_s / 1e6 for run, _, cpu_s in got],
                        "%.2f M/s", over=least)
        memory[policy] = [run[1] for run, _, _ in got]
        say("  a million entries, " + policy)
        full = got[0][0][0]["cpu_entries"] == RESIDENT
    _, few = peak(bench, "lru", path, 1000)
    os.unlink(path)
    if not full:
        bench.row_none("  memory of an entry", "a short trace does not fill the tier")
        return
    bench.row_value("  memory of a resident entry", [(most - few) / RESIDENT for most in memory["lru"]], "%.0f B", under=128)
    bench.row_value("  memory of a remembered one", [
        (a - b) / REMEMBERED for a, b in zip(sorted(memory["s3fifo"]), sorted(memory["lru"]))], "%.0f B", under=64)


def sweep(bench, trace):
    """Points in a second with one on each core to those with one at a time. What else the machine does takes from both, so
    the yardstick is what programs that know nothing of one another gain in the same way."""
    cores = len(os.sched_getaffinity(0))
    points = [500 * n for n in range(1, 1 + 6 * cores)]
    path = bench.path("sweep.yaml")
    rates = []
    with open(path, "w") as out:
        out.write("name: bench\n%ssweep: {keys: {tiers.cpu.blocks: %s}}\n"
                  % (RUN % ("cpu: {blocks: 1000}", "lru", trace, 0), points))

    def swept(jobs):
        argv = [str(KVFALL), "sweep", path, "--jobs", str(jobs), "--db", "none", "--quiet"]
        return clocked(lambda: bench.finish(bench.start(argv)))[1]

    def ours():
        one, all_cores = swept(1), swept(cores)
        rates.append(len(points) / all_cores)
        return one / all_cores

    def programs(at_once):
        for _ in range(0, 2 * cores, at_once):
            for process in [bench.start([sys.executable, "-c", LOOP]) for _ in range(at_once)]:
                bench.finish(process)

    def theirs():
        one, all_cores = (clocked(lambda: programs(n))[1] for n in (1, cores))
        return one / all_cores

    pairs = bench.pair("sweep", ours, theirs)
    bench.row_value("a sweep of the whole trace, %d jobs" % cores, rates, "%.1f points/s")
    bench.row_ratio("  faster than one job", pairs, "%.2f", least=0.9)


def crowd_memory(bench, users):
    """Bytes of a user, as few have asked."""
    process = bench.kvfall_start(CROWD % ("100ms", users))
    most = max(most for _, most in watch(process, peak_memory, 600))
    bench.kvfall_results(process)
    return most / users


def simulate(bench, trace, which):
    whole_trace(bench, trace)
    million(bench)
    sweep(bench, trace)
    bench.notes.append("simulate: whole commands, intervals of 5 minutes, no database; seconds of real time, from the start of "
                       "the program to its end, and decisions a second of processor time. Yardsticks: json in Python %d.%d, "
                       "which only reads the file; programs that only count, so many at a time. %s." % (*sys.version_info[:2], which))
