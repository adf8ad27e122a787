#!/usr/bin/env python3
"""trace: a description against figures worked out here, and what it writes."""
import collections
import json
import os
import random
import re
import struct
import subprocess
import xml.dom.minidom

import runs
from played_events import requests
from tap import KVFALL, case, finish, home, main, run, spawn
from wheels import wheels

BLOCK = 512


def made(requests=400, seed=7):
    """Sessions that share one of two prompts and grow turn by turn, in the order of their times."""
    rng, rows, fresh = random.Random(seed), [], iter(range(100, 10 ** 9))
    prompts = [[1, 2, 3], [4, 5]]
    while len(rows) < requests:
        at, ids, prompt = rng.uniform(0, 3000e3), [], rng.choice(prompts)
        for turn in range(rng.randint(1, 6)):
            new = rng.randint(1, 4)
            ids = ids + [next(fresh) for _ in range(new)]
            whole = prompt + ids
            rows.append({"timestamp": int(at), "input_length": len(whole) * BLOCK, "output_length": rng.randint(1, 300),
                         "hash_ids": whole, "session_id": "s%d" % (ids[0])})
            at += rng.uniform(1e3, 90e3)
    rows = sorted(rows, key=lambda row: row["timestamp"])
    return [{**row, "timestamp": row["timestamp"] - rows[0]["timestamp"]} for row in rows]


def written(rows, name="made.jsonl"):
    path = home() / "work" / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def described(*args):
    got = run(["trace", *args, "--json", "-"])
    assert got.rc == 0, got
    return json.loads(got.stdout)


def lru(rows, blocks):
    """Misses over lookups: found is what has all blocks before it; the first blocks are the most recent."""
    held, lookups, misses = collections.OrderedDict(), 0, 0
    for row in rows:
        ids, found = row["hash_ids"], 0
        while found < len(ids) and ids[found] in held:
            found += 1
        lookups, misses = lookups + len(ids), misses + len(ids) - found
        for block in reversed(ids):
            held.pop(block, None)
            held[block] = True
        while len(held) > blocks:
            held.popitem(last=False)
    return misses / lookups


@case("counts, lengths, sessions and arrivals are those of the rows")
def _():
    rows = made()
    said = described(written(rows))
    sessions = collections.Counter(row["session_id"] for row in rows)
    assert (said["requests"], said["rejected"], said["source"]) == (len(rows), 0, "mooncake"), said
    assert said["input_tokens"] == sum(row["input_length"] for row in rows)
    assert said["output_tokens"] == sum(row["output_length"] for row in rows)
    assert said["input"]["max"] == max(row["input_length"] for row in rows)
    assert said["sessions"] == len(sessions) and said["turns"]["max"] == max(sessions.values())
    last, pauses = {}, []
    for row in rows:
        if row["session_id"] in last:
            pauses.append((row["timestamp"] - last[row["session_id"]]) / 1000)
        last[row["session_id"]] = row["timestamp"]
    pause = said["between_turns_s"]
    assert pause["count"] == len(pauses) and abs(pause["mean"] / (sum(pauses) / len(pauses)) - 1) < 1e-6, (pause, pauses)
    assert abs(pause["p50"] / sorted(pauses)[(len(pauses) - 1) // 2] - 1) < 0.02 and abs(pause["max"] / max(pauses) - 1) < 0.01, pause
    assert abs(said["span_s"] - rows[-1]["timestamp"] / 1000) < 1e-6
    counts = collections.Counter(row["timestamp"] // 60000 for row in rows)
    whole = [counts[window] for window in range(rows[-1]["timestamp"] // 60000)]
    mean = sum(whole) / len(whole)
    variance = sum((count - mean) ** 2 for count in whole) / (len(whole) - 1)
    minute = next(scale for scale in said["arrivals"]["scales"] if scale["window_s"] == 60)
    assert abs(minute["dispersion"] - variance / mean) < 1e-9, (minute, variance / mean)
    assert minute["busiest"] == max(counts.values())
    assert sum(said["arrivals"]["requests"]) == len(rows)


@case("sharing and the tree of blocks are those of the rows")
def _():
    rows, known, shared, children = made(), set(), 0, collections.defaultdict(set)
    for row in rows:
        found = 0
        while found < len(row["hash_ids"]) and row["hash_ids"][found] in known:
            found += 1
        shared += found
        known.update(row["hash_ids"])
        for parent, child in zip(row["hash_ids"], row["hash_ids"][1:]):
            children[parent].add(child)
    said = described(written(rows))["sharing"]
    assert abs(said["seen_ratio"] - shared * BLOCK / sum(row["input_length"] for row in rows)) < 1e-12, said
    assert said["blocks"] == len(known) and said["most_children"] == max(map(len, children.values())), said
    deepest = [len(row["hash_ids"]) for row in rows]
    assert (said["depth"]["max"], said["depth"]["mean"]) == (max(deepest), sum(deepest) / len(deepest)), said
    assert abs(said["seen_blocks"]["mean"] - shared / len(rows)) < 1e-9, said
    branches = sum(len(of) > 1 for of in children.values())
    assert abs(said["branch_ratio"] - branches / len(children)) < 1e-12, (said, branches, len(children))


@case("miss ratios of lru are those of a cache worked out block by block, and no policy is below belady")
def _():
    rows = made()
    said = described(written(rows), "--policies", "arc,2q,belady")["reuse"]
    block_bytes = 2 * 32 * 8 * 128 * 2 * BLOCK
    assert said["sample"] == 1
    for capacity, ratio in zip(said["capacity_bytes"], said["miss_ratio"]["lru"]):
        exact = [lru(rows, int(capacity * factor / block_bytes)) for factor in (0.9, 1.1)]
        assert exact[1] - 1e-9 <= ratio <= exact[0] + 1e-9, (capacity, ratio, exact)
    for name, ratios in said["miss_ratio"].items():
        assert all(ours >= best - 0.01 for ours, best in zip(ratios, said["miss_ratio"]["belady"])), (name, said)
    known, reused, seen = set(), 1 - lru(rows, 10 ** 9), []
    for part, within in zip(said["distance_part"], said["distance_bytes"]):
        least, most = ((1 - lru(rows, int(within * factor / block_bytes))) / reused for factor in (0.9, 1.1))
        assert least - 0.01 <= part <= most, (part, within, least, most)
    assert abs(said["reused_ratio"] - reused) < 1e-9, (said, reused)
    for end in said["part_end_s"]:
        known.update(block for row in rows if row["timestamp"] / 1000 < end for block in row["hash_ids"])
        seen.append(len(known) * block_bytes)
    assert all(abs(one / exact - 1) < 0.01 for one, exact in zip(said["working_set_bytes"], seen)) and len(seen) == 48, (said, seen)
    distinct = len({block for row in rows for block in row["hash_ids"]})
    assert abs(said["working_set_bytes"][-1] - distinct * block_bytes) < 1, said


@case("what is written is the same trace under other names")
def _():
    rows = made()
    path, out = written(rows), home() / "work/out.jsonl"
    got = run(["trace", path, "-o", out])
    assert got.rc == 0 and "%d requests" % len(rows) in got.stdout, got
    again = [json.loads(line) for line in out.read_text().splitlines()]
    names = {}
    for row, other in zip(rows, again):
        assert (row["timestamp"], row["input_length"], row["output_length"]) == (
            other["timestamp"], other["input_length"], other["output_length"])
        assert other["hash_ids"] == [names.setdefault(block, len(names)) for block in row["hash_ids"]]
    first, second = described(path), described(out)
    assert {**first, "trace": 0} == {**second, "trace": 0}
    runs.refused(["trace", path, "-o", out], "is there already", "--overwrite")


@case("sessions of a trace that names none are told from its blocks")
def _():
    rows = made()
    bare = [{key: value for key, value in row.items() if key != "session_id"} for row in rows]
    for row in bare: # a next turn holds the answer too
        row["output_length"] = 1
    said = described(written(bare))
    assert said["sessions"] == len({row["session_id"] for row in rows}), said["sessions"]


@case("a part of the time and a part of the sessions")
def _():
    rows = made(2000)
    path, out = written(rows), home() / "work/part.jsonl"
    run(["trace", path, "--cut", "0:10..0:20", "-o", out])
    inside = [row for row in rows if 600e3 <= row["timestamp"] < 1200e3]
    again = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["timestamp"] + inside[0]["timestamp"] for row in again] == [row["timestamp"] for row in inside]
    assert described(path, "--cut", "10m..20m")["requests"] == len(inside)
    half = described(path, "--sample", "0.5")
    turns = described(path)["turns"]["mean"]
    assert 0.4 < half["requests"] / len(rows) < 0.6 and abs(half["turns"]["mean"] / turns - 1) < 0.1, half
    for args in (["--cut", "10"], ["--cut", "5m..4m"], ["--cut", "..0:61"], ["--sample", "0"], ["--sample", "x"],
                 ["--policies", "no"], ["--report", "x.pdf"], ["--format", "no", "-o", out, "--overwrite"]):
        runs.refused(["trace", path, *args], args[0] if args[0] != "--report" else "x.pdf")
    runs.refused(["trace"], "needs a file")
    runs.refused(["trace", path, "--cut", "9:00..10:00"], "no request is left")


@case("joined files follow each other and share nothing")
def _():
    path = written(made())
    one, two = described(path), described(path, path)
    assert two["requests"] == 2 * one["requests"] and two["sessions"] == 2 * one["sessions"]
    assert two["sharing"]["blocks"] == 2 * one["sharing"]["blocks"]
    assert abs(two["sharing"]["seen_ratio"] - one["sharing"]["seen_ratio"]) < 1e-12
    assert two["span_s"] > 2 * one["span_s"]


def own_misses(rows, blocks, common):
    """Misses over lookups of the blocks that are nobody else's, in a cache of all."""
    held, lookups, misses = collections.OrderedDict(), 0, 0
    for row in rows:
        found = 0
        while found < len(row["hash_ids"]) and row["hash_ids"][found] in held:
            found += 1
        own = [block not in common for block in row["hash_ids"]]
        lookups, misses = lookups + sum(own), misses + sum(own[found:])
        for block in reversed(row["hash_ids"]):
            held.pop(block, None)
            held[block] = True
        while len(held) > blocks:
            held.popitem(last=False)
    return misses / lookups


def shared(rows):
    """Blocks that a hundredth of the sessions have, and two at least."""
    having = collections.defaultdict(set)
    for row in rows:
        for block in row["hash_ids"]:
            having[block].add(row["session_id"])
    least = max(2, -(-len({row["session_id"] for row in rows}) // 100))
    return {block for block, sessions in having.items() if len(sessions) >= least}


@case("ten times the users: common blocks stay common, and ten times the room hits as often")
def _():
    rows = made(1200)
    path, out = written(rows), home() / "work/tenfold.jsonl"
    assert run(["trace", path, "--users", "10x", "-o", out]).rc == 0
    tenfold = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(tenfold) == 10 * len(rows)
    assert len({row["session_id"] for row in tenfold}) == 10 * len({row["session_id"] for row in rows})
    assert [row["timestamp"] for row in tenfold] == sorted(row["timestamp"] for row in tenfold)
    assert tenfold[-1]["timestamp"] - rows[-1]["timestamp"] <= rows[-1]["timestamp"] / 100 + 1
    common, still = shared(rows), shared(tenfold)
    assert len(common) == 5 == len(still), (common, still)
    distinct = len({block for row in rows for block in row["hash_ids"]})
    assert len({block for row in tenfold for block in row["hash_ids"]}) == 10 * (distinct - 5) + 5
    for blocks in (20, 60, 150, 400, 1000):
        one, ten = own_misses(rows, blocks, common), own_misses(tenfold, 10 * blocks, still)
        assert abs(one - ten) < 0.03, (blocks, one, ten)
    assert 0.2 < own_misses(rows, 1000, common) < own_misses(rows, 60, common) - 0.1


@case("a part more and a part less of the users, and a run that scales as the file does")
def _():
    rows, out = made(1200), home() / "work/scaled.jsonl"
    path, sessions = written(rows), len({row["session_id"] for row in rows})
    for times in (0.25, 2.5):
        assert run(["trace", path, "--users", times, "-o", out, "--overwrite"]).rc == 0
        got = len({json.loads(line)["session_id"] for line in out.read_text().splitlines()})
        assert abs(got / sessions - times) < 0.15, (times, got, sessions)
    hits = []
    for trace, scale in ((path, 2.5), (out, 1)):
        _, summary = runs.measure({"model": "tiny-1b", "mode": "simulate", "cache": {"granularity": "block"},
                                   "tiers": {"gpu": {"capacity": "512MiB"}, "cpu": {"capacity": "1GiB"}},
                                   "run": {"duration": "2h", "warmup": "0s"},
                                   "workload": {"source": "mooncake", "path": str(trace), "scale": scale}}, "--db", "none")
        hits.append([runs.result(summary, name) for name in ("requests_done", "lookups", "gpu_hits", "cpu_hits", "misses")])
    assert hits[0] == hits[1] and hits[0][2] > 0 < hits[0][4], hits
    (home() / "work/azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
                                           "2023-11-16 18:15:50.9951690,396,109")
    assert described(home() / "work/azure.csv", "--users", "3x")["input_tokens"] == 3 * (374 + 396)
    for wrong in ("0", "x", "10y", "-1", "1001"):
        runs.refused(["trace", path, "--users", wrong], "--users")
    runs.refused(["trace", path, "--users", "0.00001"], "no session", "is left")
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,a,100\n")
    runs.refused(["trace", home() / "work/ops.csv", "--users", "2"], "workload.scale", "ops")


@case("synthetic users that were fitted ask at the rate of the trace and hit as often")
def _():
    path, out = runs.trace("mooncake/conversation_trace.jsonl"), home() / "work/alike.yaml"
    got = run(["trace", path, "--fit-personas", "-o", out])
    assert got.rc == 0 and "alike.yaml" in got.stdout, got
    text = out.read_text()
    distance = {name: float(value) for name, value in re.findall(r"^#   (\S.*\S)  +(0\.\d+)$", text, re.M)}
    assert len(distance) == 5 and max(distance.values()) < 0.3 and distance["new tokens of a turn"] < 0.1, text
    rate, ours, points = map(float, re.search(r"Requests/s: (\S+) in the trace, (\S+) here.*at most (\S+) points", text).groups())
    assert abs(ours / rate - 1) < 0.05 and points <= 5, text
    # and so in a run: its hits are those of the trace's whole blocks in the same room
    room = int(re.search(r"cpu: \{capacity: (\d+)MiB\}", text).group(1))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    exact = lru([{"hash_ids": row["hash_ids"][:row["input_length"] // BLOCK]} for row in rows], int(room * 0.8) // 64)
    assert run(["run", "--headless", "--quiet", out, "--db", "none", "--json", "summary.json"]).rc == 0
    summary = json.loads((home() / "work/summary.json").read_text())
    value = {name: runs.result(summary, name) for name in ("lookups", "misses", "requests_done")}
    assert abs(value["misses"] / value["lookups"] - exact) < 0.08, (value, exact)
    assert abs(value["requests_done"] / len(rows) - 1) < 0.08, value
    (home() / "work/azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n")
    runs.refused(["trace", home() / "work/azure.csv", "--fit-personas"], "--fit-personas needs")
    # a block that several come before takes no more sessions from them than they have
    (home() / "work/woven.jsonl").write_text("".join(json.dumps(
        {"timestamp": i, "input_length": 1536, "output_length": 10, "hash_ids": [i, i + 1, i + 2]}) + "\n" for i in range(3)))
    assert run(["trace", home() / "work/woven.jsonl", "--fit-personas", "-o", out, "--overwrite"]).rc == 0
    assert all(float(part) <= 1 for part in re.findall(r"probability: ([0-9.e+]+)", out.read_text())), out.read_text()


@case("accesses for cache simulators name the next access to each block")
def _():
    rows = made()
    path, binary, table = written(rows), home() / "work/a.oracleGeneral", home() / "work/a.csv"
    assert run(["trace", path, "-o", binary, "--format", "oracleGeneral"]).rc == 0
    assert run(["trace", path, "-o", table, "--format", "csv"]).rc == 0
    got = list(struct.iter_unpack("<IQIq", binary.read_bytes()))
    accesses = [(row["timestamp"], block) for row in rows for block in row["hash_ids"]]
    names, following, after = {}, [], {}
    for _, block in accesses:
        names.setdefault(block, len(names))
    for number in range(len(accesses), 0, -1):
        following.append(after.get(accesses[number - 1][1], -1))
        after[accesses[number - 1][1]] = number
    wanted = [(at // 1000, names[block], 64 << 20, then) for (at, block), then in zip(accesses, reversed(following))]
    assert got == wanted, next(pair for pair in zip(got, wanted) if pair[0] != pair[1])
    lines = table.read_text().splitlines()
    assert lines[0] == "time_s,obj_id,obj_size" and len(lines) == len(wanted) + 1
    assert lines[-1].split(",")[1:] == [str(wanted[-1][1]), str(64 << 20)]


SIMULATOR = """
import json, sys, libcachesim as sim
binary, table, blocks, block_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
columns, alike = sim.ReaderInitParam(), sim.ReaderInitParam()
columns.ignore_obj_size = alike.ignore_obj_size = True
columns.has_header = columns.has_header_set = columns.obj_id_is_num = columns.obj_id_is_num_set = True
columns.delimiter, columns.time_field, columns.obj_id_field, columns.obj_size_field = ",", 1, 2, 3
for name, kind in (("lru", sim.LRU), ("arc", sim.ARC), ("2q", sim.TwoQ)):
    for form, reader in (("binary", sim.TraceReader(binary, sim.TraceType.ORACLE_GENERAL_TRACE, alike)),
                         ("csv", sim.TraceReader(table, sim.TraceType.CSV_TRACE, columns)),
                         ("bytes", sim.TraceReader(binary, sim.TraceType.ORACLE_GENERAL_TRACE))):
        print(json.dumps([name, form, kind(blocks * (block_bytes if form == "bytes" else 1)).process_trace(reader)[0]]))
"""


@case("memory is bounded, whatever the size of the file")
def _():
    path, thousands, most = home() / "work/long.jsonl", 1000, 160
    if os.environ.get("KVF_TESTS_LONG"):
        thousands, most = 60000, 400
    with open(path, "w") as out:  # no block comes twice
        for row in range(thousands):
            out.write('{"timestamp": %d, "input_length": 512000, "output_length": 1, "hash_ids": [%s]}\n' % (
                row, ", ".join(map(str, range(1000 * row, 1000 * row + 1000)))))
    told = subprocess.Popen([KVFALL, "trace", str(path), "--policies", "2q", "--json", str(home() / "work/long.json")],
                            stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(told.pid, 0)
    told.returncode = os.waitstatus_to_exitcode(status)
    said = json.loads((home() / "work/long.json").read_text())
    assert told.returncode == 0 and said["requests"] == thousands and said["reuse"]["sample"] < 0.2, (status, said["reuse"])
    assert used.ru_maxrss < most * 1024, used.ru_maxrss


@case("libCacheSim reads both forms of a recorded trace, and misses as often under lru, arc and 2q")
def _():
    python, work = wheels("libcachesim==0.3.5") / "bin/python", home() / "work"
    (work / "log.jsonl").write_text("".join(json.dumps({"created": one["at"], "prompt_token_ids": one["tokens"]}) + "\n"
                                            for one in requests(1500)))
    assert run(["record", "log.jsonl", "-o", "recorded.jsonl", "--block-tokens", "16"]).rc == 0
    for form in ("oracleGeneral", "csv"):
        assert run(["trace", "recorded.jsonl", "--model", "tiny-1b", "--format", form, "-o", form]).rc == 0
    accesses = [line.split(",") for line in (work / "csv").read_text().splitlines()[1:]]
    # one access after the other, as the simulator has them: a run looks up a whole request before it stores any of it
    (work / "one.jsonl").write_text("".join(json.dumps({"timestamp": number, "input_length": 16, "output_length": 1, "hash_ids": [
        int(block)], "block_size": 16}) + "\n" for number, (_, block, _) in enumerate(accesses)))
    fast = {"read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}
    for blocks in (300, 2000):
        got = finish(spawn(["-c", SIMULATOR, "oracleGeneral", "csv", blocks, accesses[0][2]], program=python))
        assert got.rc == 0, got
        theirs = {(name, form): ratio for name, form, ratio in map(json.loads, got.stdout.splitlines())}
        assert len(theirs) == 9, got
        for policy in ("lru", "arc", "2q"):
            _, summary = runs.measure({
                "model": "tiny-1b", "mode": "simulate", "run": {"duration": "24h", "warmup": "0s", "interval": "1h"},
                "tiers": {"cpu": {"blocks": blocks, **fast}}, "engine": {"slots": 1},
                "cache": {"granularity": "block", "block_tokens": 16, "headroom": 0, "eviction": policy},
                "workload": {"source": "mooncake", "path": "one.jsonl", "arrival": {"speedup": 0}}}, "--db", "none")
            ours = runs.result(summary, "misses") / runs.result(summary, "lookups")
            assert runs.result(summary, "lookups") == len(accesses) and 0.05 < ours < 0.95, (policy, ours)
            assert abs(ours - theirs[policy, "binary"]) < 1e-12 > abs(ours - theirs[policy, "csv"]), (policy, blocks, ours, theirs)
            # its ARC moves the target of T1 by bytes, one or a little more, whatever the size of an object
            assert (abs(ours - theirs[policy, "bytes"]) < 1e-12) == (policy != "arc"), (policy, blocks, ours, theirs)


@case("every kind of file is known by its first line, and says what it can")
def _():
    work = home() / "work"
    (work / "azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
                                    "2023-11-16 18:15:50.9951690,396,109")
    (work / "burst.csv").write_text("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                    "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,9,0,9,Conversation log\n"
                                    "118,GPT-4,276,23,299,Conversation log\n")
    (work / "ops.csv").write_text("op,key,tokens\nwrite,a,100\nread,a,100\n")
    (work / "share.json").write_text('[{"id": "x", "conversations": [{"from": "human", "value": "hello there"},'
                                     '{"from": "gpt", "value": "hi"}]}]')
    (work / "qwen.jsonl").write_text('{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 20, '
                                     '"output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089, 1090]}\n')
    for name, source, count in (("azure.csv", "azure", 2), ("burst.csv", "burstgpt", 2), ("ops.csv", "ops", 2),
                                ("share.json", "sharegpt", 1), ("qwen.jsonl", "bailian", 1)):
        said = described(work / name)
        assert (said["source"], said["requests"]) == (source, count), said
        assert run(["trace", work / name]).rc == 0
    (work / "no.txt").write_text("hello\n")
    runs.refused(["trace", work / "no.txt"], "--source")
    runs.refused(["trace", work / "missing"], "missing")
    runs.refused(["trace", work / "azure.csv", "-o", work / "x"], "names no blocks")
    runs.refused(["trace", work / "azure.csv", "--source", "mooncake"], "no usable row")


@case("pages and text say the same, and a page is well-formed")
def _():
    path, page = written(made()), home() / "work/page.html"
    text = run(["trace", path, "--ascii"])
    assert text.rc == 0 and text.stdout.isascii(), text
    for word in ("Requests", "mooncake", "turns of a session", "dispersion", "Branches", "s3fifo", "working set over time"):
        assert word in text.stdout, (word, text.stdout)
    assert run(["trace", path, "--report", page]).rc == 0
    whole = page.read_text()
    xml.dom.minidom.parseString(whole)
    assert "Prefix sharing" in whole and "miss ratio over capacity" in whole


@case("a trace is not written over what is read, by whatever name")
def _():
    path = written(made(20), "self.jsonl")
    before, link, other = path.read_bytes(), path.with_name("link.jsonl"), path.with_name("none.html")
    link.unlink(missing_ok=True)
    link.symlink_to(path.name)
    for args in (["--users", "2x", "-o", path], ["-o", link], ["--json", path], ["-o", other, "--report", "./" + other.name]):
        got = run(["trace", path, "--overwrite", *args], cwd=path.parent)
        assert got.rc == 2 and "name" in got.stderr and path.read_bytes() == before and not other.exists(), (args, got)


@case("a full disk is named with its reason")
def _():
    got = run(["trace", written(made(), "full.jsonl"), "-o", "/dev/full"])
    assert got.rc == 1 and "/dev/full: No space left" in got.stderr, got


@case("sessions of two files without names are strangers")
def _():
    rows, out = [{key: value for key, value in row.items() if key != "session_id"} for row in made(60)], home() / "work/two.jsonl"
    one, other = written(rows, "one.jsonl"), written([{**row, "hash_ids": [7 * 10 ** 6 + i for i in row["hash_ids"]]} for row in rows], "other.jsonl")
    alone = described(one)["sessions"]
    assert described(one, other)["sessions"] == 2 * alone
    assert run(["trace", one, other, "-o", out, "--overwrite"]).rc == 0
    assert len({json.loads(line)["session_id"] for line in out.read_text().splitlines()}) == 2 * alone


@case("the published conversation trace has its totals")
def _():
    said = described(runs.published("mooncake/conversation_trace.jsonl"))
    assert (said["requests"], said["input_tokens"], said["output_tokens"]) == (12031, 144793823, 4122048), said


@case("a conversation trace of full length: lru is within the error of the sample")
def _():
    path = runs.trace("mooncake/conversation_trace.jsonl")
    said = described(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    reuse = said["reuse"]
    assert reuse["sample"] < 1
    for i in (2, 5, 7):
        exact = lru(rows, int(reuse["capacity_bytes"][i] / (64 << 20)))
        assert abs(reuse["miss_ratio"]["lru"][i] - exact) < 4 * reuse["error"][i] + 0.01, (i, reuse, exact)


main()
