"""One run over ranks: two on a disk against one, what they cost each other, and how far apart they begin."""
from measure import Unfit, direct_io_works, size

MIB = 1 << 20
ENTRY, ENTRIES = 16 * MIB, 16
BANDWIDTH, SKEW_MS, GATHER = 0.97, 1, 0.01


def run(bench, scenario, seconds, ranks):
    """Entries read at random: what the disk gives to all together, and what comes of ranks alone."""
    trace = bench.trace(ENTRIES // ranks, 400 * ENTRIES, True)
    tiers = "cpu: {capacity: 0}, nvme: {capacity: %%d, path: \"%s\", io_size: %d}" % (bench.scratch, MIB)
    text = scenario(bench, ENTRY, ENTRIES // ranks, trace, seconds, 3, tiers, 4 * bench.workers)
    if ranks > 1:  # every rank has a trace's load, tiers and workers of its own: halves of one run's
        workers = max(1, bench.workers // ranks)
        text = text.replace("workers: %d, slots: %d" % (bench.workers, 4 * bench.workers), "workers: %d, slots: %d" % (
            workers, 4 * bench.workers // ranks)) + "ranks: {users: per_rank}\n"
    return bench.kvfall(text, *(["--ranks", str(ranks)] if ranks > 1 else []))


def ranks(bench, scenario):
    if not direct_io_works(bench.scratch):
        raise Unfit("there is no direct I/O in %s; name a directory on a disk with --dir" % bench.scratch)
    what = "two ranks : one run, %s" % size(ENTRY)
    seconds = 2 if bench.quick else 6
    pairs = bench.pair(what, lambda: run(bench, scenario, seconds, 2), lambda: run(bench, scenario, seconds, 1))
    bench.row_ratio(what, [(a["nvme_read_gib_s"], b["nvme_read_gib_s"]) for a, b in pairs], "%.2f GiB/s", least=BANDWIDTH)
    bench.row_value("  skew of the start", [a["start_skew_ms"] for a, _ in pairs], "%.3f ms", under=SKEW_MS)
    bench.row_value("  gather, of a CPU", [100 * a["ranks_gather_cpu_ratio"] for a, _ in pairs], "%.2f %%", under=100 * GATHER)
    bench.notes.append("ranks: one host, one disk; two ranks have together the workers, slots and entries of the one run.")
