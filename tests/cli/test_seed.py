#!/usr/bin/env python3
"""The same seed gives the same requests, byte for byte, whatever the timing and the number of workers.

Each source runs on fast tiers with one worker and with four, on slow ones with few slots, on real memory and a
disk, and simulated. What belongs to a request is compared; what happened to it is not. To add a source,
add a row to SOURCES."""
import json
import random

from runs import check_identities, result, start
from tap import case, finish, home, main, scratch

FAST = {"tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.capacity": "64GiB", "tiers.gpu.latency": "0s",
        "tiers.gpu.read_bandwidth": "100TB/s", "tiers.gpu.write_bandwidth": "100TB/s"}
SLOW = {"tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.capacity": "2MiB", "tiers.gpu.latency": "1ms",
        "tiers.gpu.read_bandwidth": "100MB/s", "tiers.gpu.write_bandwidth": "50MB/s", "engine.slots": 3}
WAYS = [("fast, one worker", {**FAST, "engine.workers": 1}), ("fast, four workers", {**FAST, "engine.workers": 4}),
        ("slow, three slots", {**SLOW, "engine.workers": 4}), ("memory and disk", {"tiers.gpu": None}),
        ("simulated", {"mode": "simulate"}), ("simulated, slow, three slots", {**SLOW, "mode": "simulate"})]

# Of a line of the request log; the arrival only where no answer decides it.
OF_A_REQUEST = ("id", "class", "phase", "conversation", "turn", "context_tokens", "generate_tokens")
# Sums of results that say what requests ask for, whatever they then find.
COUNTED = (("prefix_seen",), ("rag_requests", "rag_requests_empty"))
OF_ITS_FATE = ("queue_ms", "ttft_ms", "storage_ms", "generation_ms", "e2e_ms", "hits", "misses", "failed")

CLASSES = [{"name": "first", "share": 1}, {"name": "second", "share": 2}, {"name": "third", "share": 1}]
PEOPLE = {"run.max_requests": 40, "qos.classes": CLASSES, "workload.prefix": {"probability": 0.5, "prompt_tokens": [32, 64]},
          "workload.conversation": {"end_probability": 0.3, "max_turns": 5}}
BLOCKS = {"cache.granularity": "block", "cache.block_tokens": 16}


def trace(name, rows, changes=None):
    """The changes that play this text as the file of a source, all of it within a quarter of a second."""
    path = home() / "work" / (name + ".rows")
    path.write_text("".join(rows))
    return {"workload.source": name, "workload.path": str(path), "workload.personas": None, "workload.users": None,
            "workload.prefix": None, "qos.classes": CLASSES, **(changes or {})}


def mooncake():
    draw, rows = random.Random(5), []
    for row in range(40):
        ids = list(range(row % 7)) + [100 + row]
        rows.append(json.dumps({"timestamp": row * 50, "input_length": 512 * len(ids) - draw.randrange(512),
                                "output_length": draw.randrange(1, 90), "hash_ids": ids}) + "\n")
    return trace("mooncake", rows, {"cache.granularity": "block", "cache.block_tokens": 512,
                                    "workload.arrival": {"speedup": 10}})


def azure():
    draw = random.Random(6)
    rows = ["TIMESTAMP,ContextTokens,GeneratedTokens\n"] + [
        "2023-11-16 18:15:%02d.%07d,%d,%d\n" % (row // 20, row % 20 * 500000, draw.randrange(20, 300), draw.randrange(1, 90))
        for row in range(40)]
    return trace("azure", rows, {"workload.arrival": {"speedup": 10},
                                 "workload.prefix": {"probability": 0.5, "prompt_tokens": [16, 64]}})


def burstgpt(changes=None):
    draw = random.Random(8)
    rows = ["Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"]
    for row in range(40):
        asked, given = draw.randrange(20, 300), draw.randrange(1, 90)
        rows.append("%d,ChatGPT,%d,%d,%d,Conversation log\n" % (row // 2, asked, given, asked + given))
    return trace("burstgpt", rows, {"workload.arrival": {"speedup": 100}, **(changes or {})})


def ops():
    draw = random.Random(7)
    return trace("ops", ["%s,key-%d,%d\n" % (draw.choice(("write", "read")), draw.randrange(9), draw.randrange(1, 300))
                         for _ in range(40)])


def sharegpt(changes=None):
    draw, told = random.Random(9), []
    for number in range(12):
        texts = ["x" * draw.randrange(1, 900) for _ in range(2 * draw.randrange(1, 5))]
        told.append({"id": str(number), "conversations": [
            {"from": "gpt" if turn % 2 else "human", "value": text} for turn, text in enumerate(texts)]})
    return trace("sharegpt", [json.dumps(told)], {"workload.users": 4, "run.max_requests": 20, **(changes or {})})


def io_trace():
    draw, rows = random.Random(10), ["Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"]
    for row in range(40):
        rows.append("%d.%06d,%s,%d,Tier-0,%d,%s\n" % (1700000000 + row // 20, row % 20 * 50000, *draw.choice(
            (("Write", 2048 * draw.randrange(1, 300), draw.randrange(9), "Prefill"),
             ("Read", 2048 * draw.randrange(1, 300), draw.randrange(9), "Decode")))))
    return trace("ops", rows, {"workload.arrival": {"speedup": 10}})


def agentic(changes=None):
    """Three conversations, each request with more of the blocks before, two sub-agents in each."""
    draw, folder = random.Random(11), scratch()

    def request(at, blocks):
        return {"t": at, "type": "n", "in": 64 * blocks - draw.randrange(64), "out": draw.randrange(1, 60),
                "hash_ids": list(range(1, blocks)) + [100 + draw.randrange(50)], "api_time": 0.001, "think_time": 0.002}

    for number in range(3):
        told = [request(at * 0.01, 2 + at) for at in range(6)]
        for at in (3, 5):
            told.insert(at, {"t": at * 0.01, "type": "subagent", "agent_id": "x",
                             "requests": [request(0.001 * sub, 1 + sub) for sub in range(3)]})
        (folder / ("%d.json" % number)).write_text(json.dumps({"id": str(number), "block_size": 64, "requests": told}))
    return {**trace("agentic", [""]), "workload.path": str(folder), "cache.granularity": "block",
            "cache.block_tokens": 64, **(changes or {})}


RETRIEVAL = {"documents": 4, "probability": 0.5, "chunk_tokens": 64, "top_k": 2, "tokens": [100, 500]}

# What it is called, its changes, how many requests it gives, whether arrivals are the same as well.
SOURCES = [
    ("users who wait", lambda: {**PEOPLE}, 40, False),
    ("users who wait, in blocks", lambda: {**PEOPLE, **BLOCKS}, 40, False),
    ("users who do not wait", lambda: {**PEOPLE, "workload.arrival": {"process": "paced"}}, 40, True),
    ("users who only ask", lambda: {**PEOPLE, "workload.phase": "prefill"}, 40, False),
    ("users who only generate", lambda: {**PEOPLE, "workload.phase": "decode", "workload.prefix": None,
                                         "tiers.gpu.capacity": "64MiB", "tiers.nvme.capacity": "64MiB"}, 40, False),
    ("lines of mooncake", mooncake, 40, True),
    ("rows of azure", azure, 40, True),
    ("azure's rows, one after the other", lambda: {**azure(), "workload.arrival": {"process": "closed"},
                                                   "workload.users": 3, "run.max_requests": 30}, 30, False),
    ("rows of burstgpt", burstgpt, 40, True),
    ("rows of burstgpt, played twice", lambda: burstgpt({"workload.arrival": {"speedup": 200, "cycles": 2}}), 80, True),
    ("operations", ops, 40, False),
    ("an I/O trace, one entry after the other", io_trace, 40, False),
    ("an I/O trace at its times", lambda: {**io_trace(), "workload.arrival": {"process": "trace", "speedup": 10}}, 40, True),
    ("conversations of sharegpt", sharegpt, 20, False),
    ("conversations of sharegpt, in blocks, at a rate", lambda: sharegpt({**BLOCKS, "workload.arrival": {
        "process": "poisson", "rate": 200}}), 20, True),
    ("agents and their sub-agents", lambda: agentic({"workload.users": 2}), 36, False),
    ("agents at their times", lambda: agentic({"workload.arrival": {"process": "trace", "cycles": 2}}), 72, True),
    ("users with documents", lambda: {**PEOPLE, "workload.rag": RETRIEVAL}, 40, False),
    ("users whose documents come during the run", lambda: {**PEOPLE, "workload.rag": {
        **RETRIEVAL, "ingest": "during"}}, 40, False),
    ("users at a rate, poisson", lambda: {**PEOPLE, "workload.arrival": {"process": "poisson", "rate": 300}}, 40, True),
    ("users at a rate, gamma, in blocks", lambda: {**PEOPLE, **BLOCKS, "workload.arrival": {
        "process": "gamma", "rate": 300, "cv": 2}}, 40, True),
    ("four at a time", lambda: {**PEOPLE, "workload.arrival": {"process": "poisson", "rate": 300, "batch": 4}}, 40, True),
    ("azure's rows at a rate", lambda: {**azure(), "workload.arrival": {"process": "gamma", "rate": 300, "cv": 0.5}}, 40,
     True),
]


def begun(changes):
    """A run in a folder of its own."""
    folder = scratch()
    return folder, start({"run.duration": "60s", "run.interval": "1s", **changes}, "--request-log", "requests.jsonl",
                         "--json", "summary.json", "--db", "none", cwd=folder)


def requests_of(folder, process, count, arrivals):
    """The requests of a run as text, a line each, in the order of their ids."""
    got = finish(process)
    assert got.rc == 0, got
    summary = json.loads((folder / "summary.json").read_text())
    check_identities(summary)
    # of those who only generate some may find their entry gone
    assert result(summary, "requests_done") + result(summary, "requests_failed") == count, summary["results"]
    lines = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    assert all(set(line) == {*OF_A_REQUEST, "arrival_s", *OF_ITS_FATE} for line in lines), lines[0]
    assert len({line["id"] for line in lines}) == count == len(lines), lines
    fields = OF_A_REQUEST + ("arrival_s",) * arrivals
    counted = ["%s: %d" % (" + ".join(names), sum(summary["results"].get(name, {"value": 0})["value"] for name in names))
               for names in COUNTED]
    return [json.dumps([line[name] for name in fields]) for line in sorted(lines, key=lambda line: line["id"])] + counted


for name, changes_of, count, arrivals in SOURCES:
    @case("same seed, same requests: " + name)
    def _(changes_of=changes_of, count=count, arrivals=arrivals):
        changes = changes_of()
        runs = [begun({**changes, **way}) for _, way in WAYS] + [begun({**changes, **WAYS[0][1], "seed": 43})]
        first, *again, other = [requests_of(*one, count, arrivals) for one in runs]
        for (way, _), got in zip(WAYS[1:], again):
            assert got == first, (way, [pair for pair in zip(first, got) if pair[0] != pair[1]][:5])
        assert other != first


main()
