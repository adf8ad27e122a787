"""How often `compare` tells equal runs apart, of each measure that it lists, and whether it finds a slower tier."""
import collections
import json
import os

from measure import KVFALL, say

PAIRS, REAL_PAIRS, SLOWER_PAIRS = 40, 20, 20
ALARMS_MOST = 0.07  # 5 % +- 2
FIRST_SEED = 1000

# Users who are all alike, so that what another seed draws anew is in the intervals of both runs.
PERSONA = {"name": "alike", "context": [2048, 2048], "generate": [120, 120], "think": ["300ms", "300ms"], "spread": 0.25}
CLASS = {"name": "one", "share": 1, "p95": "500ms", "p99": "1s", "p999": "2s", "p9999": "5s"}
ALIKE = {"model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "120s", "warmup": "20s", "interval": "1s"},
         "tiers": {"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "32GiB"}},
         "compute": {"mode": "fast"}, "qos": {"classes": [CLASS]}, "workload": {"personas": [PERSONA]}}
REAL = {"model": "tiny-1b", "run": {"duration": "12s", "warmup": "2s", "interval": "200ms"},
        "tiers": {"gpu": {"capacity": "64MiB", "backend": "emulated"}, "cpu": {"capacity": "96MiB"},
                  "nvme": {"capacity": "512MiB", "path": "."}},
        "workload": {"users": 10, "personas": [{"name": "brief", "context": [256, 2048], "generate": [20, 60],
                                                "think": ["50ms", "150ms"]}]},
        "compute": {"mode": "fixed", "ms_per_token": 0.5}, "engine": {"workers": 2, "noise": "8MiB"}}


def changed(base, **changes):
    """A copy with keys changed: workload__users=8."""
    whole = json.loads(json.dumps(base))
    for name, value in changes.items():
        *above, last = name.split("__")
        part = whole
        for key in above:
            part = part.setdefault(key, {})
        part[last] = value
    return whole


SIMULATED = {
    "closed loop": ALIKE,
    "open loop": changed(ALIKE, workload__arrival={"process": "poisson", "rate": 6}),
    "200 users": changed(ALIKE, model="tiny-1b", workload__users=200, tiers__gpu__capacity="256MiB",
                         tiers__cpu__capacity="512MiB", tiers__nvme__capacity="4GiB"),
    "blocks": changed(ALIKE, cache={"granularity": "block"}, workload__users=20),
}
# 10 % less bandwidth, and each operation 10 % later.
SLOWER = ["tiers.nvme.read_bandwidth=6300MB/s", "tiers.nvme.write_bandwidth=4500MB/s", "tiers.nvme.latency=88us"]


class Pairs:
    """Pairs of runs in one database. kvfall(arguments) gives the standard output of the program."""

    def __init__(self, kvfall, scenario, folder):
        self.kvfall = kvfall
        self.path, self.db = os.path.join(folder, "pairs.yaml"), os.path.join(folder, "pairs.db")
        for path in (self.db, self.db + "-wal", self.db + "-shm"):
            if os.path.exists(path):
                os.unlink(path)
        with open(self.path, "w") as out:
            json.dump(dict(scenario, name="pairs"), out)
        self.runs = 0

    def run(self, seed, settings=()):
        """Its number in the database."""
        options = [part for one in settings for part in ("--set", one)]
        self.kvfall(["run", self.path, "--headless", "--quiet", "--db", self.db, "--seed", str(seed)] + options)
        self.runs += 1
        return self.runs

    def compare(self, a, b):
        """{measure: (direction, noise)}"""
        told = json.loads(self.kvfall(["compare", str(a), str(b), "--db", self.db, "--json"]))
        return {one["metric"]: (one["values"][1]["direction"], one["values"][1]["noise"]) for one in told["metrics"]}


def alarms(kvfall, scenario, folder, count, seed_step=1):
    """{measure: [pairs told apart, pairs of which the noise is told]} of `count` pairs of equal runs."""
    pairs, found = Pairs(kvfall, scenario, folder), collections.defaultdict(lambda: [0, 0])
    for k in range(count):
        a, b = (pairs.run(FIRST_SEED + seed_step * n) for n in (2 * k, 2 * k + 1))
        for measure, (_, noise) in pairs.compare(a, b).items():
            found[measure][0] += noise == "beyond"
            found[measure][1] += noise is not None
    return dict(found)


def slower_found(kvfall, scenario, folder, count):
    """In how many pairs of one seed each a tier that is 10 % slower is found: a latency or rate of it, or what requests
    had of it, is worse beyond noise."""
    pairs, found = Pairs(kvfall, scenario, folder), 0
    for k in range(count):
        told = pairs.compare(pairs.run(FIRST_SEED + k), pairs.run(FIRST_SEED + k, SLOWER))
        found += any(one == ("worse", "beyond") for one in told.values())
    return found


def table(columns, slower):
    """Markdown: false alarms of each measure, and what was found."""
    measures = list(dict.fromkeys(name for column in columns.values() for name in column))
    lines = ["| measure | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in measures:
        cells = [column.get(name) for column in columns.values()]
        lines.append("| %s | %s |" % (name, " | ".join("%d of %d" % tuple(c) if c and c[1] else "--" for c in cells)))
    lines.append("| **10 % slower nvme found** | " + " | ".join(slower.get(name, "--") for name in columns) + " |")
    return "\n".join(lines)


def compare(bench):
    count, real, slow = (PAIRS, REAL_PAIRS, SLOWER_PAIRS) if not bench.quick else (10, 3, 5)
    folder = bench.folder("compare")

    def kvfall(arguments):
        return bench.finish(bench.start([str(KVFALL)] + arguments))
    columns, slower, missed = {}, {}, 0
    for name, scenario in SIMULATED.items():
        say("  %d pairs: %s" % (count, name))
        columns[name] = alarms(kvfall, scenario, folder, count)
        found = slower_found(kvfall, scenario, folder, slow)
        slower[name] = "%d of %d" % (found, slow)
        missed += slow - found
    say("  %d pairs: real" % real)
    columns["real"] = alarms(kvfall, REAL, folder, real, seed_step=0)
    print(table(columns, slower), flush=True)
    for name, column in columns.items():
        shares = [100 * beyond / told for beyond, told in column.values() if told]
        if shares:
            bench.row_value("most false alarms of a measure, " + name, [max(shares)], "%.1f %%", under=100 * ALARMS_MOST)
        else:
            bench.row_none("most false alarms of a measure, " + name, "other programs had a part in every run")
    bench.row_value("slower tiers that were not found", [missed], "%.0f", under=1)
    bench.notes.append("compare: pairs of equal runs, simulated with a seed each, and real; a false alarm is a measure beyond "
                       "noise. Of real runs that another program had a part in nothing is told.")
