"""The trace of the kernel's block layer: what it costs, in pairs with it and without."""
from measure import Unfit, direct_io_works, size

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ENTRY, ENTRIES = 16 * MIB, 8
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
