"""The benches, one function each, in the order in which they run."""
import json
import os
import pathlib
import re
import time

from measure import (GIB, KIB, MIB, SOURCE, Trouble, Unfit, direct_io_works, peak_memory, size, thread_table,
                     watch)
from autoscaler import autoscaler
from block import block
from ranks import ranks
from compare import compare
from decisions import crowd, decisions
from gpu import gpu
from record import record
from remote import remote
from results import results
from screen import screen
from simulate import simulate
from truth import truth
from workload import workload

IO_SIZE, IO_DEPTH = MIB, 32
TOKENS = 512           # of an entry: a block of Mooncake's traces
TOKEN_LAYER = 4 * KIB  # bytes of a token in one layer of llama3.1-8b
SIZES = (2 * MIB, 16 * MIB, 128 * MIB, GIB)


def entry_scenario(bench, entry, entries, trace, seconds, warmup, tiers, slots):
    """A run that reads or writes one entry after another with `slots` of them in service, never idle."""
    return """
name: bench
model: {preset: llama3.1-8b, layers: %d}
run: {duration: %dms, warmup: %dms}
tiers: {gpu: {capacity: 0}, %s}
cache: {granularity: block, block_tokens: %d, headroom: 0, verify: none}
workload: {source: mooncake, path: "%s", arrival: {speedup: 0}}
engine: {workers: %d, slots: %d}
""" % (entry // TOKENS // TOKEN_LAYER, seconds * 1000, warmup * 1000, tiers % (entries * entry), TOKENS, trace,
       bench.workers, slots)


def slots_for(bench, entry):
    """So many that a worker's ring is full while one of its entries ends and the next begins; of the
    largest entries one more than workers, since they seldom end."""
    if entry >= GIB:
        return bench.workers + 1
    return bench.workers * max(2, 2 * IO_DEPTH * IO_SIZE // entry)


def processor_s(results):
    return results["cpu_user_s"] + results["cpu_sys_s"]


# ---- nvme against fio ----

def fio(bench, folder, entry, entries, *more):
    """fio on as many files of the same size: {bytes_s, cpu_s_gib}. Its buffers stand in huge pages where the C
    library can do that, as kvfall's do: with small pages it is much slower here and no yardstick."""
    argv = ["fio", "--name=entry", "--directory=" + folder, "--ioengine=libaio", "--direct=1", "--thread",
            "--bs=%d" % IO_SIZE, "--iodepth=%d" % IO_DEPTH, "--numjobs=%d" % bench.workers,
            "--nrfiles=%d" % (entries // bench.workers), "--filesize=%d" % entry, "--output-format=json"] + list(more)
    out = bench.finish(bench.start(argv, env=dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1")))
    jobs = json.loads(out[out.index("{"):])["jobs"]
    moved = sum(job[way]["io_bytes"] for job in jobs for way in ("read", "write"))
    cpu = sum((job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000 for job in jobs)
    return {"bytes_s": sum(job[way]["bw_bytes"] for job in jobs for way in ("read", "write")),
            "cpu_s_gib": cpu / (moved / GIB)}


def nvme_entries(bench, entry, reads):
    """How many entries: about 1 GiB of them, enough for the slots, and some more to write over."""
    least = slots_for(bench, entry) + (0 if reads else 1)
    least += -least % bench.workers
    # kvfall's files and fio's are there at the same time; half of the disk is left alone
    if least * entry > bench.free // 4:
        raise Unfit("%d entries of %s twice are more than half of the %s free"
                    % (least, size(entry), size(bench.free)))
    count = max(least, min(GIB // (2 if bench.quick else 1), bench.free // 4) // entry)
    return count - count % bench.workers


def nvme_figure(bench, entry, reads, folder):
    way = "read" if reads else "write"
    what = "nvme %s, %s" % (way, size(entry))
    seconds = 0.7 if bench.quick else 3
    entries = nvme_entries(bench, entry, reads)
    fill = entries * entry / fio(bench, folder, entry, entries, "--rw=write")["bytes_s"]
    state = {"warmup": 0.2 + 1.3 * fill}
    trace = bench.trace(entries, max(entries * 4, 200 * GIB // entry), reads)
    tiers = "cpu: {capacity: 0}, nvme: {capacity: %%d, path: \"%s\"}" % bench.scratch

    def ours():
        while True:
            r = bench.kvfall(entry_scenario(bench, entry, entries, trace, seconds, state["warmup"], tiers,
                                            slots_for(bench, entry)))
            # Entries that were still being written are no reading; those that took room for the first time
            # pushed none out and were no writing over files that are there.
            first = r["nvme_write_ops"] - (0 if reads else r["nvme_evictions"])
            if first <= (0 if reads else slots_for(bench, entry)):
                break
            if state["warmup"] > 60:
                raise Unfit("%s are not written in 60 s" % size(entries * entry))
            state["warmup"] *= 1.6
        if r["measured_s"] < 0.9 * seconds:
            raise Trouble("the run ended early")
        moved = r["nvme_%s_bytes" % way]
        return {"bytes_s": r["nvme_%s_gib_s" % way] * GIB, "cpu_s_gib": processor_s(r) / (moved / GIB)}

    # Large files whole, one after the other, as entries are. Small ones block by block at random: at the
    # end of each round over its files fio lets its queue run dry, which would be often.
    if entry < 64 * IO_SIZE:
        order = ["--rw=rand" + way, "--norandommap", "--file_service_type=random"]
    else:
        order = ["--rw=" + way, "--file_service_type=sequential"]

    # A disk may take more for a moment after a pause, so both have worked for a while when it counts.
    def theirs():
        return fio(bench, folder, entry, entries, "--time_based", "--runtime=%dms" % (seconds * 1000),
                   "--ramp_time=%dms" % (min(state["warmup"], 0.5 if bench.quick else 1) * 1000), *order)

    pairs = bench.pair(what, ours, theirs)
    bench.row_ratio(what, [(a["bytes_s"] / GIB, b["bytes_s"] / GIB) for a, b in pairs], "%.2f GiB/s",
                    least=0.95)
    bench.row_ratio("  CPU time", [(a["cpu_s_gib"] * 1e3, b["cpu_s_gib"] * 1e3) for a, b in pairs], "%.1f ms/GiB",
                    most=1.25)


def nvme(bench):
    if not direct_io_works(bench.scratch):
        raise Unfit("there is no direct I/O in %s; name a directory on a disk with --dir" % bench.scratch)
    for entry in SIZES:
        folder = bench.folder("fio-%d" % entry)
        for reads in (True, False):
            try:
                nvme_figure(bench, entry, reads, folder)
            except Unfit as why:
                bench.row_none("nvme %s, %s" % ("read" if reads else "write", size(entry)), str(why))
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
    bench.notes.append("nvme: %s, depth %d; yardstick fio, libaio, direct, as many threads and files, buffers in huge "
                       "pages; both write over files that are there." % (size(IO_SIZE), IO_DEPTH))


# ---- memory against memcpy ----

def memory_figure(bench, entry, reads):
    way = "read" if reads else "write"
    what = "memory %s, %s" % (way, size(entry))
    seconds = 0.4 if bench.quick else 1.5
    # an entry for each worker to write and one to be overwritten next, but more than any cache holds
    least = bench.workers + 1
    entries = max(least, min(GIB, bench.memory // 4) // entry)
    if entries * entry > bench.memory // 4:
        raise Unfit("%d entries are more than a quarter of the %s of memory available" % (least, size(bench.memory)))
    slots = min(slots_for(bench, entry), bench.workers * 4)
    if not reads:
        slots = max(bench.workers, min(slots, entries // 2))
    trace = bench.trace(entries, max(200, 300 * GIB // entry), reads)

    def ours():
        r = bench.kvfall(entry_scenario(bench, entry, entries, trace, seconds, 0.3, "cpu: {capacity: %d}", slots))
        if r["measured_s"] < 0.9 * seconds:
            raise Trouble("the run ended early")
        moved = r["cpu_%s_bytes" % way]
        return moved / r["measured_s"] / GIB, moved / processor_s(r) / GIB

    def theirs():
        out = bench.finish(bench.start([str(bench.program("bench_copy")), way] + [str(n) for n in (
            entry, entries * entry, IO_SIZE, bench.workers, seconds)]))
        copied, cpu_s, took_s = (float(word) for word in out.split())
        return copied / took_s / GIB, copied / cpu_s / GIB

    pairs = bench.pair(what, ours, theirs)
    bench.row_ratio(what, [(a[0], b[0]) for a, b in pairs], "%.1f GiB/s", least=0.9)
    bench.row_ratio("  per CPU second", [(a[1], b[1]) for a, b in pairs], "%.1f GiB")


def memory(bench):
    for entry in (2 * MIB, 128 * MIB) if bench.quick else SIZES:
        for reads in (True, False):
            try:
                memory_figure(bench, entry, reads)
            except Unfit as why:
                bench.row_none("memory %s, %s" % ("read" if reads else "write", size(entry)), str(why))
    bench.notes.append("memory: yardstick memcpy by as many threads, in pieces of %s, between an arena of the same "
                       "size and two buffers a thread." % size(IO_SIZE))


# ---- memory of the process ----

def rss(bench):
    entry, seconds = 2560 * MIB, 20 if bench.quick else 60
    entries = min(8, bench.free // 2 // entry)
    if entries < 2:
        raise Unfit("two entries of %s are more than half of the %s free" % (size(entry), size(bench.free)))
    if bench.memory < 1.5 * GIB:
        raise Unfit("%s of memory are too little" % size(bench.memory))
    scenario = """
name: bench
model: llama3.1-70b-instruct
run: {duration: %ds, warmup: 0s}
tiers: {gpu: {capacity: 0}, cpu: {capacity: 0}, nvme: {capacity: %d, path: "%s"}}
workload:
  users: 16
  personas: [{name: long, context: [8192, 8192], generate: [32, 32], think: [100ms, 500ms], spread: 1}]
  prefix: {probability: 0}
engine: {workers: 16}
""" % (seconds, entries * entry, bench.scratch)
    process = bench.kvfall_start(scenario)
    seen = watch(process, peak_memory, seconds + 60)
    results = bench.kvfall_results(process)
    after_10 = max(peak for at, peak in seen if at <= 10 + results["prepare_s"])
    at_end = max([results["rss_peak_bytes"]] + [peak for _, peak in seen])
    moved = results["nvme_read_bytes"] + results["nvme_write_bytes"]
    if moved < 2 * entry:
        raise Unfit("only %s went to and from the disk in %d s" % (size(moved), seconds))
    bench.row_value("peak RSS after 10 s", [after_10 / MIB], "%.0f MiB", under=768)
    bench.row_same("peak RSS after %d s" % seconds, at_end / MIB, after_10 / MIB, after_10 / MIB / 100, "%.0f MiB",
                   "same to 1 %")
    bench.notes.append("rss: 16 workers, entries of %s, %d of them fit; %s moved."
                       % (size(entry), entries, size(moved)))


# ---- many users ----

def users(bench):
    seconds, warmup = (6, 2) if bench.quick else (30, 5)
    scenario = """
name: bench
model: tiny-1b
run: {duration: %ds, warmup: %ds}
tiers:
  gpu: {capacity: 64GiB, backend: emulated, read_bandwidth: 100TB/s, write_bandwidth: 100TB/s}
  cpu: {capacity: 0}
workload:
  users: 100000
  personas: [{name: person, context: [512, 4096], generate: [50, 200], think: [10s, 60s], spread: 0.25}]
""" % (seconds, warmup)
    process = bench.kvfall_start(scenario, "--db", bench.path("users.db"))
    seen = watch(process, thread_table, seconds + warmup + 60)
    r = bench.kvfall_results(process)
    bench.row_value("100,000 users: CPU", [processor_s(r) / r["measured_s"]], "%.2f cores", under=1)
    bench.row_value("  peak RSS", [r["rss_peak_bytes"] / MIB], "%.0f MiB", under=300)
    bench.row_value("  lateness of arrivals, P99", [r["lateness_p99_ms"]], "%.3f ms", under=5)
    bench.row_value("  requests", [r["requests_per_s"]], "%.0f /s")
    database_figures(bench, process.pid, [table for at, table in seen if 1 <= at <= warmup + seconds - 0.5])


def database_figures(bench, pid, tables):
    """Between the first and the last look, all inside the run: what the thread of the database used, and
    what the others wrote beside the wake-ups of 8 bytes that they send one another."""
    if len(tables) < 2:
        raise Trouble("the threads of the run could not be watched")
    first, last = tables[0], tables[-1]
    used, written = {}, {}
    for tid, thread in last.items():
        before = first.get(tid, {"cpu_s": 0, "written": 0, "calls": 0})
        # threads without a name of their own have that of the program
        writer = tid != pid and thread["name"] in ("kvfall", "kvfall-store", "kvfall-db")
        who = "writer" if writer else "engine"
        used[who] = used.get(who, 0) + thread["cpu_s"] - before["cpu_s"]
        rest = thread["written"] - before["written"] - 8 * (thread["calls"] - before["calls"])
        written[who] = written.get(who, 0) + rest
    if "writer" not in used:
        raise Trouble("the run has no thread for its database")
    share = used["writer"] / (used["writer"] + used["engine"])
    bench.row_value("  database: its thread's CPU", [used["writer"] * 1e3], "%.1f ms")
    bench.row_value("  database: share of the CPU", [share * 100], "%.2f %%", under=1)
    bench.row_value("  database: written by its thread", [written["writer"] / KIB], "%.0f KiB")
    bench.row_same("  database: by engine threads", written["engine"], 0, 0, "%d B", "none")


# ---- start ----

def trace_of_mooncake(bench):
    """The real one where it is, else one with as many rows and about as many ids."""
    given = bench.options.traces
    for place in [given] if given else [str(SOURCE.parent / "shared/traces"), "../shared/traces"]:
        path = pathlib.Path(place) / "mooncake/conversation_trace.jsonl"
        if path.is_file():
            return str(path.resolve()), "Mooncake's conversation trace"
    path = bench.path("conversation.jsonl")
    with open(path, "w") as out:
        fresh = 1
        for row in range(12031):
            ids = [0] + list(range(fresh, fresh + 10 + row % 30))
            fresh += len(ids) - 1
            out.write(json.dumps({"timestamp": row // 4 * 1000, "input_length": 512 * len(ids), "output_length": 300,
                                  "hash_ids": ids}) + "\n")
    return path, "a generated trace in the form of Mooncake's"


def first_request_s(bench, workload, tiers):
    """(seconds from the start to the end of the first entry's write, prepare_s)"""
    log = bench.path("first.csv")
    scenario = """
name: bench
model: {preset: llama3.1-8b, layers: 1}
run: {duration: 5s, warmup: 0s, max_requests: 1}
tiers: {gpu: {capacity: 0}, %s, nvme: {capacity: 256MiB, path: "%s"}}
%s
""" % (tiers, bench.scratch, workload)
    begun = time.time()
    process = bench.kvfall_start(scenario, "--db", bench.path("start.db"), "--io-trace", log, "--overwrite")
    results = bench.kvfall_results(process)
    rows = open(log).read().split("\n")[1:]
    first = min(float(row.split(",")[0]) for row in rows if row)
    return first - begun, results["prepare_s"]


def start(bench):
    trace, which = trace_of_mooncake(bench)
    cpu = min(GIB, bench.memory // 4)
    plain = """
cache: {granularity: block, block_tokens: 512}
workload:
  users: 1
  personas: [{name: one, context: [512, 512], generate: [1, 1], think: [0s, 0s], spread: 1}]
  prefix: {probability: 0}
"""
    replay = """
cache: {granularity: block, block_tokens: 512}
workload: {source: mooncake, path: "%s"}
""" % trace
    alone, with_memory = [], []

    def ours():
        return first_request_s(bench, replay, "cpu: {capacity: 0}")[0]

    def theirs():
        alone.append(first_request_s(bench, plain, "cpu: {capacity: 0}")[0])
        with_memory.append(first_request_s(bench, plain, "cpu: {capacity: %d}" % cpu))
        return alone[-1]

    pairs = bench.pair("start", ours, theirs)
    bench.row_value("start to first request", [s * 1e3 for s in alone], "%.0f ms", under=300)
    bench.row_value("  with cpu %s, less prepare_s" % size(cpu), [(s - prepare) * 1e3 for s, prepare in with_memory],
                    "%.0f ms", under=300)
    bench.row_value("  with cpu %s, prepare_s" % size(cpu), [prepare * 1e3 for _, prepare in with_memory], "%.0f ms")
    bench.row_value("  a trace's file more", [(a - b) * 1e3 for a, b in pairs], "%.0f ms", under=100)
    bench.notes.append("start: from before the program is started until its first entry of 2 MiB is written, the "
                       "database included, so a little more than to the first request; %s." % which)


# ---- parts ----

def sampling_ms(bench):
    """Processor time of the control thread for each interval of a run with 16 workers on three tiers; it
    does nothing else then."""
    seconds, interval_s = 1.5 if bench.quick else 4, 0.01
    nvme_on = "nvme: {capacity: 256MiB, path: \"%s\"}" % bench.scratch
    scenario = """
name: bench
model: tiny-1b
run: {duration: %dms, warmup: 1s, interval: 10ms}
tiers: {gpu: {capacity: 64MiB, backend: emulated}, cpu: {capacity: 128MiB}, %s}
workload:
  users: 500
  personas: [{name: person, context: [16, 64], generate: [50, 200], think: [100ms, 500ms], spread: 0.25}]
engine: {workers: 16}
""" % (seconds * 1000, nvme_on)
    process = bench.kvfall_start(scenario)
    seen = watch(process, thread_table, seconds + 60)
    bench.kvfall_results(process)
    inside = [(at, table[process.pid]["cpu_s"]) for at, table in seen
              if process.pid in table and 1 <= at <= 1 + seconds]
    if len(inside) < 2:
        raise Trouble("the control thread could not be watched")
    (from_s, before), (to_s, after) = inside[0], inside[-1]
    return (after - before) / ((to_s - from_s) / interval_s) * 1e3


def parts(bench):
    times = max(5, bench.pairs)
    bench.row_value("recording a latency", [bench.helper("bench_parts", "record") for _ in range(times)], "%.1f ns",
                    under=50)
    bench.row_value("sums of a snapshot, 16 workers",
                    [bench.helper("bench_parts", "snapshot", 16) for _ in range(times)], "%.2f ms", under=1)
    bench.row_value("a snapshot in a run, 16 workers", [sampling_ms(bench) for _ in range(1 if bench.quick else 3)], "%.2f ms", under=1)
    bench.row_value("cache decisions, lru, 3 tiers",
                    [bench.helper("bench_parts", "cache") / 1e6 for _ in range(times)], "%.1f M/s")
    for mode in ("qos", "capacity"):
        for which, what in enumerate(("autoscaler %s, an interval" % mode, "  P99")):
            bench.row_value(what, [bench.helper("bench_parts", "autoscaler", mode, which=which) for _ in range(times)],
                            "%.1f us", under=100)
    bench.notes.append("parts: processor time. The sums are those of every histogram of every tier, in use by all "
                       "workers; the snapshot in a run is all that the control thread does for an interval, "
                       "publication included.")


POLICIES = re.findall(r'^ *X\(\w+, "(\w+)"', (SOURCE / "src/traits/policies.h").read_text(), re.MULTILINE)


def cache(bench):
    # in turns, so that other work on the machine meets every policy
    steps = ("500000",) if bench.quick else ()
    found = [[bench.helper("bench_cache", name, *steps) for name in POLICIES] for _ in range(max(5, bench.pairs))]
    for name, values in zip(POLICIES, zip(*found)):
        bench.row_value("decisions, " + name, values, "%.2f M/s", over=None if name == "belady" else 2 if name == "lru" else 1)
    bench.row_value("memory of a resident entry", [bench.helper("bench_cache", "lru", *steps, which=1)], "%.0f B", under=128)
    bench.notes.append("cache: processor time of one core; 1,048,576 resident entries of 2,097,152, half of the accesses go to "
                       "an eighth of them. A decision is a lookup, a plan or a victim.")


BENCHES = {"nvme": nvme, "block": lambda bench: block(bench, entry_scenario),
           "ranks": lambda bench: ranks(bench, entry_scenario), "memory": memory, "gpu": gpu, "rss": rss, "users": users, "start": start, "parts": parts,
           "cache": cache, "workload": workload, "screen": screen, "results": results,
           "compare": compare,
           "remote": remote, "record": record,
           "simulate": lambda bench: simulate(bench, *trace_of_mooncake(bench)), "autoscaler": autoscaler,
           "crowd": lambda bench: crowd(bench, *trace_of_mooncake(bench)), "decisions": lambda bench: decisions(bench, *trace_of_mooncake(bench)), "truth": truth}
