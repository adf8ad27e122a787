"""The trace of the kernel's block layer: what it costs, in pairs with it and without."""
import os
import random
import statistics

from measure import Unfit, direct_io_works, size

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ENTRY, ENTRIES = 16 * MIB, 8
IO_DEPTH = 32  # operations of a worker under way, as by default
FASTEST = 16  # GiB/s of a drive that does not reach the end of a trace
SHAPES = ((MIB, 0.99, 1.03), (4 * KIB, 0.95, None))  # chunk; least part of the bandwidth, most of the CPU time per GiB


def run(bench, scenario, chunk, seconds, traced):
    """Entries read at random, in chunks of this size: GiB/s, CPU seconds per GiB, shares of the time."""
    trace = bench.trace(ENTRIES, 200 * ENTRIES, True)
    tiers = "cpu: {capacity: 0}, nvme: {capacity: %%d, path: \"%s\", io_size: %d}" % (bench.scratch, chunk)
    text = scenario(bench, ENTRY, ENTRIES, trace, seconds, 3, tiers, 4 * bench.workers)
    got = bench.kvfall(text, "--block-trace", "on" if traced else "off")
    moved = (got["nvme_read_bytes"] + got["nvme_write_bytes"]) / GIB
    return {"gib_s": got["nvme_read_gib_s"], "cpu_s_gib": (got["cpu_user_s"] + got["cpu_sys_s"]) / moved,
            "shares": [got["nvme_read_%s_share" % part] for part in ("host", "kernel", "device")]}


def sliced(bench, scenario, seconds):
    """Slices of one run, traced and not, in turn: {on: [(GiB/s, ms of the process a GiB)], off: ...}"""
    trace = bench.trace(ENTRIES, (seconds + 3) * FASTEST * GIB // ENTRY, True)
    tiers = "cpu: {capacity: 0}, nvme: {capacity: %%d, path: \"%s\", io_size: %d}" % (bench.scratch, MIB)
    out = bench.path("slices")
    env = dict(os.environ, SLICED_PATH=bench.scratch, SLICED_OUT=out, SLICED_BYTES=str(MIB), SLICED_DEPTH=str(IO_DEPTH * bench.workers))
    process = bench.kvfall_start(scenario(bench, ENTRY, ENTRIES, trace, seconds, 3, tiers, 4 * bench.workers), "--block-trace", "off",
                                 env=env, program=bench.program("kvfall_sliced"))
    bench.kvfall_results(process, seconds + 60)
    got = {"on": [], "off": []}
    for line in open(out):
        turn, took, moved, cpu = line.split()
        gib = int(moved) / GIB
        got[turn].append((gib / float(took), int(cpu) / 1e6 / gib))
    return got


def interval(on, off, draws=2000):
    """The ratio of means of two lists, and the 95 of 100 that drawing from them again gives in the middle."""
    draw = random.Random(1)
    ratios = sorted(statistics.fmean(draw.choices(on, k=len(on))) / statistics.fmean(draw.choices(off, k=len(off))) for _ in range(draws))
    return statistics.fmean(on) / statistics.fmean(off), ratios[draws * 25 // 1000], ratios[draws * 975 // 1000 - 1]


def row_interval(bench, what, on, off, unit, most=None):
    ratio, low, high = interval(on, off)
    bench.rows.append((what, unit % statistics.fmean(on), unit % statistics.fmean(off), "%.3f" % ratio, "%.3f .. %.3f" % (low, high),
                       "" if most is None else "<= %g" % most, None if most is None else ratio <= most))


def row_slices(bench, scenario):
    got = sliced(bench, scenario, 6 if bench.quick else 30 * bench.pairs)
    on, off = ([list(column) for column in zip(*got[turn])] for turn in ("on", "off"))
    row_interval(bench, "slices of one run, on : off, 1 MiB", on[0], off[0], "%.2f GiB/s")
    row_interval(bench, "  CPU time", on[1], off[1], "%.2f ms/GiB", 1.03)
    bench.notes.append("block: %d slices of 1 s of one run are traced, %d are not, in turn; the spread of these rows holds the ratio of "
                       "means in 95 of 100 cases. Interrupts of idle CPUs are nobody's processor time." % (len(on[0]), len(off[0])))


def block(bench, scenario):
    if not direct_io_works(bench.scratch):
        raise Unfit("there is no direct I/O in %s; name a directory on a disk with --dir" % bench.scratch)
    for chunk, bandwidth, cpu in SHAPES:
        what = "block trace on : off, %s" % size(chunk)
        seconds = 1 if bench.quick else 4
        pairs = bench.pair(what, lambda: run(bench, scenario, chunk, seconds, True), lambda: run(bench, scenario, chunk, seconds, False))
        bench.row_ratio(what, [(a["gib_s"], b["gib_s"]) for a, b in pairs], "%.2f GiB/s", least=bandwidth)
        bench.row_ratio("  CPU time", [(a["cpu_s_gib"] * 1e3, b["cpu_s_gib"] * 1e3) for a, b in pairs], "%.1f ms/GiB", most=cpu)
        for part, name in enumerate(("kvfall", "kernel", "device")):
            bench.row_value("  share, " + name, [100 * a["shares"][part] for a, _ in pairs], "%.1f %%")
    row_slices(bench, scenario)
