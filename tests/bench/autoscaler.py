"""How near the autoscaler comes to knees that runs with a fixed number of users know, in simulated runs."""
import concurrent.futures
import os
import pathlib
import statistics
import sys

from measure import KVFALL, say

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import knees

SEEDS, QUICK_SEEDS = 8, 2
LENGTHS = (("10 min", 600), ("3 h", 10800))


def system(bench, number, mode, pool):
    def quietly(arguments):
        bench.finish(bench.start([str(KVFALL)] + arguments), 3600)
    knee = knees.Knee(quietly, bench.scratch, number, mode)
    users = knee.knee()
    lengths = LENGTHS[:1] if bench.quick else LENGTHS
    for name, seconds in lengths:
        def seek(cell):
            start, seed = cell
            return knee.seek(start, seconds, seed)
        cells = [(start, seed) for start in knees.starts(users) for seed in range(1, 1 + (QUICK_SEEDS if bench.quick else SEEDS))]
        got = list(pool.map(seek, cells))
        inside = sum(knees.near(value, users) for value, _ in got)
        named = sum(found for _, found in got)
        values = [value for value, _ in got if value is not None] or [0]
        print("  %-8s  %6d  %-6s  %3d of %3d  %3d of %3d  %6d  %6d .. %d" % (
            mode, users, name, inside, len(got), named, len(got), statistics.median(values), min(values), max(values)), flush=True)
        bench.row_value("%s, knee %d, %s: within 5 %%" % (mode, users, name), [100 * inside / len(got)], "%.1f %%", over=99)


def autoscaler(bench):
    print("  mode        knee  after   within 5 %  answered    median  least .. most", flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for mode in ("qos", "capacity"):
            for number in knees.SYSTEMS:
                system(bench, number, mode, pool)
                say("  %s, %d" % (mode, number))
    bench.notes.append("autoscaler: searches from 1, 4, 20, 200 and 10 times the knee with eight seeds, on a virtual clock; the knee "
                       "is that of long runs with a fixed number of users. Answered: the search called it its answer.")
