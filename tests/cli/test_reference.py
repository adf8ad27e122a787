#!/usr/bin/env python3
"""Simulated runs of Mooncake's traces against caches of a few lines each, written from the manual and the papers that it
names: every request has as many hits, tier by tier, and the run as many evictions."""
import collections
import heapq
import json

from reports import case
from runs import check_identities, published, result, trace, write
from tap import finish, home, main, run, spawn

BLOCK = 512 * 2048  # bytes of a block of 512 tokens: one layer of tiny-1b

# ---- the caches: in terms of blocks, all of one size ----


class Lru:
    """The least recent falls. An access has a rank, and a greater one is more recent."""

    def __init__(self, capacity):
        self.capacity, self.rank, self.heap, self.evictions = capacity, {}, [], 0

    def __contains__(self, key):
        return key in self.rank

    def __len__(self):
        return len(self.rank)

    def at(self, key, rank):
        self.rank[key] = rank
        heapq.heappush(self.heap, (rank, key))

    def touch(self, key, rank):
        self.at(key, rank)

    def arrive(self, key, rank):
        self.at(key, rank)

    def first(self):
        while self.rank.get(self.heap[0][1]) != self.heap[0][0]:
            heapq.heappop(self.heap)
        return self.heap[0]

    def victim(self):
        _, key = self.first()
        heapq.heappop(self.heap)
        del self.rank[key]
        return key

    def evict(self, _):
        self.evictions += 1
        return self.victim()


class Fifo(Lru):
    def touch(self, key, rank):
        pass


class Lfu(Lru):
    """Rank: accesses plus the age of the cache at the last one, which is the greatest rank of a victim; then recency."""
    cost = 1

    def __init__(self, capacity):
        super().__init__(capacity)
        self.age, self.accesses = 0, {}

    def touch(self, key, rank):
        self.accesses[key] += 1
        self.at(key, (self.age + self.cost * self.accesses[key], rank))

    def arrive(self, key, rank):
        self.accesses[key] = 0
        self.touch(key, rank)

    def victim(self):
        while True:
            rank, key = heapq.heappop(self.heap)
            if self.rank.get(key) == rank:
                del self.rank[key]
                self.age = max(self.age, rank[0])
                return key


class Gdsf(Lfu):
    """The cost of a miss, 1 and 1 a MiB, by the size."""
    cost = 1 + 2**20 / BLOCK


class Queues:
    """Caches of two queues, oldest first."""
    order = {}

    def __init__(self, capacity):
        self.capacity, self.evictions = capacity, 0
        self.first, self.second = collections.OrderedDict(), collections.OrderedDict()

    def __contains__(self, key):
        return key in self.first or key in self.second

    def __len__(self):
        return len(self.first) + len(self.second)

    def arrive(self, key, _):
        self.first[key] = 0

    def evict(self, key):
        self.evictions += 1
        return self.victim(key)


class Clock(Queues):
    def touch(self, key, _):
        self.first[key] = 1

    def victim(self, _):
        while True:
            key, accessed = self.first.popitem(last=False)
            if not accessed:
                return key
            self.first[key] = 0


class Sieve(Queues):
    """The hand is at an index of the queue; nothing moves."""

    def __init__(self, capacity):
        super().__init__(capacity)
        self.queue, self.hand = [], 0

    def touch(self, key, _):
        self.first[key] = 1

    def arrive(self, key, _):
        self.first[key] = 0
        self.queue.append(key)

    def victim(self, _):
        if self.hand is None:
            self.hand = 0
        while self.first[self.queue[self.hand]]:
            self.first[self.queue[self.hand]] = 0
            self.hand = (self.hand + 1) % len(self.queue)
        key = self.queue.pop(self.hand)
        if self.hand == len(self.queue):  # it was the newest: on from the oldest
            self.hand = None
        del self.first[key]
        return key


class Slru(Queues):
    """On probation, and protected in four fifths."""

    def touch(self, key, _):
        self.first.pop(key, None)
        self.second.pop(key, None)
        self.second[key] = 0
        while len(self.second) > self.capacity * 4 // 5:
            self.first[self.second.popitem(last=False)[0]] = 0

    def victim(self, _):
        return (self.first or self.second).popitem(last=False)[0]


class TwoQ(Queues):
    """A1in has a quarter, A1out remembers half as many as there are; what it remembers comes back to Am."""

    def __init__(self, capacity):
        super().__init__(capacity)
        self.out, self.back = collections.OrderedDict(), set()

    def touch(self, key, _):
        if key in self.second:
            self.second.move_to_end(key)

    def arrive(self, key, _):
        back = key in self.out or key in self.back
        (self.second if back else self.first)[key] = 0
        self.out.pop(key, None)
        self.back.discard(key)

    def victim(self, incoming):
        if incoming in self.out:
            self.back.add(incoming)
            del self.out[incoming]
        if self.second and not len(self.first) > self.capacity // 4:
            return self.second.popitem(last=False)[0]
        key, _ = self.first.popitem(last=False)
        self.out[key] = 0
        while len(self.out) > self.capacity // 2:
            self.out.popitem(last=False)
        return key


class S3fifo(Queues):
    """A small queue of a tenth, a main one, and keys of what has fallen out of the small one for the other nine."""

    def __init__(self, capacity):
        super().__init__(capacity)
        self.out = collections.OrderedDict()

    def touch(self, key, _):
        queue = self.first if key in self.first else self.second
        queue[key] = min(queue[key] + 1, 3)

    def arrive(self, key, _):
        (self.second if key in self.out else self.first)[key] = 0
        self.out.pop(key, None)

    def victim(self, _):
        while True:
            small = len(self.first) > self.capacity // 10 or not self.second
            key, accesses = (self.first if small else self.second).popitem(last=False)
            if small and accesses < 2:
                self.out.pop(key, None)
                self.out[key] = 0
                while len(self.out) > self.capacity - self.capacity // 10:
                    self.out.popitem(last=False)
                return key
            if not small and not accesses:
                return key
            self.second[key] = 0 if small else accesses - 1


class Arc(Queues):
    """T1, T2, B1, B2 and the target of T1, in bytes. A victim is chosen as if the target had moved already."""

    def __init__(self, capacity):
        super().__init__(capacity)
        self.once, self.often, self.target = collections.OrderedDict(), collections.OrderedDict(), 0
        self.steps = {}

    def touch(self, key, _):
        self.first.pop(key, None)
        self.second.pop(key, None)
        self.second[key] = 0

    def step(self, key):
        if key in self.once:
            return BLOCK * max(len(self.often) / len(self.once), 1)
        if key in self.often:
            return -BLOCK * max(len(self.once) / len(self.often), 1)
        return 0

    def moved(self, step):
        return min(max(self.target + step, 0), self.capacity * BLOCK)

    def bound(self):
        while len(self.once) > max(self.capacity - len(self.first), 0):
            self.once.popitem(last=False)
        while len(self.often) > max(2 * self.capacity - len(self) - len(self.once), 0):
            self.often.popitem(last=False)

    def arrive(self, key, _):
        step = self.steps.pop(key, None)
        if key in self.once or key in self.often:
            self.target = self.moved(self.step(key) if step is None else step)
            self.second[key] = 0
        else:
            self.first[key] = 0
        self.once.pop(key, None)
        self.often.pop(key, None)
        self.bound()

    def victim(self, incoming):
        self.steps[incoming] = self.step(incoming)
        target, t1 = self.moved(self.steps[incoming]), len(self.first) * BLOCK
        first = self.first and (not self.second or t1 > target or (incoming in self.often and t1 == target))
        key, _ = (self.first if first else self.second).popitem(last=False)
        (self.once if first else self.often)[key] = 0
        self.bound()
        return key


class Leaf(Lru):
    """Blocks that one in the cache follows stay."""

    def __init__(self, capacity, parent):
        super().__init__(capacity)
        self.parent, self.behind = parent, collections.Counter()

    def arrive(self, key, rank):
        self.behind[self.parent[key]] += 1
        self.at(key, rank)

    def victim(self):
        while True:
            rank, key = heapq.heappop(self.heap)
            if self.rank.get(key) == rank and not self.behind[key]:
                break
        del self.rank[key]
        before = self.parent[key]
        self.behind[before] -= 1
        if not self.behind[before] and before in self.rank:
            self.at(before, self.rank[before])
        return key


class Ttl(Lru):
    """Without an access for so long an entry leaves."""

    def __init__(self, capacity, ttl_ms):
        super().__init__(capacity)
        self.ttl_ms, self.ends = ttl_ms, {}

    def at(self, key, rank):
        self.ends[key] = self.now + self.ttl_ms
        super().at(key, rank)

    def begin(self, row):
        self.now = row.ms
        while self.heap and (self.rank.get(self.heap[0][1]) != self.heap[0][0] or self.ends[self.heap[0][1]] <= self.now):
            rank, key = heapq.heappop(self.heap)
            if self.rank.get(key) == rank:
                del self.rank[key]
                self.evictions += 1


class Priority(Lru):
    """The least recent of the lowest class, by who wrote it."""

    def __init__(self, capacity, priorities):
        super().__init__(capacity)
        self.priorities, self.of = priorities, {}

    def begin(self, row):
        self.klass = row.klass

    def arrive(self, key, rank):
        self.of[key] = self.priorities[self.klass]
        self.touch(key, rank)

    def touch(self, key, rank):
        self.at(key, (self.of[key], rank))


class Belady(Lru):
    """The one that is asked for again last of all; of those that never are, the least recent."""

    def __init__(self, capacity, rows):
        super().__init__(capacity)
        self.uses = collections.defaultdict(collections.deque)
        for number, row in enumerate(rows):
            for i, key in enumerate(row.ids):
                self.uses[key].append((number, i))
        self.number = -1

    def begin(self, _):
        self.number += 1

    def at(self, key, rank):
        uses = self.uses[key]
        while uses and uses[0][0] <= self.number:
            uses.popleft()
        super().at(key, (1, -uses[0][0], -uses[0][1]) if uses else (0, rank, 0))


class Waterfall:
    """Two tiers: what falls out of the first falls into the second, which makes room before, and keeps its rank. What one
    request lets fall is no victim again as long as it moves, which is until the request ends."""

    def __init__(self, kind, upper, lower):
        self.tiers, self.falling = (kind(upper), kind(lower)), []
        self.capacity = upper

    def __contains__(self, key):
        return key in self.tiers[0] or key in self.tiers[1]

    def __len__(self):
        return len(self.tiers[0])

    def touch(self, key, rank):
        self.tiers[key not in self.tiers[0]].touch(key, rank)

    def arrive(self, key, rank):
        self.tiers[0].arrive(key, rank)

    def evict(self, _):
        upper, lower = self.tiers
        rank, key = upper.first()
        if len(lower) + len(self.falling) == lower.capacity:
            lower.evict(None)
        upper.victim()
        self.falling.append((key, rank))

    def end(self):
        for key, rank in self.falling:
            self.tiers[1].at(key, rank)
        self.falling.clear()

    @property
    def evictions(self):
        return self.tiers[1].evictions


# ---- a request, and a run of them ----

Row = collections.namedtuple("Row", "ids ms klass")


def replay(rows, cache, order, admitted=lambda key: True):
    """Hits of each request, for each tier. A request has hits up to its first block that is not there. It touches all
    that are there, and writes the others together: room is made for all of them before the first has come."""
    tiers, base, got = getattr(cache, "tiers", (cache,)), 0, []
    for row in rows:
        getattr(cache, "begin", lambda _: 0)(row)
        hits = next((i for i, key in enumerate(row.ids) if key not in cache), len(row.ids))
        got.append([sum(key in tier for key in row.ids[:hits]) for tier in tiers])
        ranked = list(enumerate(row.ids if order == "forward" else reversed(row.ids), base))
        base += len(ranked)
        for rank, key in ranked:
            if key in cache:
                cache.touch(key, rank)
        known, coming = set(row.ids[:hits]), []
        for rank, key in ranked:
            if key in known or key in cache or not admitted(key):
                continue
            while len(cache) + len(coming) >= cache.capacity:
                cache.evict(key)
            coming.append((key, rank))
        for key, rank in coming:
            cache.arrive(key, rank)
        getattr(cache, "end", lambda: 0)()
    return got


def simulated(name, limit, blocks, order, keys, speedup=0):
    """(rows, hits of each in each tier that is on, the summary). One request after the other, on tiers that take no time."""
    path = trace("mooncake/%s_trace.jsonl" % name)
    fast = {"read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}
    cache = {"granularity": "block", "headroom": 0, "touch_order": order}
    names = ("cpu", "nvme")[:len(blocks)]
    file = write({"mode": "simulate", "run": {"duration": "24h", "warmup": "0s", "interval": "1h"},
                  "tiers": {tier: {"blocks": size, **fast} for tier, size in zip(names, blocks)}, "cache": cache,
                  "workload": {"source": "mooncake", "path": str(path), "limit": limit, "arrival": {"speedup": speedup}},
                  "engine": {"slots": 1}, **keys})
    got = finish(spawn(["run", "--headless", "--quiet", file, "--db", "none", "--json", "summary.json", "--request-log",
                        "requests.jsonl"]))
    assert got.rc == 0, got
    summary = json.loads((home() / "work/summary.json").read_text())
    check_identities(summary)
    log = [json.loads(line) for line in (home() / "work/requests.jsonl").read_text().splitlines()]
    with open(path) as file:
        told = [json.loads(line) for _, line in zip(range(limit or 1 << 30), file)]
    assert [one["id"] for one in log] == list(range(1, len(told) + 1)), "requests out of order"
    rows = [Row(one["hash_ids"], one["timestamp"], said["class"]) for one, said in zip(told, log)]
    return rows, [[said["hits"][tier] for tier in names] for said in log], summary


def hold(name, limit, blocks, order, keys, cache_of, speedup=0, **how):
    rows, hits, summary = simulated(name, limit, blocks, order, keys, speedup)
    cache = cache_of(rows, *blocks)
    expected = replay(rows, cache, order, **how)
    differ = [(i + 1, ours, theirs) for i, (ours, theirs) in enumerate(zip(hits, expected)) if ours != theirs]
    assert not differ, "%d of %d requests differ, the first: number %d has hits %s, expected %s" % (
        len(differ), len(rows), *differ[0])
    total = sum(map(sum, expected))
    assert total > 500 and result(summary, "hits") == total, (total, result(summary, "hits"))
    assert result(summary, "evictions") == cache.evictions > len(rows), (cache.evictions, result(summary, "evictions"))


def plain(kind):
    return lambda rows, capacity: kind(capacity)


def parents(rows):
    return {key: before for row in rows for before, key in zip([None, *row.ids], row.ids)}


CLASSES = [{"name": "high", "share": 0.5}, {"name": "low", "share": 0.5}]
# name, keys of the scenario, the cache of it
POLICIES = [(kind.__name__.lower().replace("twoq", "2q"), {}, plain(kind)) for kind in
            (Lru, Fifo, Clock, Lfu, Slru, TwoQ, Arc, S3fifo, Sieve, Gdsf)] + [
    ("leaf_lru", {}, lambda rows, capacity: Leaf(capacity, parents(rows))),
    ("priority", {"cache.priorities": [{"class": "low", "priority": 20}], "qos.classes": CLASSES},
     lambda rows, capacity: Priority(capacity, {"low": 20, "high": 35})),
    ("belady", {}, lambda rows, capacity: Belady(capacity, rows))]
ORDERS = ("forward", "last_first")

for name, size, order in (("conversation", 20000, "last_first"), ("synthetic", 2000, "forward")):
    @case("the whole %s trace, lru, %s" % (name, order))
    def _(name=name, size=size, order=order):
        hold(name, 0, [size], order, {}, plain(Lru))

for policy, keys, cache_of in POLICIES:
    @case("parts of both traces, three sizes, both touch orders: " + policy)
    def _(policy=policy, keys=keys, cache_of=cache_of):
        for name, limit, order, size in (("conversation", 1500, "forward", 2000), ("conversation", 2500, "last_first", 3000),
                                         ("synthetic", 800, "last_first", 3000)):
            hold(name, limit, [size], order, {"cache.eviction": policy, **keys}, cache_of)


@case("a part of the trace in its own time: ttl")
def _():
    for order, size in zip(ORDERS, (1000, 10**6)):
        hold("conversation", 2000, [size], order, {"cache.eviction": "ttl", "cache.ttl": "60000500us"},
             lambda rows, capacity: Ttl(capacity, 60000.5), speedup=1)


@case("only what was turned away before is let in: second_hit")
def _():
    seen = set()
    for order in ORDERS:
        seen.clear()

        def admitted(key):
            known = key in seen
            (seen.discard if known else seen.add)(key)
            return known
        hold("conversation", 2000, [300], order, {"cache.admission": "second_hit"}, plain(Lru), admitted=admitted)


for kind in (Lru, Fifo):
    @case("two tiers, waterfall: " + kind.__name__.lower())
    def _(kind=kind):
        for order, sizes in zip(ORDERS, ((600, 2000), (1500, 6000))):
            hold("conversation", 2500, sizes, order, {"cache.eviction": kind.__name__.lower()},
                 lambda rows, upper, lower: Waterfall(kind, upper, lower))

# Hits of libCacheSim 0.3.5 on the blocks of Mooncake's conversation trace, each asked for by itself, with room for so many.
LIBCACHESIM = {"lru": {1000: 12831, 10000: 60921, 50000: 102290}, "arc": {1000: 15275, 10000: 64205, 50000: 99056},
               "2q": {1000: 15614, 10000: 53338, 50000: 98762}, "s3fifo_ref": {1000: 15676, 10000: 55525, 50000: 82850}}


def arc_of_the_paper(blocks, room):
    """Hits of ARC(c) as its paper has it: cases I to IV in pages, REPLACE with the page in B2 or not, and a target that is real."""
    t1, t2, b1, b2 = (collections.OrderedDict() for _ in range(4))
    target = hits = 0

    def replace(in_b2):
        if t1 and (len(t1) > target or in_b2 and len(t1) == target):
            b1[t1.popitem(last=False)[0]] = 0
        else:
            b2[t2.popitem(last=False)[0]] = 0
    for block in blocks:
        if block in t1 or block in t2:
            hits += 1
            t1.pop(block, None)
            t2.pop(block, None)
            t2[block] = 0
        elif block in b1:
            target = min(target + max(len(b2) / len(b1), 1), room)
            replace(False)
            del b1[block]
            t2[block] = 0
        elif block in b2:
            target = max(target - max(len(b1) / len(b2), 1), 0)
            replace(True)
            del b2[block]
            t2[block] = 0
        else:
            first = len(t1) + len(b1)
            both = first + len(t2) + len(b2)
            if first == room and len(t1) == room:
                t1.popitem(last=False)
            elif first == room:
                b1.popitem(last=False)
                replace(False)
            elif both >= room:
                if both == 2 * room:
                    b2.popitem(last=False)
                replace(False)
            t1[block] = 0
    return hits


def one_by_one(policy, times, counted):
    """Each block of the trace is a request of its own, the trace so many times over."""
    rows, blocks = home() / "work/one-by-one.jsonl", []
    rows.parent.mkdir(exist_ok=True)
    with open(published("mooncake/conversation_trace.jsonl")) as told:
        for line in told:
            blocks += json.loads(line)["hash_ids"]
    assert len(blocks) == 288500, len(blocks)
    blocks *= times
    with open(rows, "w") as file:
        for number, block in enumerate(blocks):
            file.write('{"timestamp": %d, "input_length": 512, "output_length": 1, "hash_ids": [%d]}\n' % (number, block))
    text = {"name": "one-by-one", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "10h", "warmup": "0s", "interval": "1h"},
            "tiers": {"gpu": {"blocks": 1, "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}},
            "cache": {"granularity": "block", "headroom": 0, "eviction": policy},
            "workload": {"source": "mooncake", "path": str(rows)}}
    path = home() / "work/one-by-one.yaml"
    path.write_text(json.dumps(text))
    for room, hits in counted.items():
        got = run(["run", str(path), "--headless", "--db", "none", "--json", "-", "--set", "tiers.gpu.blocks=%d" % room], timeout=300)
        assert got.rc == 0, got
        summary = json.loads(got.stdout)
        assert (result(summary, "lookups"), result(summary, "hits")) == (len(blocks), hits), \
            (room, result(summary, "lookups"), result(summary, "hits"), hits)
    return blocks


for policy, counted in LIBCACHESIM.items():
    @case("one block a request, as many hits as libCacheSim counts: " + policy)
    def _(policy=policy, counted=counted):
        one_by_one(policy, 1, counted)


@case("the trace three times over: as many hits as libCacheSim's ARC and the paper's, whose target is never rounded")
def _():
    assert arc_of_the_paper(one_by_one("arc", 3, {10000: 186434}), 10000) == 186434

main()
