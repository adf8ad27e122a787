#!/usr/bin/env python3
"""Runs on traces: every row is emitted or rejected for a reason, and an unusable file is refused."""
import csv
import hashlib
import io
import json
import pathlib
import re

from runs import check_identities, healthy, last_run, measure, refused, result, rows, trace, unwrapped, write
from tap import case, home, main, run

# One tier that keeps no bytes and takes no time, one worker and one slot: requests follow each other
# in the order of the file, and what is a hit can be told from the file alone.
MODEL = {"tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.capacity": "64GiB", "tiers.gpu.latency": "0s",
         "tiers.gpu.read_bandwidth": "100TB/s", "tiers.gpu.write_bandwidth": "100TB/s",
         "engine.workers": 1, "engine.slots": 1, "run.duration": "60s", "workload.arrival": {"speedup": 0}}
BLOCKS = {"cache.granularity": "block", "cache.block_tokens": 512}
SMALL_BLOCKS = {**BLOCKS, "cache.block_tokens": 16}
GOOD = {
    "mooncake": '{"timestamp": %d, "input_length": 600, "output_length": 4, "hash_ids": [1, %d]}\n',
    "bailian": '{"chat_id": 7, "parent_chat_id": -1, "timestamp": 6%d.114, "input_length": 20, "output_length": 4, '
               '"type": "text", "turn": 1, "hash_ids": [1, %d]}\n',
    "azure": "2023-11-16 18:00:%02d.5000000,60%d,4\n",
    "ops": "write,%d-%d,60\n",
}


def source(name, text, changes=None):
    """A scenario's changes for a trace of this text."""
    path = home() / "work" / (name + ".trace")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"workload.source": name, "workload.path": path.name, **{"mooncake": BLOCKS, "bailian": SMALL_BLOCKS}.get(name, {}),
            "workload.personas": None, "workload.users": None, "workload.prefix": {"probability": 0},
            "run.duration": "60s", **(changes or {})}


def good(name, count):
    return "".join(GOOD[name] % (number, number + 2) for number in range(count))


def block_row(at, tokens, ids, generate=3):
    return json.dumps({"timestamp": at, "input_length": tokens, "output_length": generate, "hash_ids": list(ids)}) + "\n"


def rejected(summary):
    prefix = "rows_rejected_"
    return {name[len(prefix):]: one["value"] for name, one in summary["results"].items() if name.startswith(prefix) and name != prefix + "ratio"}


def reconciled(got, summary, read, emitted):
    """The totals of rows agree with each other, with the requests, with the text and with the database."""
    assert result(summary, "rows_read") == read, rejected(summary)
    assert result(summary, "rows_emitted") == emitted == result(summary, "requests_arrived"), summary["results"]
    # a context that no tier can hold is refused
    assert result(summary, "requests_done") + result(summary, "requests_refused") == emitted, summary["results"]
    assert result(summary, "rows_rejected") == read - emitted == sum(rejected(summary).values()), rejected(summary)
    shown = re.search(r"^Trace rows +(\S+) read = (\S+) emitted \+ (\S+) rejected", got.stdout, re.MULTILINE)
    assert [int(count.replace(",", "")) for count in shown.groups()] == [read, emitted, read - emitted], got
    path = pathlib.Path(summary["run"]["trace"]["path"])
    assert path.is_absolute(), "which holds where the run is repeated"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert summary["run"]["trace"]["sha256"] == digest and "sha256 " + digest[:12] in got.stdout, got
    told = [event["message"] for event in summary["events"] if "rejected" in event["message"]]
    assert len(told) == (read > emitted), summary["events"]
    return told


# Rows. --------------------------------------------------------------------------------------------


BAD = {
    "mooncake": [
        ('{"timestamp": 1, "input_length": -5, "output_length": 1, "hash_ids": [1]}\n', "negative"),
        ('{"timestamp": -1, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "negative"),
        ('{"timestamp": 1, "input_length": 99999999999999999999999, "output_length": 1, "hash_ids": [1]}\n', "absurd"),
        ('{"timestamp": 99999999999999, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "absurd"),
        ('{"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1]}\n', "id_count"),
        ('{"timestamp": 1, "input_length": 512, "output_length": 1, "hash_ids": [1, 2]}\n', "id_count"),
        ('{"timestamp": 1, "input_length": 0, "output_length": 1, "hash_ids": []}\n', "empty"),
        ('{"timestamp": 1, "input_length": "5", "output_length": 1, "hash_ids": [1]}\n', "malformed"),
        ('{"timestamp": 1, "output_length": 1, "hash_ids": [1]}\n', "malformed"),
        ('[1, 2, 3]\n', "malformed"),
        ("not JSON at all\n", "malformed"),
        ('{"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [1]}\0\n', "malformed"),
        ("\x7f\x01\x02\n", "malformed"),
    ],
    "bailian": [
        ('{"timestamp": 61.1, "input_length": -5, "output_length": 1, "hash_ids": [1]}\n', "negative"),
        ('{"timestamp": -0.1, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "negative"),
        ('{"timestamp": 8589934593.0, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "absurd"),
        ('{"timestamp": 61.1, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}\n', "id_count"),
        ('{"timestamp": 61.1, "input_length": 0, "output_length": 1, "hash_ids": []}\n', "empty"),
        ('{"timestamp": 6.1e1, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "malformed"),
        ('{"chat_id": 7, "input_length": 5, "output_length": 1, "hash_ids": [1]}\n', "malformed"),
    ],
    "azure": [
        ("2023-11-16 18:00:01.5000000,-5,1\n", "negative"),
        ("2023-11-16 18:00:01.5000000,5,-1\n", "negative"),
        ("2023-11-16 18:00:01.5000000,9999999999999999999999,1\n", "absurd"),
        ("9023-11-16 18:00:01.5000000,5,1\n", "absurd"),
        ("2023-11-16 18:00:01.5000000,0,1\n", "empty"),
        ("2023-02-30 18:00:01.5000000,5,1\n", "malformed"),
        ("2023-11-16 18:00:01.5000000,5\n", "malformed"),
        ("2023-11-16 18:00:01.5000000,5,1,7\n", "malformed"),
        ("yesterday,5,1\n", "malformed"),
        ("2023-11-16 18:00:01.5000000,1e3,1\n", "malformed"),
    ],
    "ops": [
        ("write,a,-5\n", "negative"), ("write,a,99999999999999999999\n", "absurd"), ("write,a,0\n", "empty"),
        ("erase,a,5\n", "key"), ("write,,5\n", "key"), ("write,%s,5\n" % ("k" * 48), "key"), ("write,a b,5\n", "key"),
        ("write,a\n", "malformed"), ("write,a,5,6\n", "malformed"), ("write,a,many\n", "malformed"),
    ],
}


def counts_bad(name):
    text, expected = good(name, 3), {}
    for line, reason in BAD[name]:
        text += line
        expected[reason] = expected.get(reason, 0) + 1
    text += "\n   \n" + good(name, 2)  # blank lines are no rows
    got, summary = measure(source(name, text, {"workload.arrival": {"speedup": 0}}))
    told = reconciled(got, summary, read=5 + len(BAD[name]), emitted=5)
    assert rejected(summary) == expected, (rejected(summary), expected)
    assert "%d of %d rows" % (len(BAD[name]), 5 + len(BAD[name])) in told[0] and "line 4:" in told[0], told
    assert "Warning" in got.stdout and summary["run"]["status"] == "completed", got
    stored = {row["metric"]: row["value"] for row in rows("SELECT metric, value FROM results WHERE metric LIKE 'rows_%'")}
    assert stored["rows_read"] == 5 + len(BAD[name]) and stored["rows_rejected"] == len(BAD[name]), stored
    assert last_run()["trace_sha256"] == summary["run"]["trace"]["sha256"] and healthy()


@case("a run without many rows of its file is not comparable, fails a criterion and says how to have them read")
def _():
    ids = list(range(4))
    usable, odd, empty = block_row(0, 2040, ids), block_row(0, 2000, ids[:1]), block_row(0, 0, [])
    malformed = usable.replace("2040", '"x"')
    for text, block, ratio, remedy in ((usable * 19 + odd, 512, 0.05, "most as id_count"), (usable * 20 + odd, 512, None, ""),
                                       (usable * 10 + empty * 10 + odd, 512, 1 / 11, "cache.block_tokens to the block size"), (usable * 5 + empty * 20, 512, None, ""),
                                       ((block_row(0, 1990, ids) + block_row(0, 2048, ids)) * 10, 510, 0.5, "cache.block_tokens to the block size"),
                                       (usable + malformed * 2, 512, 2 / 3, "workload.source")):
        got, summary = measure(source("mooncake", text, {**MODEL, "cache.block_tokens": block}))
        found = summary["results"].get("rows_rejected_ratio", {}).get("value")
        said = [one for one in summary["verdict"]["warnings"] if "rows of the file" in one]
        failed = [one["metric"] for one in summary["criteria"] if one["metric"] == "rows_rejected_ratio" and one["passed"] is False]
        assert (found is None) == (ratio is None) and (ratio is None or abs(found - ratio) < 1e-9), (ratio, block, found)
        assert len(said) == len(failed) == (ratio is not None) and (not said or remedy in said[0]), (said, failed)
        assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1") == [{"comparable": int(ratio is None)}]
        why = "throughput not comparable: many rows of its file were rejected"
        assert (why in run(["export", "latest", "--format", "mlperf"]).stdout) == (ratio is not None)


@case("a point that rejects rows of its file is never best, and compare claims no gain for it")
def _():
    text = "".join(block_row(20 * n, 2044 if n % 2 else 1990, range(4 * (n % 50), 4 * (n % 50) + 4)) for n in range(400))
    changes = {**source("mooncake", text, {"workload.arrival": {"speedup": 1}}), "run.duration": "5s",
               "sweep": {"keys": {"cache.block_tokens": [512, 510]}, "metrics": "e2e_p95_ms"}}
    out = unwrapped(run(["sweep", write(changes)]))
    assert "at cache.block_tokens=512" in out and "1 of 2 points replayed the file without many of its rows" in out, out
    block = {json.loads(run(["show", str(n), "--json"]).stdout)["run"]["configuration"]["cache"]["block_tokens"]: str(n) for n in (1, 2)}
    whole, half = block[512], block[510]
    got = run(["compare", whole, half, "--fail-over", "1"])
    assert got.rc == 3 and "without many of its rows" in unwrapped(got) and " is better than" not in unwrapped(got), got


def cut_short(name):
    whole = good(name, 4)
    last = whole.splitlines()[-1]
    text = whole[:len(whole) - len(last) // 2 - 1]
    got, summary = measure(source(name, text, {"workload.arrival": {"speedup": 0}}), "--db", "none")
    told = reconciled(got, summary, read=4, emitted=3)
    assert "line 4:" in told[0], told


def unusable(name):
    path = home() / "work" / (name + ".trace")
    write(source(name, ""))
    args = ["run", "--headless", "small.yaml"]
    refused(args, path.name, "no rows")
    for content, word in ((b"\n\n  \n", "no rows"), (bytes(range(256)) * 300, "no usable row"),
                          (b"\x28\xb5\x2f\xfd" + b"\0" * 5000, "no usable row"), (b"what is this?\n" * 50, "no usable row"),
                          (b"x" * 200000, "no usable row"), (BAD[name][0][0].encode(), "no usable row")):
        path.write_bytes(content)
        refused(args, path.name, word, "workload.path")
    path.unlink()
    refused(args, path.name, "No such file")
    path.mkdir()
    refused(args, path.name)
    refused([*args, "--set", "workload.path=null"], "workload.path")
    refused([*args, "--dataset", "/dev/null"], "/dev/null")


for _name in GOOD:
    case("%s: rows that cannot be used are counted by reason and shown" % _name)(lambda name=_name: counts_bad(name))
    case("%s: a file cut in mid-line loses its last row" % _name)(lambda name=_name: cut_short(name))
    case("%s: a file that is missing, empty, binary or of another kind is refused" % _name)(
        lambda name=_name: unusable(name))


@case("a file of another source is refused with the first reason")
def _():
    write(source("azure", good("mooncake", 3)))
    refused(["run", "--headless", "small.yaml"], "azure.trace", "line 1", "workload.source")
    write(source("mooncake", good("azure", 3)))
    refused(["run", "--headless", "small.yaml"], "mooncake.trace", "line 1", "workload.source")
    write(source("mooncake", good("mooncake", 3), {"cache.granularity": "request"}))
    refused(["run", "--headless", "small.yaml"], "cache.granularity")
    write(source("mooncake", good("mooncake", 3), {"cache.block_tokens": 64}))
    refused(["run", "--headless", "small.yaml"], "cache.block_tokens")


@case("a last line without its newline is a row, and so is one with CRLF")
def _():
    for name in GOOD:
        text = good(name, 3).replace("\n", "\r\n")[:-2]
        got, summary = measure(source(name, text, {"workload.arrival": {"speedup": 0}}), "--db", "none")
        reconciled(got, summary, read=3, emitted=3)


# What requests do. --------------------------------------------------------------------------------


@case("bailian: times are seconds, and hits are those of its blocks of 16 tokens")
def _():
    rows_of = [(61.114, 33, (5, 6, 7)), (61.614, 48, (5, 6, 8)), (63.114, 16, (5,))]
    text = "".join(block_row(at, tokens, ids) for at, tokens, ids in rows_of)
    changes = {**source("bailian", text), **MODEL, "workload.arrival": {"speedup": 1}, "mode": "simulate"}
    _, summary = measure(changes, "--db", "none", "--request-log", "r.jsonl")
    # Longest prefix there is: 0, 2, 1; the last block of 33 tokens is not full, and a trace's ids all count.
    assert (result(summary, "lookups"), result(summary, "hits")) == (7, 3), summary["results"]
    assert result(summary, "gpu_used_bytes") == 4 * 16 * 2048, summary["results"]
    logged = [json.loads(line) for line in (home() / "work/r.jsonl").read_text().splitlines()]
    assert [(one["arrival_s"], one["misses"]) for one in logged] == [(0, 3), (0.5, 1), (2, 0)], logged


@case("mooncake: lookups and hits are those of the file's ids")
def _():
    table = [(1000, range(2)), (1600, (0, 1, 2, 3)), (1024, (0, 9)), (2048, (0, 1, 8, 3)), (512, (7,)), (1600, (0, 1, 2, 3))]
    text = "".join(block_row(number, tokens, ids) for number, (tokens, ids) in enumerate(table))
    _, summary = measure({**source("mooncake", text), **MODEL}, "--db", "none")
    # Longest prefix there is: 0, 2, 1, 2, 0, 4; what is behind the first gap is a miss though resident.
    assert result(summary, "lookups") == 17 and result(summary, "hits") == 9, summary["results"]
    # Written once each: 0 1 | 2 3 | 9 | 8 | 7 | -, of 512 tokens of 2048 bytes.
    assert result(summary, "gpu_write_ops") == 7, summary["results"]
    assert result(summary, "gpu_used_bytes") == 7 * 512 * 2048, summary["results"]
    assert result(summary, "gpu_read_ops") == 9 and result(summary, "evictions") == 0, summary["results"]
    assert result(summary, "tokens_generated") == 18, summary["results"]


@case("mooncake: a long trace against a dictionary of its ids")
def _():
    path = trace("mooncake/conversation_trace.jsonl")
    limit = 400
    seen, lookups, hits, tokens = set(), 0, 0, 0
    with open(path) as lines:
        for _, line in zip(range(limit), lines):
            row = json.loads(line)
            ids = row["hash_ids"]
            there = next((number for number, one in enumerate(ids) if one not in seen), len(ids))
            lookups, hits, tokens = lookups + len(ids), hits + there, tokens + row["output_length"]
            seen.update(ids)
    _, summary = measure({**source("mooncake", ""), **MODEL, "workload.path": str(path), "workload.limit": limit},
                         "--db", "none")
    assert result(summary, "rows_read") == limit == result(summary, "requests_done"), summary["results"]
    assert (result(summary, "lookups"), result(summary, "hits")) == (lookups, hits), summary["results"]
    assert result(summary, "gpu_write_ops") == len(seen) and result(summary, "tokens_generated") == tokens
    assert summary["run"]["trace"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@case("azure: each row writes its context once and reads it back while it generates")
def _():
    path = trace("azure2023/AzureLLMInferenceTrace_code.csv")
    limit = 300
    context = tokens = reads = 0
    with open(path, newline="") as lines:
        for _, row in zip(range(limit), csv.DictReader(lines)):
            size, generated = int(row["ContextTokens"]), int(row["GeneratedTokens"])
            context, tokens = context + size, tokens + generated
            reads += 1 + -(-generated // 32)
    _, summary = measure({**source("azure", ""), **MODEL, "workload.path": str(path), "workload.limit": limit},
                         "--db", "none")
    assert result(summary, "requests_done") == limit and result(summary, "tokens_generated") == tokens
    assert result(summary, "gpu_write_ops") == limit and result(summary, "gpu_write_bytes") == context * 2048
    assert result(summary, "gpu_read_decode_ops") == reads and result(summary, "decode_lookups") == limit
    assert abs(result(summary, "context_tokens_mean") - context / limit) < 1e-9


@case("burstgpt: failed calls are counted, and a file can be played more than once")
def _():
    path = trace("burstgpt/burstgpt_1_head30.csv")
    with open(path, newline="") as lines:
        rows_there = [(int(row["Request tokens"]), int(row["Response tokens"])) for row in csv.DictReader(lines)]
    done = [row for row in rows_there if row[1] > 0]
    path_here = home() / "work/burstgpt.trace"
    path_here.write_bytes(path.read_bytes())
    changes = {**source("burstgpt", path.read_text()), **MODEL, "workload.arrival": {"speedup": 0, "cycles": 3}}
    got, summary = measure(changes, "--db", "none")
    reconciled(got, summary, read=3 * len(rows_there), emitted=3 * len(done))
    assert rejected(summary) == {"failed": 3 * (len(rows_there) - len(done))}, rejected(summary)
    assert result(summary, "tokens_generated") == 3 * sum(row[1] for row in done), summary["results"]
    # Each cycle writes its contexts anew.
    assert result(summary, "gpu_write_bytes") == 3 * sum(row[0] for row in done) * 2048, summary["results"]
    assert result(summary, "offered_requests_per_s") is None and "offered" not in got.stdout, got
    write({**source("burstgpt", ""),
           "workload.path": str(trace("burstgpt/burstgpt_1_request_tokens_first500_clamped1023.csv"))})
    refused(["run", "--headless", "small.yaml"], "clamped1023.csv", "no column \"Timestamp\"")


@case("mooncake: each cycle has ids of its own")
def _():
    text = block_row(0, 1024, (1, 2)) + block_row(10, 1536, (1, 2, 3))
    _, summary = measure({**source("mooncake", text), **MODEL, "workload.arrival": {"speedup": 0, "cycles": 4}},
                         "--db", "none")
    assert (result(summary, "lookups"), result(summary, "hits")) == (4 * 5, 4 * 2), summary["results"]
    assert result(summary, "gpu_write_ops") == 4 * 3, summary["results"]


@case("rows at a rate: in order, at fixed times, and what was offered is stated")
def _():
    log = home() / "work/requests.jsonl"
    arrival = {"process": "gamma", "cv": 0, "rate": 200, "batch": 2}
    got, summary = measure(source("azure", good("azure", 6), {"workload.arrival": arrival}), "--request-log", log,
                           "--db", "none")
    reconciled(got, summary, read=6, emitted=6)
    at = sorted((line["id"], line["arrival_s"], line["context_tokens"]) for line in map(json.loads, log.read_text().splitlines()))
    assert [round(1000 * (time - at[0][1])) for _, time, _ in at] == [0, 0, 10, 10, 20, 20], at
    assert [tokens for _, _, tokens in at] == list(range(602, 608)), at
    wall = result(summary, "measured_s")
    offered, achieved = result(summary, "offered_requests_per_s"), result(summary, "achieved_requests_per_s")
    assert abs(achieved * wall - 6) < 1e-6 and achieved <= offered + 1e-6, summary["results"] # in all of the time, or in less
    assert re.search(r"^Load +offered \S+/s +achieved \S+/s \(", got.stdout, re.M), got
    refused(["run", "--headless", write(source("azure", good("azure", 6), {"workload.arrival": {"process": "poisson"}}))],
            "workload.arrival.rate", "rate: 10")


@case("ops: each operation in turn, and the I/O trace is the file")
def _():
    text = "op,key,tokens\nwrite,a,10\nread,a,10\nread,b,7\nwrite,b,20\nread,b,20\nwrite,a,10\nread,a,10\n"
    log = home() / "work/io.csv"
    got, summary = measure(source("ops", text), "--io-trace", log, "--db", "none")
    reconciled(got, summary, read=7, emitted=7)
    table = [(row["Operation"], row["Key"], int(row["Object_Size_Bytes"]), row["Phase"])
             for row in csv.DictReader(io.StringIO(log.read_text()))]
    # b is not there yet when it is first read; writing what is resident writes nothing.
    assert table == [("Write", "a", 20480, "Prefill"), ("Read", "a", 20480, "Decode"), ("Write", "b", 40960, "Prefill"),
                     ("Read", "b", 40960, "Decode"), ("Read", "a", 20480, "Decode")], table
    assert result(summary, "hits") == 3 and result(summary, "misses") == 1, summary["results"]


IO_HEADER = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
ROOM = {"tiers.gpu": None, "tiers.cpu.capacity": "64MiB", "tiers.nvme": None}


def operations(log):
    """(operation, key, bytes) of what requests did in an I/O trace, in order."""
    return [(row["Operation"], row["Key"], int(row["Object_Size_Bytes"]))
            for row in csv.DictReader(io.StringIO(log.read_text())) if row["Phase"] != "Evict"]


def replay(log, changes, *options):
    return measure({**source("ops", ""), "workload.path": log.name, **changes}, *options, "--db", "none")


@case("ops: the I/O trace of a run plays the same reads and writes, plain or compressed")
def _():
    log, again = home() / "work/first.csv", home() / "work/again.csv"
    made = {"run.max_requests": 60, "run.duration": "60s", "workload.prefix": {"probability": 0.5, "prompt_tokens": [32]}}
    _, first = measure({**made, **ROOM}, "--io-trace", log, "--db", "none")
    done = operations(log)
    assert len({key for _, key, _ in done}) > 20 and any(key.startswith("prompt-") for _, key, _ in done), done[:20]
    got, second = replay(log, ROOM, "--io-trace", again)
    reconciled(got, second, read=len(done), emitted=len(done))
    assert operations(again) == done
    for name in ("cpu_write_ops", "cpu_write_bytes", "cpu_read_ops", "cpu_read_bytes", "cpu_used_bytes", "cpu_entries"):
        assert result(second, name) == result(first, name), name
    assert result(second, "misses") == 0 and "rows_skipped" not in second["results"], second["results"]
    packed = home() / "work/packed.csv.zst"
    measure({**made, **ROOM}, "--io-trace", packed, "--db", "none")
    assert packed.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    _, third = replay(packed, {**ROOM, "workload.arrival": {"process": "trace", "speedup": 0}})
    assert result(third, "cpu_write_bytes") == result(first, "cpu_write_bytes"), third["results"]
    packed.write_bytes(packed.read_bytes()[:-30])
    write({**source("ops", ""), "workload.path": packed.name})
    refused(["run", "--headless", "small.yaml"], packed.name, "damaged or cut short")


@case("ops: moves of an I/O trace are left to the cache that replays it")
def _():
    log = home() / "work/full.csv"
    tiers = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB"}
    _, first = measure({**tiers, "run.max_requests": 80, "run.duration": "60s"}, "--io-trace", log, "--db", "none")
    done, moves = operations(log), result(first, "demotions")
    assert moves > 0 and result(first, "evictions") > 0, first["results"]
    got, second = replay(log, tiers)
    reconciled(got, second, read=len(done), emitted=len(done))
    assert result(second, "rows_skipped") == 2 * moves and "moves skipped" in got.stdout, second["results"]
    assert result(second, "demotions") > 0 and result(second, "operation_errors") == 0, second["results"]
    # Every row that hits moves its bytes; what the other order of things has put out is a miss.
    reads = sum(one[0] == "Read" for one in done)
    assert result(second, "hits") + result(second, "misses") == reads, second["results"]
    assert result(second, "hits") > 0.7 * reads, second["results"]


@case("ops: the I/O trace of blocks and names of other programs are entries like any")
def _():
    text, log = "".join(block_row(0, 1024, (number, number + 1)) for number in range(0, 40, 2)), home() / "work/blocks.csv"
    _, first = measure({**source("mooncake", text), **ROOM, "workload.arrival": {"speedup": 0, "cycles": 2}},
                       "--io-trace", log, "--db", "none")
    _, second = replay(log, ROOM)
    assert result(second, "cpu_write_ops") == result(first, "cpu_write_ops") == 80, second["results"]
    assert result(second, "cpu_used_bytes") == result(first, "cpu_used_bytes"), second["results"]
    # Sizes are those of the file, whatever pages and tokens are; the name is longer than a key keeps.
    names = ["user_0001_conversation_%d_8b1f0a52" % number for number in range(3)]
    rows_there = ["%f,%s,%d,Tier-1,%s,%s" % (1e9 + at, *one) for at, one in enumerate(
        [("Write", 5001 + number, name, "Prefill") for number, name in enumerate(names)] +
        [("Read", 5001, names[0], "Decode"), ("Read", 2048, "never-written-before-now", "Decode")])]
    log.write_text("\n".join([IO_HEADER, *rows_there]))
    _, got = replay(log, {**ROOM, "cache.verify": "full", "tiers.cpu.capacity": "64KiB", "tiers.nvme.capacity": "1MiB"})
    assert result(got, "cpu_write_bytes") == 5001 + 5002 + 5003 and result(got, "cpu_read_bytes") == 5001, got["results"]
    assert (result(got, "hits"), result(got, "misses")) == (1, 1), got["results"]
    log.write_text(IO_HEADER + "\n1,Write,2047,Tier-0,a,Prefill\n")
    write({**source("ops", ""), "workload.path": log.name})
    refused(["run", "--headless", "small.yaml"], "less than a token of the model", "2048")


@case("limit and max_requests end the trace early, its end ends the run")
def _():
    for changes, read in (({"workload.limit": 7}, 7), ({"run.max_requests": 5}, 5), ({}, 20)):
        got, summary = measure(source("azure", good("azure", 20), {"workload.arrival": {"speedup": 0}, **changes}),
                               "--db", "none")
        reconciled(got, summary, read=read, emitted=read)
        assert summary["run"]["status"] == "completed", summary["run"]


@case("rows arrive at their times, divided by the speed-up")
def _():
    log = home() / "work/requests.jsonl"
    text = "".join(block_row(at, 512, [at]) for at in (5000, 5000, 5100, 5040, 5300))
    _, summary = measure(source("mooncake", text, {"workload.arrival": {"speedup": 2}}), "--request-log", log,
                         "--db", "none")
    at = sorted((line["id"], line["arrival_s"]) for line in map(json.loads, log.read_text().splitlines()))
    first = at[0][1]
    # Counted from the first row; one that is out of order takes the time of the row before it.
    assert [round(1000 * (time - first)) for _, time in at] == [0, 0, 50, 50, 150], at
    assert result(summary, "requests_done") == 5, summary["results"]


@case("a duration that ends before the trace counts what was read until then")
def _():
    text = "".join(block_row(1000 * at, 512, [at]) for at in range(100))
    got, summary = measure(source("mooncake", text, {"run.duration": "300ms"}), "--db", "none")
    assert summary["run"]["status"] == "completed", summary["run"]
    assert result(summary, "requests_done") == 1 == result(summary, "requests_arrived"), summary["results"]
    assert result(summary, "rows_read") == result(summary, "rows_emitted") <= 2, summary["results"]
    assert " read = " in got.stdout, got


@case("blocks fall to the disk and come back unharmed: a trace on all tiers, verified")
def _():
    ids = [[group * 10 + number for number in range(4)] for group in range(12)]
    text = "".join(block_row(0, 2048, ids[number % 12]) for number in range(60))
    _, summary = measure(source("mooncake", text, {"cache.verify": "full", "workload.arrival": {"speedup": 0},
                                                   "cache.promotion": "on_hit", "tiers.gpu": None,
                                                   "tiers.cpu.capacity": "8MiB", "tiers.nvme.capacity": "64MiB"}))
    assert result(summary, "requests_done") == 60 and result(summary, "nvme_read_bytes") > 0, summary["results"]
    assert result(summary, "verify_checked") > 0 and result(summary, "verify_mismatched") == 0, summary["results"]
    assert result(summary, "lookups") == 240, summary["results"]
    shown = json.loads(run(["show", "--json"]).stdout)
    check_identities(shown)
    assert shown == summary


main()
