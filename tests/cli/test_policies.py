#!/usr/bin/env python3
"""Eviction policies and rules of admission in whole simulated runs of a trace of blocks, the simple ones against
references of a few lines that know nothing of the program."""
import json
import random

from reports import case
from runs import POLICIES, TOKEN_BYTES, check_identities, result, start
from tap import finish, main, scratch

BLOCK = 512
HOLDS = 60


def trace(seed, count=400):
    """Requests that go on where earlier ones ended, most often recent ones: paths of a growing tree, from its root."""
    rng = random.Random(seed)
    paths, blocks, found = [[]], 0, []
    for _ in range(count):
        path = list(paths[-1 - min(int(rng.expovariate(0.2)), len(paths) - 1)])[:12]
        path = path[:rng.randint(0, len(path))] if rng.random() < 0.3 else path
        for _ in range(rng.randint(1, 4)):
            blocks += 1
            path.append(blocks)
        paths.append(path)
        found.append(path)
    return found


class Lru:
    """By the rank of the last access; the blocks of a request have ranks from its last block to its first."""

    def __init__(self):
        self.rank = {}

    def hit(self, block, rank, _next):
        self.rank[block] = rank

    def victim(self):
        return min(self.rank, key=self.rank.get)

    def come(self, block, rank, _next):
        self.rank[block] = rank

    def go(self, block):
        del self.rank[block]


class Fifo(Lru):
    def hit(self, block, rank, _next):
        pass


class Belady(Lru):
    def __init__(self):
        super().__init__()
        self.next = {}

    def hit(self, block, rank, next_use):
        super().hit(block, rank, next_use)
        self.next[block] = next_use

    def come(self, block, rank, next_use):
        self.hit(block, rank, next_use)

    def victim(self):
        never = [block for block in self.rank if self.next[block] is None]
        return min(never, key=self.rank.get) if never else max(self.rank, key=self.next.get)


class Clock:
    def __init__(self):
        self.order, self.bit = [], {}

    def hit(self, block, _rank, _next):
        self.bit[block] = True

    def come(self, block, _rank, _next):
        self.order.append(block)
        self.bit[block] = False

    def victim(self):
        while self.bit[self.order[0]]:
            self.bit[self.order[0]] = False
            self.order.append(self.order.pop(0))
        return self.order[0]

    def go(self, block):
        self.order.remove(block)


class Sieve(Clock):
    hand = 0

    def victim(self):
        while self.bit[self.order[self.hand]]:
            self.bit[self.order[self.hand]] = False
            self.hand = (self.hand + 1) % len(self.order)
        return self.order[self.hand]

    def go(self, block):
        self.order.remove(block)
        self.hand %= len(self.order)


def reference(policy, requests):
    """Hits of a cache of so many blocks: the prefix that is there is hit, all blocks are touched, then room is made for
    what is missing, and then it is there, the last block first."""
    accesses = [(row, at) for row, path in enumerate(requests) for at in range(len(path))]
    ahead, next_use = {}, {}
    for position in range(len(accesses) - 1, -1, -1):
        row, at = accesses[position]
        next_use[row, at] = ahead.get(requests[row][at])
        ahead[requests[row][at]] = position
    hits, there, rank = 0, set(), 0
    for row, path in enumerate(requests):
        found = next((at for at, block in enumerate(path) if block not in there), len(path))
        hits += found
        backwards = [(at, path[at], rank + len(path) - at, next_use[row, at]) for at in range(len(path) - 1, -1, -1)]
        rank += len(path)
        for _, block, mine, after in backwards:
            if block in there:
                policy.hit(block, mine, after)
        written = []
        for at, block, mine, after in backwards:
            if at < found or block in there:
                continue
            if len(there) == HOLDS:
                victim = policy.victim()
                policy.go(victim)
                there.remove(victim)
            there.add(block)
            written.append((block, mine, after))
        for one in written:
            policy.come(*one)
    return hits


def simulated(requests, changes, cycles=1):
    folder = scratch()
    with open(folder / "trace.jsonl", "w") as file:
        for number, path in enumerate(requests):
            print(json.dumps({"timestamp": number * 10, "input_length": len(path) * BLOCK, "output_length": 1, "hash_ids": path}),
                  file=file)
    got = finish(start({"mode": "simulate", "run.duration": "1h", "run.interval": "1m", "engine.slots": 1, "engine.workers": None,
                        "cache": {"granularity": "block", "headroom": 0}, "tiers.gpu": None, "tiers.nvme": None,
                        "tiers.cpu.capacity": HOLDS * BLOCK * TOKEN_BYTES, "tiers.cpu.latency": "1us", "workload":
                        {"source": "mooncake", "path": "trace.jsonl", "arrival": {"cycles": cycles}}, **changes},
                       "--json", "summary.json", "--db", "none", cwd=folder))
    assert got.rc == 0, got
    summary = json.loads((folder / "summary.json").read_text())
    check_identities(summary)
    return summary


for name, model in (("lru", Lru), ("fifo", Fifo), ("clock", Clock), ("sieve", Sieve), ("belady", Belady)):
    @case("hits of a trace of blocks are those of the reference: " + name)
    def _(name=name, model=model):
        for seed in (1, 2, 3):
            requests = trace(seed)
            summary = simulated(requests, {"cache.eviction": name})
            want = reference(model(), requests)
            assert want > 200 and result(summary, "evictions") > 300, (want, result(summary, "evictions"))
            assert result(summary, "hits") == want, (seed, result(summary, "hits"), want)
            assert result(summary, "lookups") == sum(len(path) for path in requests)


@case("no policy hits more than belady, and each that is not lru decides in its own way")
def _():
    requests = trace(4)
    rules = [{"cause": "prefill", "priority": 20}]
    hits = {name: result(simulated(requests, {"cache.eviction": name, "cache.ttl": "200ms",
                                              **({"cache.priorities": rules} if name == "priority" else {})}), "hits")
            for name in POLICIES}
    assert all(0 < hits[name] <= hits["belady"] for name in POLICIES), hits
    assert len(set(hits.values())) > 7, hits


@case("each tier has its own policy, and a replayed cycle looks ahead in its own")
def _():
    requests = trace(5)
    tiers = {"tiers.nvme": {"capacity": HOLDS * BLOCK * TOKEN_BYTES, "path": ".", "eviction": "arc"}, "tiers.cpu.eviction": "s3fifo"}
    two, one = simulated(requests, tiers), simulated(requests, {"tiers.cpu.eviction": "s3fifo"})
    assert result(two, "hits") > result(one, "hits") and result(two, "cpu_demotions") > 300, result(two, "cpu_demotions")
    once, twice = (simulated(requests, {"cache.eviction": "belady"}, cycles) for cycles in (1, 2))
    assert result(twice, "hits") == 2 * result(once, "hits"), (result(once, "hits"), result(twice, "hits"))


@case("what admission does not let in is counted and no error")
def _():
    requests = trace(6)
    for changes in ({"cache.admission": "second_hit"}, {"cache.admission": "size_limit", "cache.admission_limit": BLOCK * TOKEN_BYTES - 1}):
        summary = simulated(requests, changes)
        assert result(summary, "requests_failed") == 0 and result(summary, "refused") == 0
        if "cache.admission_limit" in changes:
            assert result(summary, "hits") == 0
            assert result(summary, "not_admitted") == result(summary, "misses") == sum(len(path) for path in requests)
        else:
            assert 0 < result(summary, "not_admitted") < result(summary, "misses")
            assert result(summary, "hits") > 0
    assert result(simulated(requests, {"cache.admission": "size_limit", "cache.admission_limit": BLOCK * TOKEN_BYTES}),
                  "not_admitted") == 0


main()
