#!/usr/bin/env python3
"""Recorded conversations of agents: what is asked and what is found there, against the files themselves."""
import hashlib
import json

from runs import measure, published, refused, result, trace, write
from tap import case, home, main

# One tier that keeps no bytes and takes no time, one worker and one slot: requests follow each other.
MODEL = {"tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.latency": "0s", "tiers.gpu.read_bandwidth": "100TB/s",
         "tiers.gpu.write_bandwidth": "100TB/s", "engine.workers": 1, "engine.slots": 1, "run.duration": "60s"}


def recorded(path):
    """The requests of a recorded conversation in the order of their times: (time, position, in, out, ids)."""
    found = []
    for item in json.loads(path.read_text())["requests"]:
        for one in item["requests"] if item["type"] == "subagent" else [item]:
            at = one["t"] + (item["t"] if one is not item else 0)
            found.append((at, len(found), one["in"], one["out"], one["hash_ids"]))
    return sorted(found)


AGENTIC = {"cache.granularity": "block", "workload.personas": None, "workload.users": None, "workload.prefix": None,
           "tiers.gpu.capacity": "1TiB"}


@case("the published conversations have their numbers of files and requests")
def _():
    files = list(published("kv-cache-tester/traces").glob("*.json"))
    assert (len(files), sum(len(recorded(path)) for path in files)) == (43, 1762)


@case("whole conversations against a set of ids for each file")
def _():
    folder = trace("kv-cache-tester/traces")
    files = sorted(folder.glob("*.json"), key=lambda path: path.name.encode())
    requests = lookups = hits = tokens = context = written = 0
    for path in files:
        seen = set()
        for _, _, size, generated, ids in recorded(path):
            there = next((number for number, one in enumerate(ids) if one not in seen), len(ids))
            requests, lookups, hits = requests + 1, lookups + len(ids), hits + there
            context, tokens = context + size, tokens + generated
            seen.update(ids)
        written += len(seen)
    one_by_one = {**MODEL, **AGENTIC, "workload.source": "agentic", "workload.path": str(folder),
                  "workload.arrival": {"process": "trace", "speedup": 0}}
    got, summary = measure(one_by_one, "--db", "none", "--force")
    assert result(summary, "requests_done") == result(summary, "rows_emitted") == requests, summary["results"]
    assert (result(summary, "lookups"), result(summary, "hits")) == (lookups, hits), summary["results"]
    assert result(summary, "gpu_write_ops") == written and result(summary, "tokens_generated") == tokens
    assert abs(result(summary, "context_tokens_mean") - context / requests) < 1e-6, summary["results"]
    listed = "".join("%s  %s\n" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name) for path in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    assert summary["run"]["trace"]["sha256"] == digest and digest[:12] in got.stdout, got


@case("ten times the conversations share nothing, so that as much room for each hits as often")
def _():
    folder, out = trace("kv-cache-tester/traces"), home() / "work/tenfold.jsonl"
    one_by_one = {**MODEL, **AGENTIC, "workload.source": "agentic", "workload.path": str(folder), "workload.limit": 6,
                  "workload.arrival": {"process": "trace", "speedup": 0}}
    once, tenfold = ([result(measure({**one_by_one, "workload.scale": scale}, "--db", "none", "--force")[1], name)
                      for name in ("requests_done", "lookups", "hits", "gpu_write_ops", "tokens_generated")] for scale in (1, 10))
    assert tenfold == [10 * value for value in once] and once[2] > 0, (once, tenfold)
    part = result(measure({**one_by_one, "workload.scale": 0.5}, "--db", "none", "--force")[1], "requests_done")
    assert 0 < part < once[0], (part, once)
    refused(["check", write({**one_by_one, "workload.arrival": None, "workload.scale": 2})], "workload.scale", "process: trace")


@case("users who wait for answers ask the same requests, in another order")
def _():
    folder, limit = trace("kv-cache-tester/traces"), 18  # two of them with sub-agents
    files = sorted(folder.glob("*.json"), key=lambda path: path.name.encode())[:limit]
    asked = [one for path in files for one in recorded(path)]
    written = sum(len({one for _, _, _, _, ids in recorded(path) for one in ids}) for path in files)
    _, summary = measure({**MODEL, **AGENTIC, "workload.source": "agentic", "workload.path": str(folder),
                          "workload.limit": limit, "workload.users": 7, "workload.arrival": {"speedup": 0}},
                         "--db", "none", "--force")
    assert result(summary, "requests_done") == len(asked), summary["results"]
    assert result(summary, "lookups") == sum(len(ids) for _, _, _, _, ids in asked), summary["results"]
    assert result(summary, "gpu_write_ops") == written, summary["results"]
    assert result(summary, "tokens_generated") == sum(generated for _, _, _, generated, _ in asked)


@case("users for whom the files have no conversation are told, and the number that asks is the one that is named")
def _():
    folder = trace("kv-cache-tester/traces")
    files = len(list(folder.glob("*.json")))
    def warned(users, *more):
        got, summary = measure({**MODEL, **AGENTIC, "engine.slots": 100, "workload.source": "agentic", "workload.path": str(folder), "mode": "simulate",
                                "workload.arrival": {"process": "closed"}, "workload.users": users}, "--db", "none", "--force", *more)
        return [one["message"] for one in summary["events"] if "nothing to ask" in one["message"]]
    assert warned(files + 7) == ["7 of %d users had nothing to ask: the file of the workload has too few conversations; set "
                                 "workload.users to %d" % (files + 7, files)]
    assert warned(files) == []


@case("sub-agents of whole conversations run beside their parents")
def _():
    for name in ("trace_0274.json", "trace_0282.json"):
        path, log = trace("kv-cache-tester/traces/" + name), home() / "work/requests.jsonl"
        whole = json.loads(path.read_text())["requests"]
        lane = [number if item["type"] == "subagent" else 0 for number, item in enumerate(whole)
                for _ in (item["requests"] if item["type"] == "subagent" else [item])]
        # All of them, with thoughts that are shortened to nothing much and answers that take their time.
        changes = {**AGENTIC, "workload.source": "agentic", "workload.path": str(path), "workload.users": 1,
                   "workload.arrival": {"speedup": 5000}, "compute.mode": "fixed", "compute.ms_per_token": 0.005,
                   "run.duration": "60s"}
        _, summary = measure(changes, "--request-log", log, "--db", "none", "--force")
        assert result(summary, "requests_done") == len(lane), summary["results"]
        spans = {}
        for line in map(json.loads, log.read_text().splitlines()):
            spans[(line["id"] & 0xffff) - 1] = (line["arrival_s"], line["arrival_s"] + line["e2e_ms"] / 1000)
        assert sorted(spans) == list(range(len(lane)))
        for one in set(lane):
            own = [spans[number] for number in range(len(lane)) if lane[number] == one]
            assert all(before[1] <= after[0] + 2e-6 for before, after in zip(own, own[1:])), (name, one)
        beside = sum(lane[a] and not lane[b] and spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1]
                     for a in spans for b in spans)
        assert beside > 0, (name, spans)


@case("what cannot be used is counted, and a scenario that does not fit is refused")
def _():
    folder = home() / "work/agents"
    folder.mkdir()
    request = {"t": 0, "type": "n", "in": 100, "out": 2, "hash_ids": [1], "think_time": 0, "api_time": 0}
    (folder / "1.json").write_text(json.dumps({"block_size": 64, "requests": [request, {**request, "in": 0}]}))
    (folder / "2.json").write_text("{")
    changes = {**MODEL, **AGENTIC, "workload.source": "agentic", "workload.path": folder.name, "tiers.gpu.capacity": "1GiB"}
    got, summary = measure({**changes, "workload.arrival": {}, "workload.users": 2}, "--db", "none")
    assert (result(summary, "rows_read"), result(summary, "rows_emitted")) == (3, 1), summary["results"]
    rejects = {name[14:]: one["value"] for name, one in summary["results"].items() if name.startswith("rows_rejected_") and name != "rows_rejected_ratio"}
    assert rejects == {"empty": 1, "malformed": 1}, rejects
    assert "1.json: the request has no tokens" in got.stdout, got
    args = ["run", "--headless", "small.yaml"]
    write({**changes, "workload.arrival": {}, "cache.granularity": "request"})
    refused(args, "cache.granularity", "block")
    write({**changes, "workload.arrival": {}, "cache.block_tokens": 16})
    refused(args, "cache.block_tokens", "contradicts the 64 tokens")
    (folder / "1.json").unlink()
    write({**changes, "workload.arrival": {}})
    refused(args, "no conversation that source agentic can use", "2.json")


main()
