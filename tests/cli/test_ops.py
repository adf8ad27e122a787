#!/usr/bin/env python3
"""Source ops, one operation after the other: every row that is logged is that of a model of a few lines, which knows
neither threads nor time."""
import csv
import random

from runs import measure
from tap import case, home, main

TOKEN = 24576  # bytes of tiny-1b
USABLE = [64 * 2**20 * 8 // 10, 16 * 2**20 * 8 // 10, 96 * 2**20]
OPERATIONS = 1200


def operations():
    """Reads and writes of keys of which the cache holds a part; some entries are too large for the tier in the middle."""
    draw, tokens = random.Random(9), {}
    for _ in range(OPERATIONS):
        key = "k%d" % min(draw.randrange(160), draw.randrange(160))
        tokens.setdefault(key, draw.choice((16, 60, 120, 300, 700)))
        yield draw.choice(("read", "write", "write")), key, tokens[key]


class Waterfall:
    """lru in three tiers: room is made one victim at a time, deepest first."""

    def __init__(self):
        self.where, self.size, self.recent, self.rows = {}, {}, {}, []

    def used(self, tier):
        return sum(self.size[key] for key, at in self.where.items() if at == tier)

    def holds(self, tier, size):
        return next((t for t in range(tier, 3) if size <= USABLE[t]), None)

    def make_room(self, tier, size):
        while self.used(tier) + size > USABLE[tier]:
            victim = min((key for key, at in self.where.items() if at == tier), key=self.recent.get)
            below = self.holds(tier + 1, self.size[victim])
            if below is None:
                del self.where[victim]
                continue
            self.make_room(below, self.size[victim])
            self.where[victim] = below
            self.row("Read", victim, tier, "Evict")
            self.row("Write", victim, below, "Evict")

    def row(self, what, key, tier, phase):
        self.rows.append((what, str(self.size[key]), "Tier-%d" % tier, key, phase))

    def access(self, key):
        self.recent[key] = max(self.recent.values(), default=0) + 1

    def read(self, key):
        if key in self.where:
            self.access(key)
            self.row("Read", key, self.where[key], "Decode")

    def write(self, key, size):
        if key in self.where:
            return
        tier, self.size[key] = self.holds(0, size), size
        self.make_room(tier, size)
        self.where[key] = tier
        self.access(key)
        self.row("Write", key, tier, "Prefill")


def expected():
    cache = Waterfall()
    for what, key, tokens in operations():
        if what == "read":
            cache.read(key)
        else:
            cache.write(key, tokens * TOKEN)
    return cache.rows


def logged(mode, *options):
    source, log = home() / "work/ops.csv", (home() / "work/io.csv").resolve()
    source.write_text("op,key,tokens\n" + "".join("%s,%s,%d\n" % row for row in operations()))
    measure({"mode": mode, "model": "tiny-1b", "tiers": {"gpu": {"capacity": "64MiB", "backend": "emulated"},
                                                         "cpu": {"capacity": "16MiB"}, "nvme": {"capacity": "96MiB"}},
             "workload": {"source": "ops", "path": str(source.resolve())}, "engine": {"noise": "1MiB"},
             "run": {"duration": "10m", "warmup": "0s"}}, "--io-trace", log, *options)
    with log.open() as file:
        return [tuple(row[1:]) for row in list(csv.reader(file))[1:]]


def compare(rows):
    want = expected()
    assert len(want) > 2000 and len({row[2] for row in want}) == 3
    wrong = [(n, got, row) for n, (got, row) in enumerate(zip(rows, want)) if got != row]
    assert not wrong and len(rows) == len(want), (len(rows), len(want), wrong[:3])


@case("simulated, every row is that of the model")
def _():
    compare(logged("simulate"))


@case("so it is in real runs, whatever the threads do")
def _():
    for workers in 1, 2, 4:
        compare(logged("real", "--set", "engine.workers=%d" % workers))


main()
