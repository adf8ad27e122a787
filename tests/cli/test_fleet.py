#!/usr/bin/env python3
"""Fleets: the decision of each routing recomputed by a model of its own, conservation, and what is refused."""
import json
import random
import re

import servers
from played_redis import CLOSE, Played
from runs import refused, rows
from tap import SOURCE, case, home, main, run

PODS, BLOCKS, STORED, STALENESS_MS, APART_MS, TOKEN_MS = 3, 24, 60, 1500, 700, 1000
MASK, NEVER, GONE = (1 << 64) - 1, 1 << 60, 1


def requests():
    """Prompts of six families, each with a tail of its own, at fixed times: some are long in service."""
    draw, made, fresh = random.Random(5), [], 1000
    for number in range(120):
        family = draw.randrange(6)
        ids = [family * 10 + i for i in range(draw.randrange(3, 7))] + list(range(fresh, fresh + draw.randrange(3)))
        fresh += 10
        made.append({"timestamp": number * APART_MS, "input_length": 512 * len(ids), "output_length": draw.randrange(1, 6),
                     "hash_ids": ids})
    return made


def scenario(routing, store=0, **more):
    (home() / "work").mkdir(exist_ok=True)
    trace = home() / "work/fleet.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in requests()))
    fleet = {"pods": PODS, "routing": routing, "index": {"staleness": "%dms" % STALENESS_MS}}
    fleet.update(more)
    text = {"name": "fleet", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "10m", "warmup": "0s"},
            "tiers": {"gpu": {"blocks": BLOCKS, "read_bandwidth": "10TB/s", "write_bandwidth": "10TB/s"}},
            "cache": {"granularity": "block", "headroom": 0},
            "workload": {"source": "mooncake", "path": str(trace)},
            "compute": {"mode": "fixed", "ms_per_token": TOKEN_MS}, "engine": {"slots": 64}, "fleet": fleet}
    if store:
        text["tiers"]["remote"] = {"blocks": store, "read_bandwidth": "10TB/s", "write_bandwidth": "10TB/s"}
    path = home() / "work/fleet.yaml"
    path.write_text(json.dumps(text))
    return path


def simulated(routing, *options, **more):
    """Summary and request log."""
    log = home() / "work/requests.jsonl"
    got = run(["run", str(scenario(routing, **more)), "--headless", "--json", "-", "--request-log", str(log), *options])
    assert got.rc == 0, got
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return json.loads(got.stdout), sorted(lines, key=lambda line: line["id"])


def mix(x):
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


class Store:
    """The remote tier that all pods share: the last that was put there or read there stays longest."""
    def __init__(self, blocks):
        self.rank, self.clock, self.blocks, self.evicted, self.gone = {}, 0, blocks, 0, False

    def access(self, i):
        self.clock += 1
        self.rank[i] = self.clock

    def put(self, i):
        """The block that makes room, if one has to."""
        self.access(i)
        if len(self.rank) <= self.blocks:
            return []
        self.evicted += 1
        gone = min(self.rank, key=self.rank.get)
        del self.rank[gone]
        return [gone]


class Reader:
    """A pod with a gpu tier above the store. What it knows to be in the store is an order of its own."""
    def __init__(self, store):
        self.store, self.rank, self.seen, self.clock, self.ends = store, {}, {}, 0, []

    def see(self, i, rank):
        self.seen[i] = rank
        if len(self.seen) > self.store.blocks:
            del self.seen[min(self.seen, key=self.seen.get)]

    def refresh(self, ids):
        for i in ids:
            if i not in self.rank and i not in self.seen and i in self.store.rank:
                self.clock += 1
                self.see(i, self.clock)
            elif i in self.seen and i not in self.store.rank:
                del self.seen[i]

    def serve(self, ids):
        """Blocks found in the gpu tier and in the store, and what the store has got and lost."""
        self.refresh(ids)
        known = self.rank.keys() | self.seen.keys()
        found = ids[:prefix(known, ids)]
        hits = (sum(i in self.rank for i in found), sum(i in self.seen for i in found))
        new, falls, put, gone = [i for i in ids if i not in known], [], [], []
        for place, i in enumerate(reversed(ids)):
            if i in self.seen:
                self.seen[i] = self.clock + place + 1
                self.store.access(i)
            else:
                self.rank[i] = self.clock + place + 1
        self.clock += len(ids)
        while len(self.rank) > BLOCKS:
            i = min(self.rank, key=self.rank.get)
            rank = self.rank.pop(i)
            if i not in self.store.rank and not self.store.gone:
                falls.append(i)
                self.see(i, rank)
        for i in falls:
            put.append(i)
            gone += self.store.put(i)
        return hits, new, put, gone


class Pod:
    def __init__(self):
        self.rank, self.clock, self.ends = {}, 0, []

    def serve(self, ids):
        """Blocks found from the first; what is stored and dropped. The first block becomes the most recent."""
        found = 0
        while found < len(ids) and ids[found] in self.rank:
            found += 1
        new = [i for i in ids if i not in self.rank]
        for place, i in enumerate(reversed(ids)):
            self.rank[i] = self.clock + place
        self.clock += len(ids)
        gone = sorted(self.rank, key=self.rank.get)[:max(0, len(self.rank) - BLOCKS)]
        for i in gone:
            del self.rank[i]
        return found, new, gone


def prefix(known, ids):
    n = 0
    while n < len(ids) and ids[n] in known:
        n += 1
    return n


def goes_at(now, begin, end, last):
    """Whether a part is gone at a time, and whether it went since the last one."""
    return begin <= now < end, last < begin <= now


class View:
    """The index as it is known after a delay."""

    def __init__(self, delay):
        self.delay, self.held, self.told = delay, [set() for _ in range(PODS)], 0

    def tell(self, events, now):
        while self.told < len(events) and events[self.told][0] + self.delay < now:
            _, p, new, gone = events[self.told]
            self.held[p] = (self.held[p] | set(new)) - set(gone)
            self.told += 1
        return self.held


def model(routing, weight=(1, 1), pod_gone=(NEVER, NEVER), index_gone=(NEVER, NEVER), delays=(STALENESS_MS,), refresh=1, away=0):
    """(pod, reason, expected, found) of every request; those that a pod takes with it have no pod."""
    pods, views, events, out, ends = [Pod() for _ in range(PODS)], [View(delay) for delay in delays], [], [], []
    memory, load, read = [Pod() for _ in range(PODS)], None, 0
    for turn, r in enumerate(requests()):
        now, ids = r["timestamp"], r["hash_ids"]
        down, goes = goes_at(now, *pod_gone, now - APART_MS)
        up = [p for p in range(PODS) if p != GONE or not down]
        if goes:
            events.append((pod_gone[0] + away, GONE, [], list(pods[GONE].rank)))
            lost = {number for number, o in enumerate(out) if o[0] == GONE and ends[number] - 2 * away > pod_gone[0]}
            out = [(None, *o[1:]) if number in lost else o for number, o in enumerate(out)]
            pods[GONE] = Pod()
        deaf, goes = goes_at(now, *index_gone, now - APART_MS)
        if goes:
            events, views = [], [View(delay) for delay in delays]
        index = views[turn % len(views)].tell(events, now)
        if load is None or now - read >= refresh:
            load, read = [sum(end > now for end in p.ends) for p in pods], now
        least = min(up, key=lambda p: (load[p], p))
        expected = [0] * PODS
        if routing in ("precise", "estimated"):
            known = index if routing == "precise" else [m.rank for m in memory]
            expected = [prefix(k, ids) for k in known]
            score = [weight[0] * expected[p] / len(ids) + weight[1] * (1 - load[p] / max(load) if max(load) else 1)
                     for p in range(PODS)]
            # the least loaded is a candidate whatever it holds; others are by what they hold
            among = [p for p in up if expected[p] or p == least]
            pod = min(among, key=lambda p: (-round(score[p], 12), load[p], p))
            reason = "prefix" if expected[pod] else "load"
        else:
            pod, reason = {"round_robin": (turn % PODS, "turn"), "least_loaded": (least, "load"),
                           "session": (mix(turn + 1) % PODS, "session")}[routing]
            pod = pod if pod in up else (pod + 1) % PODS
        memory[pod].serve(ids)
        found, new, gone = pods[pod].serve(ids)
        if not deaf:
            events.append((now + away, pod, new, gone))
        ends.append(now + 2 * away + TOKEN_MS * r["output_length"])  # when its router knows
        pods[pod].ends.append(ends[-1])
        out.append((pod, reason, expected[pod], found))
    return out


def decided(lines):
    return [(line["pod"], line["routed_by"], line["expected_blocks"], line["hits"]["gpu"]) for line in lines]


def check(routing, refresh=1, away=0, **more):
    weights = more.get("weights", {"prefix": 1, "load": 1})
    got = decided(simulated(routing, **more)[1])
    want = model(routing, (weights["prefix"], weights["load"]), refresh=refresh, away=away)
    assert len(got) == len(want) == 120
    for number, pair in enumerate(zip(got, want)):
        assert pair[0] == pair[1], "request %d: %s, and the model says %s" % (number, *pair)
    return want


@case("round_robin, least_loaded and session decide as the model does")
def _():
    for routing in ("round_robin", "least_loaded", "session"):
        check(routing)


@case("routers that read the loads now and then decide as the model does, and otherwise than those that always know")
def _():
    for routing in ("least_loaded", "precise"):
        assert check(routing, refresh=4000, load_refresh="4s") != model(routing), routing


@case("precise decides as the model does, with an index that is stale")
def _():
    want = check("precise")
    assert any(expected > found for _, _, expected, found in want), "no request found less than the index said"
    assert {reason for _, reason, _, _ in want} == {"prefix", "load"}


def check_shared(**far):
    summary, lines = simulated("round_robin", store=STORED, **far)
    store, want = Store(STORED), []
    pods, wrote, others = [Reader(store) for _ in range(PODS)], {}, 0
    for turn, r in enumerate(requests()):
        pod = pods[turn % PODS]
        far = [i for i in r["hash_ids"] if i not in pod.rank]
        hits, new, put, _ = pod.serve(r["hash_ids"])
        others += sum(wrote.get(i, pod) is not pod for i in far[:hits[1]])
        wrote.update((i, pod) for i in put)
        want.append((turn % PODS, *hits))
    got = [(line["pod"], line["hits"]["gpu"], line["hits"].get("remote", 0)) for line in lines]
    for number, pair in enumerate(zip(got, want)):
        assert pair[0] == pair[1], "request %d: %s, and the model says %s" % (number, *pair)
    assert others > 50 and store.evicted > 50, (others, store.evicted)
    value = {name: m["value"] for name, m in summary["results"].items()}
    block = value["remote_used_bytes"] / value["remote_entries"]
    assert value["remote_entries"] == len(store.rank) == STORED and block == 512 * 131072
    assert value["remote_hits"] == sum(w[2] for w in want) and value["evictions"] == store.evicted
    assert summary["tiers"]["remote"]["usable_bytes"] == STORED * block, summary["tiers"]
    assert summary["tiers"]["gpu"]["usable_bytes"] == PODS * BLOCKS * block
    last = max(row["run_id"] for row in rows("SELECT run_id FROM run_pods"))
    assert sum(p["remote_hits"] for p in rows("SELECT * FROM run_pods WHERE run_id = %d" % last)) == value["remote_hits"]


@case("pods find in a shared remote tier what others have put there, as in the model; its room is counted once")
def _():
    check_shared()


@case("so they do by messages, whose time hardly counts here")
def _():
    check_shared(delay="1us")


@case("the question to a shared remote tier, reads there and writes there take two messages each, and nothing else does")
def _():
    (at_once, soon), (late, later) = (simulated("round_robin", store=STORED, delay=delay) for delay in ("1us", "5ms"))
    apart = 5 - 0.001
    mean = [summary["results"]["remote_read_mean_ms"]["value"] for summary in (at_once, late)]
    assert abs(mean[1] - mean[0] - 2 * apart) < 1e-6, mean
    took = [round((b["ttft_ms"] - a["ttft_ms"]) / apart, 1) for a, b in zip(soon, later)]
    # its way, the question for what its pod does not have, reads of what is there, falls that make room for what is written
    assert set(took) == {1, 3, 5, 7} and all(n >= 5 for n, line in zip(took, later) if line["hits"]["remote"]), took
    assert all((n == 1) == (line["misses"] == line["hits"]["remote"] == 0) for n, line in zip(took, later)), took
    assert [line["hits"] for line in soon] == [line["hits"] for line in later]


def check_precise_shared(**far):
    lines = simulated("precise", store=STORED, **far)[1]
    store, index, common, events = Store(STORED), [set() for _ in range(PODS)], set(), []
    pods = [Reader(store) for _ in range(PODS)]
    for number, (r, line) in enumerate(zip(requests(), lines)):
        now, ids = r["timestamp"], r["hash_ids"]
        while events and events[0][0] + STALENESS_MS < now:
            _, p, new, left, put, gone = events.pop(0)
            index[p] = (index[p] | new) - left
            common = (common | set(put)) - set(gone)
        load = [sum(end > now for end in p.ends) for p in pods]
        least = min(range(PODS), key=lambda p: (load[p], p))

        def reach(known):
            worth = []
            for i in ids:
                if i not in known | common:
                    break
                worth.append(1 if i in known else 0.3)
            return len(worth), sum(worth)
        known = [index[p] if ids[0] in index[p] else set() for p in range(PODS)]
        score = {p: reach(known[p])[1] / len(ids) + (1 - load[p] / max(load) if max(load) else 1)
                 for p in range(PODS) if known[p] or p == least}
        pod = min(score, key=lambda p: (-round(score[p], 12), load[p], p))
        before = set(pods[pod].rank)
        hits, _, put, gone = pods[pod].serve(ids)
        after = set(pods[pod].rank)
        events.append((now, pod, after - before, before - after, put, gone))
        pods[pod].ends.append(now + TOKEN_MS * r["output_length"])
        want = (pod, "prefix" if known[pod] else "load", reach(known[pod])[0], *hits)
        got = (line["pod"], line["routed_by"], line["expected_blocks"], line["hits"]["gpu"], line["hits"].get("remote", 0))
        assert got == want, "request %d: %s, and the model says %s" % (number, got, want)
    assert len(lines) == 120


@case("precise counts what is in the shared tier for every pod, as in the model, told at once or by messages")
def _():
    check_precise_shared()
    check_precise_shared(delay="1us")


@case("routers and pods that hear of each other after a delay decide as the model does, and otherwise than at once")
def _():
    for routing in ("round_robin", "least_loaded", "estimated", "precise"):
        want = check(routing, away=330, delay="330ms")
        if routing in ("least_loaded", "precise"):
            assert want != model(routing), routing
    log = simulated("precise", delay="330ms")[1]
    # what is written takes no time to speak of, and each token a second
    assert all(abs(line["queue_ms"] - 330) < 1e-3 for line in log), log[0]
    assert all(abs(line["e2e_ms"] - 330 - TOKEN_MS * r["output_length"]) < 1 for line, r in zip(log, requests())), log[0]


@case("estimated decides as the model does, by what it sent")
def _():
    assert {reason for _, reason, _, _ in check("estimated")} == {"prefix", "load"}


@case("weights move decisions from prefix to load, as in the model")
def _():
    by_prefix, by_load = (check("precise", weights={"prefix": p, "load": l}) for p, l in ((10, 1), (1, 10)))
    assert [w[0] for w in by_prefix] != [w[0] for w in by_load]


@case("a pod that goes takes its entries and requests with it, and comes back empty, as in the model")
def _():
    for routing, away in [(one, away) for one in ("round_robin", "least_loaded", "session", "precise") for away in (0, 330)]:
        summary, lines = simulated(routing, outages=[{"pod": GONE, "at": "20s", "for": "25s"}], delay="%dms" % away)
        want = model(routing, pod_gone=(20000, 45000), away=away)
        value = {name: m["value"] for name, m in summary["results"].items()}
        lost = sum(w[0] is None for w in want)
        kept = [w for w in want if w[0] is not None]
        assert decided([line for line in lines if not line["failed"]]) == kept, routing
        assert lost == value["requests_failed"] == value["outage_requests_failed"] > 0, (routing, lost, value["requests_failed"])
        assert value["requests_done"] == 120 - lost and value["outages"] == 1
        assert value["outages_s"] == min(25, value["measured_s"] - 20), value["outages_s"]
        assert not any(20 <= requests()[n]["timestamp"] / 1000 < 45 for n, w in enumerate(want) if w[0] == GONE)
        assert value["outage_lost_bytes"] == BLOCKS * 512 * 131072, value["outage_lost_bytes"]
        assert value["outage_lost"] == BLOCKS and "%d entries were lost in an outage" % BLOCKS in summary["run"]["undone"], value["outage_lost"]
        marks = [(e["t_s"], e["message"]) for e in summary["events"] if e["level"] == "mark"]
        assert marks == [(20, "pod 1 is gone"), (45, "pod 1 is back")], marks


def check_remote_gone(**far):
    begin, end = 20000, 45000
    summary, lines = simulated("round_robin", store=STORED, outages=[{"remote": True, "at": "20s", "for": "25s"}], **far)
    store, want = Store(STORED), []
    pods = [Reader(store) for _ in range(PODS)]
    for turn, r in enumerate(requests()):
        store.gone, goes = goes_at(r["timestamp"], begin, end, r["timestamp"] - APART_MS)
        if goes:
            lost, store.rank = len(store.rank), {}
        want.append((turn % PODS, *pods[turn % PODS].serve(r["hash_ids"])[0]))
    assert [(line["pod"], line["hits"]["gpu"], line["hits"].get("remote", 0)) for line in lines] == want
    assert all(w[2] == 0 for n, w in enumerate(want) if begin <= n * APART_MS < end) and any(w[2] for w in want[-20:])
    assert summary["results"]["outage_lost_bytes"]["value"] == lost * 512 * 131072 > 0
    assert summary["results"]["outage_lost"]["value"] == lost, summary["results"]["outage_lost"]
    dropped = summary["results"]["outage_dropped"]["value"]
    assert dropped > 0 and "%d entries were dropped because the remote tier was gone" % dropped in " ".join(summary["verdict"]["warnings"])
    assert {one["name"]: one["passed"] for one in summary["criteria"]}["entries dropped in outages"] is False
    whole, _ = simulated("round_robin", store=STORED, outages=[{"remote": True, "at": "23h", "for": "25s"}], **far)
    assert whole["results"]["outage_dropped"]["value"] == 0 and whole["run"]["undone"] is None, whole["run"]


@case("a remote tier that goes keeps nothing until it is back, as in the model, told at once or by messages")
def _():
    check_remote_gone()
    check_remote_gone(delay="1us")


@case("a router that goes leaves its requests to the others and forgets what it sent")
def _():
    def routers(**more):
        return simulated("round_robin", routers=2, **more)[1]
    alone = [line["pod"] for line in routers(outages=[{"router": 1, "at": "0s", "for": "1h"}])]
    assert alone == [n % PODS for n in range(120)], alone
    of_both, of_part = routers(), routers(outages=[{"router": 1, "at": "42s", "for": "1h"}])
    both, part = ([line["pod"] for line in lines] for lines in (of_both, of_part))
    assert [line["router"] for line in of_both] == [n % 2 for n in range(120)]
    assert [line["router"] for line in of_part] == [n % 2 for n in range(60)] + [0] * 60
    assert both != alone and part[:60] == both[:60] and part[60:] == [(n + 30) % PODS for n in range(60)], part
    kept, lost = (simulated("estimated", routers=2, outages=out)[1] for out in ([], [{"router": 0, "at": "42s", "for": "1ms"}]))
    assert decided(kept)[:60] == decided(lost)[:60] and lost[60]["expected_blocks"] == 0 < kept[60]["expected_blocks"]


@case("an index that goes forgets all and learns anew, as in the model")
def _():
    lines = simulated("precise", outages=[{"index": True, "at": "20s", "for": "25s"}])[1]
    want = model("precise", index_gone=(20000, 45000))
    assert decided(lines) == want
    assert all(w[1:3] == ("load", 0) for n, w in enumerate(want) if 20000 <= n * APART_MS < 45000)


@case("what an outage takes is told by what becomes of it: blocks are written again, whole entries are not")
def _():
    for granularity, told in (("block", "written again instead of being read, so the throughput is that of other work"),
                              ("request", "neither read nor moved nor computed again, but for shared prompts, "
                               "so the throughput is that of less work")):
        path = home() / "work/summary.json"
        got = run(["run", SOURCE / "configs/fleet/outage.yaml", "--headless", "--quiet", "--duration", "40s", "--users", "160",
                   "--db", "none", "--json", path, *(word for one in (
                       "compute.mode=fast", "run.warmup=20s", "fleet.outages=[{pod: 3, at: 40s, for: 10s}]",
                       "fleet.routing=least_loaded", "cache.granularity=" + granularity) for word in ("--set", one))])
        assert got.rc == 0, got
        summary = json.loads(path.read_text())
        lost = summary["results"]["outage_lost"]["value"]
        text = " ".join(got.stdout.split())
        assert lost > 1 and "%d entries were lost in outages; what was lost is %s" % (lost, told) in text, (lost, text)
        assert summary["run"]["undone"], summary["run"]


@case("hits, lookups and requests of the pods add up to the whole, in results and in the database")
def _():
    summary, lines = simulated("precise")
    value = {name: m["value"] for name, m in summary["results"].items()}
    pods = rows("SELECT * FROM run_pods ORDER BY pod")
    assert [p["pod"] for p in pods] == [0, 1, 2], pods
    assert sum(p["gpu_hits"] for p in pods) == value["gpu_hits"] == sum(line["hits"]["gpu"] for line in lines)
    assert sum(p["lookups"] for p in pods) == value["lookups"]
    assert sum(p["requests_done"] for p in pods) == value["requests_done"] == 120
    assert sum(p["requests_routed"] for p in pods) == 120 and value["pods"] == 3
    wrong = sum(max(0, line["expected_blocks"] - line["hits"]["gpu"]) for line in lines)
    assert value["routed_blocks_wrong"] == wrong == sum(p["wrong_blocks"] for p in pods) > 0
    whole = rows("SELECT pod, sum(p.done) AS done, sum(p.lookups) AS lookups, sum(p.hits) AS hits, sum(expected_blocks) AS expected, "
                 "sum(wrong_blocks) AS wrong, sum(coalesce(load_mean, 0) * length_s) / sum(length_s) AS load FROM pod_intervals AS p "
                 "JOIN intervals USING (run_id, seq) GROUP BY pod ORDER BY pod")
    for p, i in zip(pods, whole):
        of_pod = (p["pod"], p["requests_done"], p["lookups"], p["gpu_hits"], p["expected_blocks"], p["wrong_blocks"])
        assert (i["pod"], i["done"], i["lookups"], i["hits"], i["expected"], i["wrong"]) == of_pod, (i, p)
        assert abs(i["load"] - p["load_mean"]) < 1e-6, (i, p)
    fleet = rows("SELECT sum(index_lookups) AS lookups, max(index_behind_ms) AS behind, sum(wrong_blocks) AS wrong FROM fleet_intervals")
    assert fleet[0]["lookups"] == value["index_lookups"] and fleet[0]["wrong"] == wrong
    assert 0 < fleet[0]["behind"] <= STALENESS_MS, fleet
    shown = run(["watch", "latest", "--dump", "--view", "pods", "--size", "100x40"]).stdout
    assert sorted(re.findall(r"^ +([0-9]+) ", shown[shown.index("pod  load"):], re.MULTILINE)) == ["0", "1", "2"], shown
    loads = [p["load_mean"] for p in pods]
    assert abs(value["load_imbalance"] - max(loads) / (sum(loads) / 3)) < 1e-9
    assert value["index_lookups"] == sum(len(r["hash_ids"]) for r in requests())


@case("the same bytes every time, for every routing and any number of workers")
def _():
    cases = [(routing, 0) for routing in ("random", "round_robin", "least_loaded", "power_of_two", "session", "estimated", "precise")]
    for routing, store in [*cases, ("precise", STORED)]:
        logs, results = [], []
        for workers in ("2", "7", "2"):
            summary, lines = simulated(routing, "--db", "none", "--set", "engine.workers=" + workers, store=store)
            logs.append(lines)
            results.append({k: m["value"] for k, m in summary["results"].items() if k != "real_s"})
        assert logs[0] == logs[1] == logs[2], routing
        assert results[0] == results[1] == results[2], routing


@case("random uses every pod, and another seed other ones")
def _():
    first, other = (decided(simulated("random", "--db", "none", "--seed", seed)[1]) for seed in ("1", "2"))
    assert {pod for pod, *_ in first} == {0, 1, 2} and first != other
    assert {reason for _, reason, *_ in first} == {"drawn"}


@case("what another pod holds misses for its routing, not for want of room")
def _():
    scenario = {"name": "routed", "model": "llama3.1-8b", "mode": "simulate", "seed": 5, "run": {"duration": "60s", "warmup": "10s"},
                "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "64GiB"}}, "workload": {"users": 40},
                "cache": {"granularity": "block"}, "compute": {"mode": "roofline", "gpu": "h100"}, "fleet": {"pods": 4, "routing": "random"}}
    path = home() / "work/routed.yaml"
    path.write_text(json.dumps(scenario))
    got = run(["run", str(path), "--headless", "--json", "-", "--db", "none"])
    value = {one["name"]: one["value"] for one in json.loads(got.stdout)["verdict"]["evidence"]}
    assert value["capacity_miss_ratio"] < 0.05 < 0.2 < value["routing_miss_ratio"], value
    assert value["working_set"] < value["tiers_hold"], value


@case("what another request is still computing misses neither for want of room nor for its routing")
def _():
    scenario = {"name": "overlap", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "40s", "warmup": "10s"},
                "tiers": {"cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "30GiB"}}, "cache": {"granularity": "block"},
                "workload": {"users": 30, "arrival": {"process": "poisson", "rate": 15}}, "compute": {"mode": "roofline", "gpu": "h100"}}
    path = home() / "work/overlap.yaml"
    path.write_text(json.dumps(scenario))
    told = []
    fleet = ("--set", "workload.arrival.rate=30", "--set", "fleet.pods=4", "--set", "fleet.routing=precise")
    for options in ((), ("--nvme", "300GiB"), fleet, (*fleet, "--set", "fleet.delay=1ms")):
        got = json.loads(run(["run", path, "--headless", "--json", "-", "--db", "none", *options]).stdout)
        value = {one["name"]: one["value"] for one in got["verdict"]["evidence"]}
        assert value["capacity_miss_ratio"] < 0.02 and value.get("routing_miss_ratio", 0) < 0.03, value
        assert value["unwritten_miss_ratio"] > 0.05, value
        assert "want of room" not in got["verdict"]["sentence"] and "what is still being computed" in got["verdict"]["sentence"], got["verdict"]
        told.append(got["verdict"]["sentence"])
    assert told[0] == told[1], told


@case("power_of_two uses every pod by load, and spreads load better than random")
def _():
    got = decided(simulated("power_of_two", "--db", "none")[1])
    assert {pod for pod, *_ in got} == {0, 1, 2} and {reason for _, reason, *_ in got} == {"load"}
    uneven = {routing: simulated(routing, "--db", "none")[0]["results"]["load_imbalance"]["value"] for routing in ("power_of_two", "random")}
    assert uneven["power_of_two"] < uneven["random"], uneven


@case("one pod is what a run without a fleet is")
def _():
    def one(**fleet):
        path = scenario("round_robin")
        text = json.loads(path.read_text())
        text["fleet"] = fleet
        path.write_text(json.dumps(text))
        got = run(["run", str(path), "--headless", "--db", "none", "--json", "-"])
        assert got.rc == 0, got
        return {k: m for k, m in json.loads(got.stdout)["results"].items() if k != "real_s"}
    assert one() == one(pods=1)
    assert "pods" not in one()


@case("what cannot be routed is refused, with the key and the remedy")
def _():
    def words(*expected, routing="precise", **fleet):
        refused(["check", str(scenario(routing, **fleet))], *expected)
    words("fleet.routing", "least_loaded", routing="least_load")
    words("fleet.pods", "1 to 100000", pods=0)
    words("fleet.index.url", "redis://127.0.0.1:6379", index={"backend": "resp"})
    words("fleet.index.spread", "one staleness", routers=2, index={"backend": "resp", "url": "unix:///s", "spread": "1s"})
    for url, what in (("http://127.0.0.1", "its scheme must be redis"), ("redis://127.0.0.1/70000", "its database must be a number"),
                      ("redis://127.0.0.1/x", "its database must be a number"), ("unix:///s?db=x", "its database must be a number"),
                      ("redis://127.0.0.1?db=2", "as in redis://HOST/2"), ("unix:///s?x=2", "must be db=NUMBER")):
        words("fleet.index.url", what, index={"backend": "resp", "url": url})
    words("fleet.weights", "both weights are 0", weights={"prefix": 0, "load": 0})
    for outage, words_of_it in (({"pod": 3}, "no pod 3"), ({"router": 1}, "no router 1"), ({"remote": True}, "no remote tier"),
                                ({}, "exactly one of pod"), ({"pod": 0, "index": True}, "exactly one of pod")):
        words("fleet.outages[0]", words_of_it, outages=[{**outage, "at": "1s", "for": "1s"}])
    words("asks no index", routing="session", outages=[{"index": True, "at": "1s", "for": "1s"}])
    words("none would be left", outages=[{"pod": p, "at": "%ds" % p, "for": "5s"} for p in range(PODS)])
    words("gone already", outages=[{"pod": 0, "at": "1s", "for": "5s"}, {"pod": 0, "at": "2s", "for": "1s"}])
    path = scenario("precise")
    refused(["run", str(path), "--headless", "--db", "none", "--io-trace", "ops.csv"], "--io-trace", "--request-log")
    path = scenario("precise")
    refused(["check", str(path), "--set", "tiers.remote.capacity=1GiB", "--set", "cache.placement=inclusive"], "cache.placement",
            "waterfall or spillover")
    refused(["check", str(path), "--set", "run.prepopulate=0.5"], "run.prepopulate", "tiers of a fleet begin empty")
    refused(["check", str(path), "--set", "workload.source=synthetic", "--set", "cache.granularity=request"],
            "fleet.routing", "cache.granularity: block")


@case("an index in a real server decides as the model does, in llm-d's schema; its time is in the requests'")
def _():
    redis = servers.Redis(more=["--slowlog-max-len", 100000, "--slowlog-log-slower-than", 0])
    index = {"staleness": "%dms" % STALENESS_MS, "backend": "resp", "url": redis.url}
    got, lines = simulated("precise", index=index)
    client = redis.client()
    sent = [[word.decode() for word in entry[3]] for entry in reversed(client.call("SLOWLOG", "GET", -1))]
    client.close()
    assert decided(lines) == model("precise")
    results = {name: value["value"] for name, value in got["results"].items()}
    asked = [words for words in sent if words[0] == "HKEYS"]
    blocks = sum(len(row["hash_ids"]) for row in requests())
    assert len(asked) == blocks == results["index_lookups"], (len(asked), blocks, results["index_lookups"])
    stored = [words for words in sent if words[0] == "HSET"]
    removed = [words for words in sent if words[0] == "HDEL"]
    assert len(stored) + len(removed) == results["index_events"] and removed, (len(stored), len(removed))
    prefix = re.match(r"kvfall:[0-9a-f]{8}:", stored[0][1]).group()
    for name, key, field, *value in stored + removed:
        assert re.fullmatch(prefix + r"\d+", key) and re.fullmatch(r"pod-[0-2]@gpu", field), (name, key, field)
        assert value == ([""] if name == "HSET" else []), value
    engine = {words[1]: words[3] for words in sent if words[0] == "ZADD"}
    assert {prefix + block for block in engine.values()} == {words[1] for words in stored}
    assert all(name == prefix + "engine:" + block for name, block in engine.items())
    assert redis.keys() == []
    assert 0 < results["index_lookup_mean_ms"] <= results["index_lookup_max_ms"] and results["index_bytes"] > 0
    plain = simulated("precise")[0]["results"]
    assert plain["index_lookup_mean_ms"]["value"] is None
    assert results["ttft_mean_ms"] > plain["ttft_mean_ms"]["value"], "the server's time is in no request"


@case("routers that learn later than others decide by what they know, as in the model")
def _():
    summary, lines = simulated("precise", index={"staleness": "%dms" % STALENESS_MS, "spread": "40s"}, routers=3)
    assert [line["router"] for line in lines] == [n % 3 for n in range(120)]
    want = model("precise", delays=[STALENESS_MS, STALENESS_MS + 20000, STALENESS_MS + 40000])
    assert decided(lines) == want
    missed = [sum(w[3] > w[2] for w in want[router::3]) for router in range(3)]
    assert missed[0] < missed[2], "the last router knows as much as the first: %s" % missed
    assert summary["results"]["index_entries"]["value"] > simulated("precise")[0]["results"]["index_entries"]["value"]


@case("an index whose server is not there is refused; one that fails ends the run, with what was measured")
def _():
    path = scenario("precise", index={"backend": "resp", "url": "unix:///no/socket"})
    refused(["run", str(path), "--headless", "--db", "none"], "no server answers", "fleet.index.url")
    used = {"backend": "resp", "url": "rediss://127.0.0.1"}
    for index, told in ((used, False), ({}, True)):
        got = run(["check", str(scenario("precise", index=index)), "--insecure", "--set", "tiers.remote.timeout=1s"])
        assert got.rc == 0 and ("timeout: no server" in got.stdout, "insecure: no server" in got.stdout) == (told, told), got.stdout[-500:]
    path = scenario("precise", index={"backend": "resp", "url": Played(members=[]).url})
    refused(["run", str(path), "--headless", "--db", "none"], "a member of a cluster", "fleet.index.url")
    redis = servers.Redis(maxmemory="1kb")
    path = scenario("precise", index={"backend": "resp", "url": redis.url})
    got = run(["run", str(path), "--headless", "--json", "-"])
    assert got.rc == 1 and "has no memory left" in got.stderr, got
    told = json.loads(got.stdout)
    assert told["run"]["status"] == "failed" and "no memory left" in told["run"]["status_reason"], told["run"]
    kept = run(["run", str(path), "--headless", "--keep-going", "--json", "-"])
    results = json.loads(kept.stdout)["results"]
    assert results["requests_done"]["value"] == 120 and results["routed_blocks"]["value"] == 0, kept
    asked = []

    def answer(words, usual):
        asked.append(words[0])
        if words[0] == b"INFO" and b"HSET" in asked:
            return CLOSE
        return usual if words[0] in (b"PING", b"INFO") else b"*0\r\n" if words[0] == b"HKEYS" else b":1\r\n"

    path = scenario("precise", index={"backend": "resp", "url": Played(answer).url})
    got = run(["run", str(path), "--headless", "--json", "-"])
    assert got.rc == 1 and "closed the connection" in json.loads(got.stdout)["run"]["status_reason"], got.stderr
    assert re.search(r"may stay on the server at .* begin with kvfall:[0-9a-f]{8}:", got.stderr), got.stderr


@case("llm-d's comparison: the order of all four routings, and how far apart they are")
def _():
    path = SOURCE / "configs/fleet/llm-d-8-pods.yaml"
    published = {"precise": (540, 8730, ()), "estimated": (31100, 6944, ("--set", "fleet.weights.load=40")),
                 "random": (92600, 4429, ()),
                 "least_loaded": (94900, 4266, ("--set", "fleet.load_refresh=1s"))}
    p90 = []
    for routing, (ms, tok_s, options) in published.items():
        got = run(["run", str(path), "--headless", "--db", "none", "--json", "-", "--set", "fleet.routing=" + routing, *options],
                  timeout=300)
        assert got.rc == 0, got
        value = {name: m["value"] for name, m in json.loads(got.stdout)["results"].items()}
        assert ms / 2 <= value["ttft_p90_ms"] <= 2 * ms, (routing, value["ttft_p90_ms"])
        assert 0.75 * tok_s <= value["throughput_tok_s"] <= 1.25 * tok_s, (routing, value["throughput_tok_s"])
        p90.append(value["ttft_p90_ms"])
    assert p90 == sorted(p90), p90


main()
