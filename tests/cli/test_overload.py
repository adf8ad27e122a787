#!/usr/bin/env python3
"""Overload never looks like success: whatever has too little room, waits too short a time or has too many users is no
faster than the bytes allow that it had to move."""
import json
import re

from reports import case
from runs import measure, result, rows
from tap import SOURCE, home, main, run

TOKEN_BYTES = 2048  # tiny-1b of one layer: 2 x 4 heads x 128 x 2 bytes
BANDWIDTH = {"gpu": (10, 10), "cpu": (3, 3), "nvme": (2, 1)}  # MB/s, read and write
ROOM = {"gpu": 4, "cpu": 16, "nvme": 64}  # MiB
PLACEMENTS = ("waterfall", "spillover", "inclusive")
TIERS_OF = {"three tiers": ("gpu", "cpu", "nvme"), "memory and drive": ("cpu", "nvme"), "a drive": ("nvme",)}


def overloaded(tiers, placement, room=None, wait="10s", users=64):
    """A simulated run that asks for more than the tiers carry; `room` of a tier in MiB."""
    log = home() / "work/requests.jsonl"
    capacity = {**ROOM, **(room or {})}
    changes = {
        "mode": "simulate", "run.duration": "120s", "run.interval": "10s", "engine": {"slots": 64, "room_wait": wait},
        "tiers": {tier: {"capacity": "%dMiB" % capacity[tier], "latency": "80us", "duplex": "half", **(
            {"io_size": "64KiB"} if tier == "nvme" else {}), "read_bandwidth": "%dMB/s" % BANDWIDTH[tier][0],
            "write_bandwidth": "%dMB/s" % BANDWIDTH[tier][1]} for tier in tiers},
        "cache": {"placement": placement}, "workload.users": users, "workload.prefix": {"probability": 0},
        "workload.personas": [{"name": "large", "context": [500, 3000], "generate": [50, 150], "think": ["0s", "1s"]}]}
    got, summary = measure(changes, "--db", "none", "--request-log", log, rc=(0, 1))
    assert (got.rc == 1) == (result(summary, "requests_done") == 0), got
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    log.unlink()
    summary["text"] = " ".join(got.stdout.split())
    return {name: one["value"] for name, one in summary["results"].items()}, requests, summary


def must_move(requests):
    """What requests done have written and read back, by their own sizes: the context once, and once for each batch of
    their decode. What they found of earlier turns comes on top."""
    done = [one for one in requests if not one["failed"]]
    return sum((2 + -(-one["generate_tokens"] // 32)) * one["context_tokens"] * TOKEN_BYTES for one in done)


def moved(value, tiers, causes):
    return sum(value.get("%s_%s_%s_bytes" % (tier, way, cause)) or 0
               for tier in tiers for way in ("read", "write") for cause in causes)


def channel_seconds(value, tiers):
    """Of the most loaded tier."""
    return max(sum(value["%s_%s_bytes" % (tier, way)] / BANDWIDTH[tier][i] / 1e6 for i, way in enumerate(("read", "write")))
               for tier in tiers)


def check_bound(value, requests, tiers):
    must = must_move(requests)
    assert must <= moved(value, tiers, ("prefill", "decode")), (must, value)
    assert sum(one["generate_tokens"] for one in requests if not one["failed"]) == value["tokens_generated"], value
    if must:
        widest = 1e6 * sum(max(BANDWIDTH[tier]) for tier in tiers)
        assert value["throughput_tok_s"] <= value["tokens_generated"] / must * widest, (must, value)
    assert channel_seconds(value, tiers) <= value["measured_s"] * 1.001 + value["entry_bytes_max"] / 1e6, value
    assert value["requests_refused"] <= value["refused"], value
    assert value["requests_failed"] == value["requests_refused"] == sum(one["failed"] for one in requests), value


def explained(worse, better, tiers):
    """How much faster the one may be that has less: by what its bytes per token are fewer at the most loaded tier."""
    per_token = [channel_seconds(value, tiers) / value["tokens_generated"] for value in (worse, better)]
    return max(1, per_token[1] / per_token[0]) * 1.1


GRID = [(name, placement) for name in TIERS_OF for placement in PLACEMENTS if (name, placement) != ("a drive", "inclusive")]
for name, placement in GRID:
    @case("less room, a shorter wait and more users are no faster than their bytes explain: %s, %s" % (name, placement))
    def _(name=name, placement=placement):
        tiers = TIERS_OF[name]
        patient, requests, _ = overloaded(tiers, placement, wait="1h")
        check_bound(patient, requests, tiers)
        assert patient["tokens_generated"] > 0 and patient["refused"] == patient["fell_through"] == 0, patient
        less = [{"room": {tier: ROOM[tier] // part}} for tier in tiers for part in (2, 4)]
        shorter = [{"wait": wait} for wait in ("10s", "1s", "100ms", "10ms", "0s")]
        more = [{"users": users} for users in (128, 256)]
        seen = {"refused": 0, "fell_through": 0}
        for change in less + shorter + more:
            value, requests, _ = overloaded(tiers, placement, **{"wait": "1h", **change})
            check_bound(value, requests, tiers)
            for what in seen:
                seen[what] += value[what]
            assert value["fell_through"] == sum(value[tier + "_fell_through"] for tier in tiers), (change, value)
            if value["tokens_generated"]:
                limit = patient["throughput_tok_s"] * explained(value, patient, tiers)
                assert value["throughput_tok_s"] <= limit, (change, value["throughput_tok_s"], limit)
        # the grid does what it is there for
        assert placement == "spillover" or len(tiers) == 1 or seen["fell_through"] > 0, seen
        assert len(tiers) > 1 or seen["refused"] > 0, seen


def roomy(gpu, cpu, nvme):
    """Two users whose contexts fit into the first tier, if that is large; the assessment of profile latency."""
    tiers = {tier: {"capacity": "%dKiB" % kib, "latency": "80us", **({"io_size": "64KiB"} if tier == "nvme" else {})}
             for tier, kib in (("gpu", gpu), ("cpu", cpu), ("nvme", nvme))}
    tiers["nvme"].update(read_bandwidth="1MB/s", write_bandwidth="1MB/s")  # too slow for its criterion
    _, summary = measure({"mode": "simulate", "run.max_requests": 20, "run.duration": "1h", "workload.users": 2, "tiers": tiers,
                          "workload.conversation": {"max_turns": 3}, "engine.room_wait": "100ms"}, "--db", "none", rc=(0, 1))
    return {one["name"]: one for one in summary["criteria"]}, summary


@case("less room never improves an assessment: a tier that was not needed neither passes nor fails, one whose data lack for another reason fails")
def _():
    large, seen = 65536, set()
    for steps in ([(large, large, large), (512, large, large), (512, 512, large), (512, 512, 512), (64, 64, 512), (64, 64, 64)],
                  [(large, large, large), (large, 64, large), (large, 64, 64)],
                  [(512, large, large), (512, large, 64), (64, large, 64)], [(512, 512, large), (512, 4, large), (4, 4, large)]):
        failed = 0
        for step in steps:
            criteria, summary = roomy(*step)
            words = {name: "no data" if one["passed"] is None else one["passed"] for name, one in criteria.items()}
            now = sum(word is False for word in words.values())
            assert now >= failed, (step, words)
            failed = now
            seen.update((name, word, criteria[name]["actual"] is None) for name, word in words.items())
    for name in ("nvme read P95, device", "cpu read and write P95"):
        assert (name, "no data", True) in seen and (name, False, True) in seen, sorted(map(str, seen))
    assert ("nvme read P95, device", False, False) in seen and ("cpu read and write P95", True, False) in seen, sorted(map(str, seen))


@case("a criterion without data of a tier that was not needed is said as such wherever it is read, and fails nothing")
def _():
    changes = {"mode": "simulate", "run": {"max_requests": 20, "duration": "1h"}, "workload.users": 2, "workload.conversation": {"max_turns": 3},
               "tiers.gpu.capacity": "64MiB"}
    got, summary = measure(changes, "--assert")
    unneeded = [one["name"] for one in summary["criteria"] if one["passed"] is None]
    assert unneeded == ["nvme write P95, device", "nvme read P95, device", "cpu read and write P95"], summary["criteria"]
    text = " ".join(got.stdout.split())
    assert text.count("%d of %d criteria passed, 3 without data" % ((len(summary["criteria"]) - 3,) * 2)) == 2, text
    assert len(re.findall(r"no data +--$", got.stdout, re.MULTILINE)) == 3, got
    stored = rows("SELECT name, passed FROM criteria WHERE passed IS NULL")
    assert [one["name"] for one in stored] == unneeded, stored
    view = rows("SELECT criteria_passed, criteria_judged FROM run_summary")[0]
    assert view["criteria_passed"] == view["criteria_judged"] == len(summary["criteria"]) - 3, view
    for form in ("md", "html"):
        report = run(["report", "latest", "--format", form]).stdout
        assert report.count("no data") == 3 and "3 without data" in report, report
    metrics = run(["export", "latest", "--format", "prometheus"]).stdout
    assert metrics.count("kvfall_result_criterion_passed{") == len(summary["criteria"]) - 3, metrics
    health = json.loads(run(["export", "latest", "--format", "mlperf"]).stdout)["summary"]["cache_stats"]["storage_health"]
    assert health["overall_status"] == "PASS" and health["total_count"] == len(summary["criteria"]) - 3, health


@case("a write that finds no room anywhere fails its request, and everything that is read says so")
def _():
    value, requests, summary = overloaded(("nvme",), "waterfall", room={"nvme": 16}, wait="100ms")
    assert value["refused"] > 0 and value["requests_refused"] == value["requests_failed"] > 0, value
    assert value["class_batch_failed"] + value["class_interactive_failed"] + value["class_responsive_failed"] == \
        value["requests_failed"], value
    refused = {one["name"]: one for one in summary["criteria"]}["writes refused"]
    assert refused["passed"] is False and refused["actual"] == value["refused"], refused
    assert "Warning %d writes were refused, larger than every tier or without room in time" % value["refused"] in summary["text"], summary["text"]


@case("where most requests fail for room, no verdict is made of those that were completed")
def _():
    value, _, summary = overloaded(("nvme",), "waterfall", room={"nvme": 4}, wait="10ms")
    verdict = summary["verdict"]
    assert value["requests_failed"] >= value["requests_done"] > 0, value
    assert (verdict["limited_by"], verdict["cause"]) == ("nvme", "capacity"), verdict
    assert verdict["sentence"].startswith("room for writes: "), verdict
    share = value["requests_failed"] / (value["requests_failed"] + value["requests_done"])
    assert abs(verdict["share"] - share) < 1e-6 and verdict["remedies"] == [], verdict


def quick(changes, *options):
    """Of the quickstart in simulate: the JSON summary, and the text as one line."""
    path = home() / "work/quick.json"
    got = run(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--db", home() / "work/quick.db", "--json", path,
               "--set", "mode=simulate", *[one for key, value in changes.items() for one in ("--set", "%s=%s" % (key, value))],
               *options])
    assert got.rc == 0, got
    return json.loads(path.read_text()), " ".join(got.stdout.split())


ADMISSION = {"second_hit": {"cache.admission": "second_hit"},
             "size_limit": {"cache.admission": "size_limit", "cache.admission_limit": "128MiB"}}


@case("what is not admitted is work undone: said in the result, a criterion, a warning, and comparable to nothing")
def _():
    whole, _ = quick({})
    assert whole["run"]["undone"] is None and not any(one["name"] == "writes not admitted" for one in whole["criteria"]), whole
    for name, rule in ADMISSION.items():
        got, text = quick(rule)
        out = result(got, "not_admitted")
        assert out > 0 and result(got, "throughput_tok_s") > 1.5 * result(whole, "throughput_tok_s"), (name, got["results"])
        assert re.search(r"throughput not comparable: [\d.]+k? writes were not admitted", text), text
        assert "Warning %d writes were not admitted (cache.admission)" % out in text and got["verdict"]["remedies"] == [], text
        criterion = {one["name"]: one for one in got["criteria"]}["writes not admitted"]
        assert criterion["passed"] is False and criterion["actual"] == out, criterion
        kept = rows("""SELECT t_s, not_admitted AS n FROM intervals WHERE run_id = ? AND phase = 'measured'
            ORDER BY not_admitted DESC""", got["run"]["run_id"], path=home() / "work/quick.db")
        assert kept[0]["n"] > 0 and sum(one["n"] for one in kept) == out, (kept, out)
        picture = run(["watch", "--db", home() / "work/quick.db", str(got["run"]["run_id"]), "--dump",
                       "--at", "0:%g" % kept[0]["t_s"]]).stdout
        assert re.search(r"! not admitted: cache\.admission kept [1-9]\d* writes? out", picture), picture
        runs = [str(one["run"]["run_id"]) for one in (whole, got)]
        told = run(["compare", "--db", home() / "work/quick.db", *runs])
        flat = " ".join(told.stdout.split())
        assert "Run %s is worse than run %s: more writes are not admitted" % tuple(reversed(runs)) in flat, told
        gate = run(["compare", "--db", home() / "work/quick.db", "--fail-over", "5", *runs])
        assert gate.rc == 3 and "writes were not admitted" in gate.stdout + gate.stderr, gate
        assert not re.search(r"^tokens/s .* beyond$", told.stdout, re.MULTILINE), told


@case("a lookup that gives up waiting for a write is work undone, and at granularity block as well")
def _():
    for granularity in "request", "block":
        for wait in "0s", "10s":
            got, summary = measure({
                "mode": "simulate", "run.duration": "120s", "run.interval": "10s", "engine.room_wait": wait,
                "cache.granularity": granularity, "tiers": {"nvme": {
                    "capacity": "340MiB", "io_size": "64KiB", "read_bandwidth": "133MB/s", "write_bandwidth": "14MB/s", "latency": "80us"}},
                "workload.users": 24, "workload.conversation": {"max_turns": 1},
                "workload.prefix": {"probability": 1, "on_top": True, "count": 40, "prompt_tokens": 800},
                "workload.personas": [{"name": "one", "context": [500, 500], "generate": [60, 60], "think": ["1s", "1s"]}]}, "--db", "none")
            given_up, text = result(summary, "lookups_given_up"), " ".join(got.stdout.split())
            criterion = {one["name"]: one for one in summary["criteria"]}["lookups given up"]
            assert result(summary, "requests_failed") == 0 and given_up <= result(summary, "misses"), summary["results"]
            assert (given_up > 0) == (wait == "0s") == (not criterion["passed"]), (granularity, wait, given_up, criterion)
            assert ("throughput not comparable: %d lookups gave up waiting for writes" % given_up in text) == (given_up > 0), text
            assert ("Warning %d lookups gave up" % given_up in text) == (given_up > 0), text


@case("the autoscaler takes no number of users whose work is left undone, however well their targets are met")
def _():
    answers = []
    for wait in "100ms", "1h":
        got, summary = measure({
            "mode": "simulate", "run.duration": "3000s", "run.interval": "1s", "engine.room_wait": wait,
            "tiers": {"cpu": {"capacity": "8MiB", "read_bandwidth": "30MB/s", "write_bandwidth": "30MB/s"}, "nvme": {
                "capacity": "2GiB", "io_size": "64KiB", "read_bandwidth": "20MB/s", "write_bandwidth": "10MB/s"}},
            "workload.users": 2, "workload.personas": [{
                "name": "large", "context": [500, 3000], "generate": [50, 150], "think": ["0s", "1s"]}],
            "qos": {"latency": "e2e", "classes": [{"name": "only", "p95": "2h"}]},
            "autoscaler": {"mode": "qos", "stage": "20s", "hold": "40s", "max_users": 40}}, "--db", "none")
        answers.append(result(summary, "autoscaler_users"))
        breach = [one["reason"] for one in summary["decisions"] if "work was left undone" in one["reason"]]
        assert (len(breach) > 0) == (wait != "1h"), summary["decisions"]
    assert answers[0] < answers[1] == 40, answers


@case("trials that were too slow for their requests do not drop out of the verdict")
def _():
    store, path, runs = ("--db", home() / "work/slow.db"), home() / "work/slow.yaml", []
    for tiers, duration, complete in (({"read": "200MB/s", "latency": "80us"}, "60s", 5), ({"read": "190MB/s", "latency": "200us"}, "33s", 2)):
        path.write_text(json.dumps({
            "name": "slow", "model": {"preset": "tiny-1b", "layers": 1}, "mode": "simulate",
            "run": {"duration": duration, "warmup": "0s", "trials": 5, "max_requests": 150}, "workload": {"users": 4, "personas": [
                {"name": "large", "context": [100, 2000], "generate": [50, 150], "think": ["0s", "1s"]}]},
            "tiers": {"cpu": {"capacity": "16MiB", "read_bandwidth": "100MB/s", "write_bandwidth": "100MB/s"}, "nvme": {
                "capacity": "640MiB", "io_size": "64KiB", "read_bandwidth": tiers["read"], "write_bandwidth": "200MB/s",
                "latency": tiers["latency"]}}, "qos": {"latency": "e2e", "classes": [{"name": "only", "share": 1, "p95": "10s"}]}}))
        got = run(["run", path, "--headless", "--quiet", "--assert", "--json", home() / "work/slow.json", *store])
        summary = json.loads((home() / "work/slow.json").read_text())
        assert 5 - len(summary["trials"]["incomplete"]) == complete, summary["trials"]["incomplete"]
        assert got.rc == (0 if complete == 5 else 3) and summary["trials"]["passed"] is (complete == 5), got
        runs.append((str(summary["trials"]["runs"][0]), summary["trials"]["metrics"]["throughput_tok_s"]["mean"], got))
    fast, slow = runs
    assert slow[1] > 1.1 * fast[1], (slow[1], fast[1])  # of those that are left
    assert re.search(r"throughput not comparable: \d+ requests were left", " ".join(slow[2].stdout.split())), slow[2]
    gate = run(["compare", *store, "--fail-over", "5", fast[0], slow[0]])
    assert gate.rc == 3 and "requests were left" in gate.stdout and not re.search(r"^tokens/s .* beyond$", gate.stdout, re.MULTILINE), gate
    # one run by itself says so as well
    got = run(["run", path, "--headless", "--quiet", "--trials", "1", "--duration", "15s", "--assert", "--db", "none"])
    assert got.rc == 3 and re.search(r"requests left +== 0 +\d+ +FAIL", got.stdout), got


@case("documents that a slow drive has not taken in when they are due are work undone")
def _():
    store, runs = ("--db", home() / "work/late.db"), []
    for write in ("100MB/s", "1MB/s"):
        path = home() / "work/late.yaml"
        path.write_text(json.dumps({  # requests write to the cpu tier, whose room no chunk fits
            "name": "late", "model": {"preset": "tiny-1b", "layers": 1}, "mode": "simulate", "seed": 3,
            "run": {"duration": "60s", "warmup": "0s"}, "cache": {"placement": "spillover"},
            "tiers": {"cpu": {"capacity": "1000KiB"}, "nvme": {"capacity": "2560MiB", "io_size": "64KiB", "duplex": "full",
                                                                "read_bandwidth": "10MB/s", "write_bandwidth": write}},
            "workload": {"users": 4, "prefix": {"probability": 0}, "conversation": {"max_turns": 1}, "rag": {
                "documents": 20, "probability": 1, "ingest": "during"}, "personas": [
                    {"name": "short", "context": [5, 10], "generate": [50, 150], "think": ["0s", "1s"]}]}}))
        got = run(["run", path, "--headless", "--quiet", "--json", home() / "work/late.json", *store])
        runs.append((json.loads((home() / "work/late.json").read_text()), " ".join(got.stdout.split())))
    (fast, _), (slow, text) = runs
    assert result(fast, "rag_documents_overdue") == 0 and fast["run"]["undone"] is None, fast["run"]
    late = result(slow, "rag_documents_overdue")
    assert late == 20 - result(slow, "rag_documents_ingested") > 10 and slow["run"]["undone"] == "%d documents were overdue" % late, late
    # most requests read nothing, and look no slower
    assert result(slow, "rag_requests_empty") > result(slow, "rag_requests"), slow["run"]
    assert {one["name"]: one["passed"] for one in slow["criteria"]}["documents overdue"] is False, slow["criteria"]
    assert "%d documents were not ingested in time" % late in text, text
    assert "%d requests found no document that was ingested yet" % result(slow, "rag_requests_empty") in text, text
    gate = run(["compare", *store, "--fail-over", "5", *[str(one["run"]["run_id"]) for one, _ in runs]])
    assert gate.rc == 3 and "documents were overdue" in " ".join(gate.stdout.split()), gate


CHAT = {
    "name": "chat", "model": {"preset": "tiny-1b", "layers": 1}, "mode": "simulate", "seed": 3,
    "run": {"duration": "60s", "warmup": "60s"}, "fleet": {"pods": 2, "routing": "session"},
    "tiers": {"cpu": {"capacity": "4MiB", "read_bandwidth": "300MB/s", "write_bandwidth": "300MB/s"}, "nvme": {
        "capacity": "256MiB", "io_size": "64KiB", "read_bandwidth": "6MB/s", "write_bandwidth": "30MB/s"}},
    "workload": {"users": 4, "conversation": {"end_probability": 0.02}, "prefix": {"probability": 0}, "personas": [
        {"name": "long", "context": [200, 400], "generate": [50, 150], "think": ["1s", "3s"]}]},
    "qos": {"latency": "e2e", "classes": [{"name": "only", "share": 1, "p95": "2s"}]}}


@case("entries lost with a pod are work undone, in warm-up too: said in the result, a criterion, a warning, compared with nothing")
def _():
    whole, store = {}, ("--db", home() / "work/lost.db")
    for when in (None, 56, 71):  # no request is in service at the pods then
        out = when and [{"pod": pod, "at": "%.2fs" % (when + pod / 100), "for": "1ms"} for pod in (0, 1)]
        path = home() / "work/chat.yaml"
        path.write_text(json.dumps({**CHAT, "fleet": {**CHAT["fleet"], "outages": out or []}}))
        got = run(["run", path, "--headless", "--quiet", "--json", home() / "work/chat.json", *store])
        summary = json.loads((home() / "work/chat.json").read_text())
        text = " ".join(got.stdout.split())
        if not when:
            assert summary["run"]["undone"] is None and "lost in" not in text, summary["run"]
            whole = summary
            continue
        assert result(summary, "requests_failed") == result(summary, "outage_requests_failed") == 0, when
        # less work looks better
        assert result(summary, "throughput_tok_s") > 1.1 * result(whole, "throughput_tok_s"), when
        lost = result(summary, "outage_lost")
        assert lost > 0 and summary["run"]["undone"] == "%d entries were lost in an outage" % lost, summary["run"]
        assert "%d entries were lost in outages" % lost in text, text
        assert {one["name"]: one["passed"] for one in summary["criteria"]}["entries lost in outages"] is False, summary["criteria"]
        runs = [str(one["run"]["run_id"]) for one in (whole, summary)]
        told = run(["compare", *store, *runs])
        assert "Run %s is worse than run %s: more entries are lost in outages" % tuple(reversed(runs)) in " ".join(told.stdout.split()), told
        assert not re.search(r"^tokens/s .* beyond$", told.stdout, re.MULTILINE), told
        gate = run(["compare", *store, "--fail-over", "5", *runs])
        assert gate.rc == 3 and "entries were lost in an outage" in " ".join(gate.stdout.split()), gate


# Two pods share a remote tier that the warm-up fills.
SHARED = {
    "name": "shared", "model": "llama3.1-8b", "mode": "simulate", "seed": 7, "run": {"duration": "120s", "warmup": "60s"},
    "tiers": {"cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "4GiB"}, "remote": {"capacity": "400GiB", "preset": "ethernet-10g"}},
    "fleet": {"pods": 2, "routing": "session"}, "qos": {"classes": [{"name": "only", "p95": "20s"}]},
    "workload": {"users": 10, "conversation": {"end_probability": 0.03, "max_turns": 1000}, "personas": [
        {"name": "long", "context": [512, 2048], "generate": [50, 200], "think": ["1s", "2s"]}]}}


@case("entries dropped while the remote tier was gone in the warm-up are work undone of the run, and no point of a sweep is best for it")
def _():
    path, store = home() / "work/shared.yaml", ("--db", home() / "work/shared.db")
    gone = {"none": [], "warm": [{"remote": True, "at": "10s", "for": "49s"}], "measured": [{"remote": True, "at": "60s", "for": "49s"}]}
    path.write_text(json.dumps({**SHARED, "sweep": {
        "variants": {"outage": {name: {"fleet.outages": out} for name, out in gone.items()}}, "metrics": "throughput_tok_s"}}))
    got = run(["sweep", path, "--headless", *store])
    out = json.loads(run(["export", "sweep:latest", "--format", "json", *store]).stdout)
    assert got.rc == 0 and out["sweep"]["best_point"] == 1, out["sweep"]
    none, warm, measured = (one["undone"] for one in out["points"])
    assert none is None and "were dropped in an outage" in warm and "were dropped in an outage" in measured, (none, warm, measured)
    path.write_text(json.dumps({**SHARED, "fleet": {**SHARED["fleet"], "outages": gone["warm"]}}))
    got = run(["run", path, "--headless", "--quiet", "--assert", "--json", home() / "work/shared.json", *store])
    summary = json.loads((home() / "work/shared.json").read_text())
    assert got.rc == 3 and result(summary, "outage_lost") == 0 < result(summary, "outage_dropped"), summary["results"]["outage_dropped"]
    assert {one["name"]: one["passed"] for one in summary["criteria"]}["entries dropped in outages"] is False, summary["criteria"]


def swept(sweep):
    """The lines of a sweep of the quickstart in simulate, as one line, and its export."""
    path = home() / "work/sweep.yaml"
    text = (SOURCE / "configs/quickstart.yaml").read_text() + "\nmode: simulate\nsweep: " + json.dumps(sweep) + "\n"
    path.write_text(text)
    got = run(["sweep", path, "--headless", "--db", home() / "work/swept.db"])
    assert got.rc == 0, got
    out = json.loads(run(["export", "sweep:latest", "--format", "json", "--db", home() / "work/swept.db"]).stdout)
    page = run(["report", "sweep:latest", "--format", "txt", "--db", home() / "work/swept.db"])
    return " ".join(got.stdout.split()), out, " ".join(page.stdout.split())


@case("a sweep calls no point best that left work undone, in its table, its export and its report")
def _():
    text, out, page = swept({"keys": {"cache.admission": ["always", "second_hit"]}})
    always, second = out["points"]
    rate = [one["results"]["throughput_tok_s"]["value"] for one in (always, second)]
    assert rate[1] > rate[0] and always["undone"] is None and "not admitted" in second["undone"], out["points"]
    assert out["sweep"]["best_point"] == 1 and "Best tokens/s" in text and "at cache.admission=always" in text, text
    assert "1 of 2 points left work undone" in text and "1 of 2 points left work undone" in page, (text, page)
    assert re.search(r"Highest tokens/s \S+ tok/s \(point 1: always\)", page), page


SLOW_DRIVE = {"tiers.gpu.capacity": 0, "tiers.nvme.read_bandwidth": "2GB/s", "tiers.nvme.write_bandwidth": "2GB/s"}


@case("beside a modelled GPU what is not kept is undone work unless it is computed again: at granularity request it is not")
def _():
    modelled = {"compute": "{mode: roofline, gpu: h100}", **SLOW_DRIVE}
    small = {**ADMISSION["size_limit"], "cache.admission_limit": "1MiB"}
    whole, _ = quick(modelled)
    assert whole["run"]["undone"] is None and result(whole, "misses_not_computed") > 0, whole["run"]
    got, text = quick({**modelled, **small})
    out, missed = result(got, "not_admitted"), result(got, "misses_not_computed")
    assert missed == sum(result(got, "%s_%s" % (cause, what)) * sign for cause in ("conversation", "decode")
                         for what, sign in (("lookups", 1), ("hits", -1))) > 0, missed
    assert result(got, "throughput_tok_s") > 1.1 * result(whole, "throughput_tok_s")  # less work looks better
    assert "writes were not admitted" in got["run"]["undone"] and "throughput not comparable" in text, got["run"]
    assert "Warning %d writes were not admitted (cache.admission): what is not kept is neither written" % out in text, text
    best = rows("SELECT best_run FROM best_by_config WHERE best_run IN (?, ?)",
                *[one["run"]["run_id"] for one in (whole, got)], path=home() / "work/quick.db")
    assert best == [{"best_run": whole["run"]["run_id"]}], best
    blocks, text = quick({**modelled, **small, "cache.granularity": "block"})
    assert blocks["run"]["undone"] is None and "misses_not_computed" not in blocks["results"], blocks["run"]
    assert "what is not kept is computed again when it is needed" in text and "documents" not in text, text
    documents = {"cache.granularity": "block", "workload.rag.documents": 10, "workload.rag.probability": 0.5}
    missed, _ = quick({**modelled, **documents}, "--duration", "20s")
    assert result(missed, "misses_not_computed") == result(missed, "rag_lookups") - result(missed, "rag_hits") > 0, missed["results"]
    _, text = quick({**modelled, **small, **documents})
    assert "is computed again when it is needed, but for chunks of documents" in text, text


@case("a miss that is written again is not said to make no work")
def _():
    for granularity, computed, words in (("request", False, "a miss makes no work here"), ("block", False, "what misses is written instead of read"),
                                         ("request", True, "a miss makes no work here"), ("block", True, None)):
        got, _ = quick({**SLOW_DRIVE, "cache.granularity": granularity, "cache.block_tokens": 256,
                        **({"compute": "{mode: roofline, gpu: h100}"} if computed else {})})
        verdict = got["verdict"]
        # a GPU that has the time computes what misses, where a hit would be one more read from the drive that is full
        assert verdict["cause"] == ("capacity" if words else "bandwidth") and (words or "bounds throughput") in verdict["sentence"], (
            granularity, computed, verdict["sentence"])
        assert ("no work" in verdict["sentence"]) == (granularity == "request"), verdict["sentence"]


@case("a run that ends amid most of its work passes no assessment, whatever its profile")
def _():
    for profile in ("latency", "throughput"):
        for duration in ("2s", "60s"):
            changes = {"run.duration": duration, "run.warmup": "0s", "assess.profile": profile, "tiers.gpu.capacity": 0, "workload.users": 200}
            path = home() / "work/cut.json"
            got = run(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--assert", "--db", "none", "--json", path, "--set", "mode=simulate",
                       *[one for key, value in changes.items() for one in ("--set", "%s=%s" % (key, value))]])
            summary = json.loads(path.read_text())
            named = [one for one in summary["criteria"] if one["name"] == "time unfinished"]
            part, cut = result(summary, "unfinished_ratio"), duration == "2s"
            assert (part > 0.5) == cut and result(summary, "requests_done") > 0, (duration, part)
            assert [one["passed"] for one in named] == [False] * cut, named
            assert not cut or (got.rc == 3 and named[0]["actual"] == part), got
            assert any("most of the time in service" in one for one in summary["verdict"]["warnings"]) == cut, summary["verdict"]


@case("paced users who ask on while their queue grows without an end pass no assessment of latency")
def _():
    for slots, grows in ((2, True), (256, False)):
        path = home() / "work/paced.json"
        changes = {"workload.arrival.process": "paced", "qos.scheduler": "aging", "engine.slots": slots, "tiers.nvme.read_bandwidth": "70GB/s",
                   "tiers.nvme.write_bandwidth": "50GB/s", **({} if grows else {"workload.users": 5})}
        got = run(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--assert", "--db", "none", "--json", path, "--set",
                   "mode=simulate", *[one for key, value in changes.items() for one in ("--set", "%s=%s" % (key, value))]])
        summary = json.loads(path.read_text())
        failed = [one["name"] for one in summary["criteria"] if one["passed"] is False]
        assert failed == ["arrivals left waiting"] * grows and got.rc == 3 * grows, (slots, failed)
        assert (result(summary, "unserved_ratio") >= 0.05) == grows, summary["run"]
        left = sum(result(summary, "requests_%s_at_end" % where) for where in ("queued", "in_service"))
        told = "%d requests were open at the end, after " % left  # those of the warm-up among them
        warned = [one for one in summary["verdict"]["warnings"] if "open at the end, after" in one]
        assert len(warned) == grows and (not grows or warned[0].startswith(told)), (told, summary["verdict"])
        assert ("open at the end, after" in " ".join(got.stdout.split())) == grows, got
        assert "Load" not in got.stdout and (summary["verdict"]["limited_by"] == "slots") == grows, got
        assert "population_bound_per_s" not in summary["verdict"]["evidence"], "they do not wait for answers"


@case("what is left waiting does not depend on where it waits: in line for a slot, or in one")
def _():
    for slots in (256, 1024, 4096):
        summary = measure({
            "mode": "simulate", "run": {"duration": "180s", "warmup": "60s"}, "engine.slots": slots, "compute.mode": "roofline", "qos.scheduler": "aging",
            "cache": {"granularity": "block", "block_tokens": 64}, "workload": {"arrival": {"process": "poisson", "rate": 12}, "personas": [
                {"name": "a", "context": [512, 4096], "generate": [50, 200], "think": ["5s", "15s"]}]}, "model": "llama3.1-8b",
            "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "64GiB", "path": "."}}}, "--db", "none")[1]
        left = sum(result(summary, "requests_%s_at_end" % where) for where in ("queued", "in_service")) - result(summary, "requests_open_at_start")
        part = left / result(summary, "requests_arrived")
        assert part > 0.3 and abs(result(summary, "unserved_ratio") - part) < 0.02, (slots, part, result(summary, "unserved_ratio"))


@case("copies that a slower tier does not keep up with are told, though none is skipped")
def _():
    for write, told in (("5GB/s", False), ("5MB/s", True)):
        got, summary = measure({
            "mode": "simulate", "run.duration": "60s", "cache.placement": "inclusive", "workload.users": 40, "workload.phase": "prefill",
            "tiers": {"cpu": {"capacity": "64GiB"}, "nvme": {"capacity": "256GiB", "write_bandwidth": write}}, "workload.personas": [{
                "name": "one", "context": [500, 600], "generate": [20, 30], "think": ["100ms", "200ms"]}]}, "--db", "none")
        left = result(summary, "copies_left")
        assert result(summary, "copies_skipped") == 0 and (left > 100) == told, summary["results"]
        assert ("%d copies had not ended" % left in " ".join(got.stdout.split())) == told, got


@case("promotions that are skipped more often than made are told, with what that means")
def _():
    for users, told in ((4, False), (40, True)):
        got, summary = measure({
            "mode": "simulate", "run.duration": "60s", "cache.promotion": "on_hit", "workload.users": users, "engine.slots": 64, "tiers": {
                "gpu": {"capacity": "64MiB"}, "cpu": {"capacity": "64MiB", "write_bandwidth": "100MB/s"}, "nvme": {"capacity": "4GiB", "io_size": "64KiB"}},
            "workload.personas": [{"name": "one", "context": [500, 3000], "generate": [20, 30], "think": ["100ms", "200ms"]}]}, "--db", "none")
        skipped, made = result(summary, "promotions_skipped"), result(summary, "promotions")
        assert (skipped >= 100 and skipped > made) == told, (skipped, made)
        words = "%d promotions were skipped and %d made: the tier above had no room at once" % (skipped, made)
        assert (words in " ".join(got.stdout.split())) == told and summary["run"]["undone"] is None, got
        assert ("make that tier larger, or the tiers below it faster" in " ".join(got.stdout.split())) == told, got
    got, summary = measure({
        "mode": "simulate", "seed": 11, "model": "qwen3-8b", "run": {"duration": "120s", "warmup": "90s"}, "compute.mode": "none", "cache.promotion": "on_hit",
        "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "16GiB"}, "nvme": {"capacity": "32GiB", "path": "."}}, "workload": {
            "users": 300, "personas": [{"name": "p", "context": [4096, 16384], "generate": [20, 60], "think": ["1s", "5s"], "spread": 0.3}]}}, "--db", "none")
    assert result(summary, "fell_through") > 0 and result(summary, "promotions_skipped") > 100, summary["results"]
    assert "; writes found none in time either, which comes first" in " ".join(got.stdout.split()), got


@case("paced users who are served all at once pile up in service, which is no success for want of a queue")
def _():
    for users, grows in ((5, False), (60, True)):
        got, summary = measure({
            "mode": "simulate", "run.duration": "60s", "workload.arrival.process": "paced", "workload.users": users, "engine.slots": 20000,
            "tiers": {"cpu": {"capacity": "1GiB", "read_bandwidth": "200MB/s", "write_bandwidth": "200MB/s"}}, "assess": {"profile": "latency"},
            "workload.personas": [{"name": "large", "context": [500, 3000], "generate": [50, 150], "think": ["0s", "1s"]}]}, "--db", "none")
        ended = sum(result(summary, "requests_" + what) for what in ("done", "failed", "dropped"))
        left = 1 - ended / result(summary, "requests_arrived")
        assert (left > 0.2) == grows and result(summary, "requests_queued_at_end") == 0, summary["results"]
        assert (result(summary, "unserved_ratio") >= 0.05) == grows, (users, left, result(summary, "unserved_ratio"))
        text = " ".join(got.stdout.split())
        assert ("%.0f %% of what arrived was not done by the end" % (100 * left) in text) == grows, text
        assert {one["name"]: one["passed"] for one in summary["criteria"]}["arrivals left waiting"] is not grows, summary["criteria"]


@case("figures of what arrived, or was done, before the measured part are said to be those")
def _():
    for warmup, told in (("0s", False), ("20s", True)):
        got, summary = measure({
            "mode": "simulate", "run.duration": "5m", "run.warmup": warmup, "run.max_requests": 200, "workload.users": 8,
            "tiers": {"cpu": {"capacity": "1GiB"}}, "workload.personas": [{
                "name": "small", "context": [100, 300], "generate": [50, 150], "think": ["0s", "1s"]}]}, "--db", "none")
        before = 200 - result(summary, "requests_left") - result(summary, "requests_done")
        assert (before > 100) == told, summary["results"]
        assert ("%d of the 200 requests of run.max_requests were done in the warm-up" % before in " ".join(got.stdout.split())) == told, got


BACKLOG = {"name": "backlog", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "20s", "warmup": "10s"},
           "tiers": {"cpu": {"capacity": "4GiB", "read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s"}}, "engine": {"slots": 1},
           "assess": {"profile": "latency"}}


def backlog(speedup, *sections):
    """A file of the scenario with a trace of 200 requests, one a second."""
    (home() / "work/backlog.trace").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
        "2023-11-16 18:%02d:%02d.0000000,1000,8\n" % divmod(second, 60) for second in range(200)))
    load = {"source": "azure", "path": "backlog.trace", "prefix": {"probability": 0}, "arrival": {"speedup": speedup}}
    path = home() / "work/backlog.yaml"
    path.write_text(json.dumps({**BACKLOG, "workload": load, **dict(sections)}))
    return path


@case("a backlog from before the measured part is work of that time where it is done, and not served where it is left")
def _():
    # one a second is served; at 15 a second as many arrive in the measured part as are done; at 100 a second none arrive
    for speedup, arrived, bandwidth in ((1, (20, 20), "1GB/s"), (15, (30, 60), "1GB/s"), (100, (0, 0), "1GB/s"), (100, (0, 0), "3GB/s")):
        out = home() / "work/backlog.json"
        speed = [one for way in ("read", "write") for one in ("--set", "tiers.cpu.%s_bandwidth=%s" % (way, bandwidth))]
        got = run(["run", backlog(speedup), "--headless", "--quiet", "--assert", "--db", home() / "work/backlog.db", "--json", out, *speed])
        summary, text = json.loads(out.read_text()), " ".join(got.stdout.split())
        count = {name: result(summary, "requests_" + name) for name in ("arrived", "done", "open_at_start", "queued_at_end")}
        assert arrived[0] <= count["arrived"] <= arrived[1] and count["done"] >= 20, count
        load, left = count["arrived"] + count["open_at_start"], count["queued_at_end"]
        unserved, grows = (left / load if count["open_at_start"] > count["arrived"] else 0), left > 1
        assert abs(result(summary, "unserved_ratio") - unserved) < 1e-9 and grows == (unserved > 0.05), (speedup, count, summary["results"]["unserved_ratio"])
        judged = {one["name"]: one["passed"] for one in summary["criteria"]}
        assert judged["arrivals left waiting"] is not grows and (got.rc == 3) >= grows, (speedup, judged, got)
        told = "%.0f %% of the %d requests that had come before the measured part or arrived in it were not done by its end" % (
            100 * (1 - count["done"] / load), load)
        assert (told in text) == grows, text
        none = "no request arrived: %d requests had come before the measured part" % count["open_at_start"]
        assert (none in text) == (speedup == 100), text
    listed = json.loads(run(["history", "--json", "--db", home() / "work/backlog.db"]).stdout)
    early = "much of its work began before the measured part"
    assert [row["undone"] for row in listed] == [early, early, "it did not serve what arrived", None], listed
    view = json.loads(run(["sql", "SELECT comparable FROM run_summary ORDER BY run_id", "--json", "--db", home() / "work/backlog.db"]).stdout)
    assert [row["comparable"] for row in view] == [1, 0, 0, 0], view


@case("neither a sweep nor a search takes a point for good whose load came before the measured part")
def _():
    for sweep in ({"keys": {"workload.arrival.speedup": [1, 15, 100]}, "metrics": "throughput_tok_s"},
                  {"profile": "capacity", "find": "workload.arrival.speedup", "between": [1, 100], "precision": 0.2,
                   "target": {"metric": "throughput_tok_s", "op": ">=", "value": 1000}}):
        store = ("--db", home() / "work/backlogs.db")
        got = run(["sweep", backlog(1, ("sweep", sweep)), "--headless", *store])
        out = json.loads(run(["export", "sweep:latest", "--format", "json", *store]).stdout)
        assert got.rc == 0 and [one["undone"] for one in out["points"]][0] is None and all(one["undone"] for one in out["points"][1:]), out["points"]
        assert "keys" not in sweep or out["sweep"]["best_point"] == 1, out["sweep"]
        assert "keys" in sweep or "cannot be met within the bounds" in " ".join(got.stdout.split()), got


@case("copies skipped beside a modelled GPU are no undone work, in the sweep and in what is read of it later")
def _():
    path = home() / "work/modelled.yaml"
    path.write_text(json.dumps({
        "name": "modelled", "model": "tiny-1b", "mode": "simulate", "run": {"duration": "60s", "warmup": "0s"},
        "tiers": {"gpu": {"capacity": "64MiB", "backend": "emulated"}, "cpu": {
            "capacity": "64MiB", "read_bandwidth": "30MB/s", "write_bandwidth": "30MB/s"}, "nvme": {
                "capacity": "256MiB", "io_size": "64KiB", "read_bandwidth": "20MB/s", "write_bandwidth": "10MB/s"}},
        "cache": {"granularity": "block", "placement": "inclusive"}, "compute": {"mode": "roofline", "gpu": "h100"},
        "workload": {"users": 16, "personas": [{"name": "a", "context": [500, 1000], "generate": [50, 150], "think": ["0s", "1s"]}]},
        "sweep": {"keys": {"workload.users": [4, 16]}}}))
    store = ("--db", home() / "work/swept.db")
    got = run(["sweep", path, "--headless", *store])
    assert got.rc == 0 and "Best tokens/s" in got.stdout and "undone" not in got.stdout, got
    out = json.loads(run(["export", "sweep:latest", "--format", "json", *store]).stdout)
    assert [one["undone"] for one in out["points"]] == [None, None] and out["sweep"]["best_point"], out
    assert "left work undone" not in run(["report", "sweep:latest", "--format", "txt", *store]).stdout
    skipped = rows("SELECT value FROM results WHERE metric = 'copies_skipped' AND run_id > (SELECT max(run_id) - 2 FROM runs)", path=store[1])
    assert all(row["value"] > 0 for row in skipped) and len(skipped) == 2, skipped


@case("a search for a capacity takes no point that left work undone for one that meets the target")
def _():
    sweep = {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["1GiB", "16GiB"], "precision": 0.2,
             "target": {"metric": "throughput_tok_s", "op": ">=", "value": 1}}
    text, out, _ = swept(sweep)
    assert "is met at the lower bound already" in text and "less was not tried" in text, text
    path = home() / "work/second.yaml"
    path.write_text((home() / "work/sweep.yaml").read_text() + "cache: {admission: second_hit}\n")
    got = run(["sweep", path, "--headless", "--db", home() / "work/swept.db"])
    flat = " ".join(got.stdout.split())
    assert "cannot be met within the bounds" in flat and "writes were not admitted" in flat, got


@case("a search whose target counts one kind of undone work forgives no other")
def _():
    # so many arrivals are dropped that no write has to wait for room
    path = home() / "work/dropped.yaml"
    path.write_text((SOURCE / "configs/quickstart.yaml").read_text() + "\nmode: simulate\nengine: {slots: 1, queue_limit: 1}\nsweep: " + json.dumps(
        {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["1GiB", "16GiB"], "precision": 0.2,
         "target": {"metric": "fell_through", "op": "<=", "value": 0}}) + "\n")
    got = run(["sweep", path, "--headless", "--db", home() / "work/swept.db"])
    flat = " ".join(got.stdout.split())
    assert "cannot be met within the bounds" in flat and "arrivals were dropped" in flat, got
    points = json.loads(run(["export", "sweep:latest", "--format", "json", "--db", home() / "work/swept.db"]).stdout)["points"]
    assert all(one["results"]["fell_through"]["value"] == 0 and "dropped" in one["undone"] for one in points), points


@case("the autoscaler calls no throughput the peak that comes from work left undone")
def _():
    scale = {"autoscaler": "{mode: capacity, max_users: 500}", "run.duration": "600s", "engine.slots": 2, "engine.queue_limit": 1,
             "workload.personas": "[{name: a, context: [500, 1000], generate: [50, 100], think: [0s, 100ms]}]"}
    got, _ = quick(scale)
    users = int(result(got, "autoscaler_users"))
    assert result(got, "requests_dropped") > 0 and got["decisions"][1]["reason"].endswith("; work is left undone; nothing below %d was tried: try %d users" % (
        got["decisions"][1]["users_before"], got["decisions"][1]["users_after"])), got["decisions"]
    fixed, _ = quick({**scale, "autoscaler.mode": "off", "workload.users": users})
    assert users == 3 and fixed["run"]["undone"] is None, (users, fixed["run"])
    got, _ = quick({**scale, "autoscaler.min_users": 8, "autoscaler.when_found": "stop"})
    last = got["decisions"][-1]
    assert result(got, "autoscaler_found") == 0 and last["action"] == "too many", got["decisions"]
    assert last["reason"] == "work is left undone with 8 users already", got["decisions"]
    assert got["run"]["status_reason"] == "the autoscaler has no answer, and autoscaler.when_found is stop", got["run"]


@case("a class that starves passes no assessment, though one or two of its requests were done")
def _():
    for slots, starved in ((1, 2), (50, 0)):
        got, text = quick({"engine.slots": slots, "qos.scheduler": "strict"})
        few = result(got, "class_responsive_done")
        assert slots == 50 or 0 < few < 10, (few, text)
        criterion = {one["name"]: one for one in got["criteria"]}["classes unserved"]
        assert criterion["passed"] is (starved == 0) and criterion["actual"] == starved, criterion


OF_TWO = {"engine.slots": 2, "workload.arrival": "{process: poisson, rate: 20.3}", "run.duration": "300s", "compute": "{mode: fixed, ms_per_token: 5}",
          "workload.personas": "[{name: a, context: [200, 400], generate: [20, 40]}]", "workload.conversation": "{end_probability: 1}"}


def of_two(share, scheduler="strict", **changes):
    classes = "[{name: inter, share: %g, p95: 10s}, {name: batch, share: %g}]" % (1 - share, share)
    return quick({**OF_TWO, "qos.classes": classes, "qos.scheduler": scheduler, **changes})


@case("a class that is left behind the others is work undone, however few its requests are of all: everything that is read says so")
def _():
    got, text = of_two(0.15)
    waiting = result(got, "class_batch_queued_at_end") / result(got, "class_batch_arrived")
    assert 0 < result(got, "unserved_ratio") < 0.05 < 0.1 < waiting and result(got, "class_batch_done") > 0, (waiting, got["results"]["unserved_ratio"])
    assert result(got, "class_batch_starved_s") < result(got, "measured_s") / 2, got["results"]["class_batch_starved_s"]
    assert result(got, "classes_unserved") == 1 and got["run"]["undone"] == "1 class was left unserved", got["run"]
    assert {one["name"]: one["passed"] for one in got["criteria"]}["classes unserved"] is False, got["criteria"]
    assert result(got, "slo_inter_p95_met") == 1 and got["verdict"]["limited_by"] != "none", got["verdict"]
    assert got["verdict"]["sentence"].endswith("; class batch is left unserved"), got["verdict"]
    assert "throughput not comparable: 1 class was left unserved" in text, text
    store = ("--db", home() / "work/quick.db")
    assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1", path=store[1]) == [{"comparable": 0}]
    out = json.loads(run(["export", "latest", "--format", "mlperf", "-o", "-", *store]).stdout)
    assert out["summary"]["warning"] == "throughput not comparable: 1 class was left unserved", out["summary"]
    for share, changes in ((0.15, {"workload.arrival": "{process: poisson, rate: 10}"}), (0.6, {"workload.arrival": "{process: poisson, rate: 30}", "qos.scheduler": "aging"})):
        got, text = of_two(share, **changes)  # all are served; or none, which the queue of all tells
        assert result(got, "classes_unserved") == 0 and got["run"]["undone"] is None, (share, changes, got["run"])
        assert (result(got, "unserved_ratio") > 0.05) == (share == 0.6), got["results"]["unserved_ratio"]


FILLING = {**OF_TWO, "workload.arrival": "{process: closed}", "run.warmup": "20s", "run.duration": "80s",
           "workload.personas": "[{name: a, context: [200, 400], generate: [20, 40], think: [100s, 200s]}]"}


def filling(users, target, **changes):
    """Users who wait for answers; two slots serve 13 requests a second."""
    return quick({**FILLING, "workload.users": users, "qos.classes": "[{name: all, p95: %s}]" % target, **changes})


@case("a closed loop whose queue still fills has met no target, and everything that is read says so")
def _():
    store = ("--db", home() / "work/quick.db")
    for users, fills in ((1000, False), (6000, True)):
        got, text = filling(users, "90s", **{"assess.profile": "latency"})
        open_at = [result(got, "requests_open_at_start"), result(got, "requests_queued_at_end") + result(got, "requests_in_service_at_end")]
        assert result(got, "slo_all_p95_met") == 1 and "unserved_ratio" not in got["results"], got["results"]
        assert ("unsettled_ratio" in got["results"]) == fills and (open_at[1] > 4 * open_at[0] > 400) == fills, (users, open_at)
        assert (got["verdict"]["limited_by"] == "none") == (not fills), got["verdict"]
        assert ("the load had not settled: " in text) == fills and ("none: all targets met" in text) == (not fills), text
        failed = {one["name"] for one in got["criteria"] if not one["passed"]}
        assert ("growth of open requests" in failed) == fills, got["criteria"]
        listed = json.loads(run(["history", "--json", *store]).stdout)[0]
        assert listed["undone"] == ("it did not serve what arrived" if fills else None), listed
        assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1", path=store[1]) == [{"comparable": int(not fills)}]
    # all of them ask at once and wait in line from the beginning: nothing grows, however long the line
    got, text = filling(300, "10m", **{"workload.personas": "[{name: a, context: [200, 400], generate: [20, 40]}]", "run.warmup": "0s"})
    assert result(got, "requests_queued_at_end") > 0.1 * result(got, "requests_arrived") and "unsettled_ratio" not in got["results"], got["results"]


@case("a target longer than the run is not judged while requests are open that may miss it")
def _():
    for users, target, word in ((6000, "99s", "met"), (6000, "101s", "not judged"), (300, "101s", "met"), (6000, "1s", "missed")):
        got, text = filling(users, target)
        met = got["results"].get("slo_all_p95_met", {"value": None})["value"]
        assert met == {"met": 1, "missed": 0, "not judged": None}[word], (users, target, got["results"])
        why = "1 target not judged (the run is shorter than the target)"
        assert got["run"]["not_judged"] == (why if met is None else None) and (why in text) == (met is None), (got["run"], text)


@case("arrivals dropped in the warm-up are told, though the measured part has none")
def _():
    for limit, dropped in ((10, 200 - 2 - 10), (300, 0)):
        out, scenario = home() / "work/early.json", backlog(1)
        (home() / "work/backlog.trace").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
            "2023-11-16 18:00:%02d.0000000,100,8\n" % second for second in 200 * [0] + list(range(1, 40))))
        got = run(["run", scenario, "--headless", "--quiet", "--db", "none", "--json", out, "--set", "engine.queue_limit=%d" % limit])
        summary = json.loads(out.read_text())
        assert got.rc == 0 and result(summary, "requests_dropped") == 0, summary["results"]
        told = [one for one in summary["verdict"]["warnings"] if "dropped in the warm-up because the queue was full" in one]
        assert len(told) == (dropped > 0) and (not told or int(told[0].split()[0]) >= dropped), (limit, summary["verdict"]["warnings"])


@case("no point is best that leaves a class unserved, no capacity is found by it, and its trials say so")
def _():
    path, store = home() / "work/unserved.yaml", ("--db", home() / "work/swept.db")
    base = (SOURCE / "configs/quickstart.yaml").read_text() + "\nmode: simulate\n"
    sets = {**OF_TWO, "qos.classes": "[{name: inter, share: 0.85, p95: 10s}, {name: batch, share: 0.15}]"}
    options = [one for key, value in sets.items() for one in ("--set", "%s=%s" % (key, value))]
    for sweep, said in (({"keys": {"engine.slots": [2, 20]}, "metrics": "e2e_p95_ms"}, "1 of 2 points left work undone"),
                        ({"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["8GiB", "16GiB"], "precision": 0.2,
                          "target": {"metric": "slo_inter_met_ratio", "op": ">=", "value": 0.9}}, "but 1 class was left unserved")):
        path.write_text(base + "sweep: " + json.dumps(sweep) + "\n")
        got = run(["sweep", path, "--headless", *store, *options])
        assert got.rc == 0 and said in " ".join(got.stdout.split()), got
        out = json.loads(run(["export", "sweep:latest", "--format", "json", *store]).stdout)
        assert out["points"][0]["undone"] == "1 class was left unserved" and out["sweep"]["best_point"] != 1, out["sweep"]
    path.write_text(base)
    got = run(["run", path, "--headless", "--quiet", *store, *options, "--set", "run.trials=3"])
    assert "3 of 3 run" in got.stdout and "throughput not comparable: 1 class was left unserved" in " ".join(got.stdout.split("\nTrials", 1)[1].split()), got


@case("what fell through is counted by tier in intervals, results, exports, the summary and the report")
def _():
    changes = {
        "mode": "simulate", "run.duration": "60s", "run.interval": "5s", "engine": {"slots": 64, "room_wait": "1s"},
        "tiers": {"cpu": {"capacity": "8MiB", "read_bandwidth": "3MB/s", "write_bandwidth": "3MB/s"}, "nvme": {
            "capacity": "64MiB", "io_size": "64KiB", "read_bandwidth": "2MB/s", "write_bandwidth": "1MB/s"}},
        "workload.users": 64, "workload.personas": [{
            "name": "large", "context": [500, 3000], "generate": [50, 150], "think": ["0s", "1s"]}]}
    got, summary = measure(changes)
    fell = result(summary, "cpu_fell_through")
    assert fell > 0 and result(summary, "nvme_fell_through") == 0 and result(summary, "fell_through") == fell, summary
    sums = rows("SELECT sum(fell_through) AS all_tiers FROM intervals WHERE phase = 'measured'")[0]
    tiers = rows("SELECT tier, sum(fell_through) AS n FROM tier_intervals GROUP BY tier ORDER BY tier")
    assert sums["all_tiers"] == fell and [(row["tier"], row["n"]) for row in tiers] == [("cpu", fell), ("nvme", 0)], tiers
    assert "%d writes fell through" % fell in got.stdout.replace("\n", " "), got
    assert "Warning" in got.stdout and "fell through to a lower tier (cpu %d)" % fell in " ".join(got.stdout.split()), got
    mlperf = json.loads(run(["export", "latest", "--format", "mlperf"]).stdout)["kvfall"]
    assert mlperf["writes_fell_through"] == fell and mlperf["writes_refused"] == result(summary, "refused"), mlperf
    assert mlperf["requests_refused"] == result(summary, "requests_refused"), mlperf
    whole = json.loads(run(["export", "latest", "--format", "json"]).stdout)
    assert '"cpu_fell_through"' in json.dumps(whole), sorted(whole)
    assert "fell_through" in run(["export", "latest", "--format", "csv"]).stdout.splitlines()[0]
    assert 'kvfall_result_tier_writes_fell_through{' in run(["export", "latest", "--format", "prometheus"]).stdout
    page = run(["report", "latest", "--format", "txt"]).stdout
    assert "%d writes fell through" % fell in " ".join(page.split()), page
    worst = rows("SELECT t_s, fell_through AS n FROM intervals ORDER BY fell_through DESC")[0]
    picture = run(["watch", "--dump", "--at", "0:%g" % worst["t_s"], "--size", "200x60"]).stdout
    assert "! no room: %d writes fell through to a lower tier" % worst["n"] in picture, picture


STUCK = {
    "mode": "simulate", "run.duration": "20s", "run.interval": "1s", "engine": {"slots": 8}, "workload.users": 12,
    "compute": {"mode": "fixed", "ms_per_token": 1000}, "workload.prefix": {"probability": 0}, "qos": {
        "latency": "e2e", "classes": [{"name": "only", "share": 1, "p95": "2s"}]}, "workload.personas": [{
            "name": "long", "context": [100, 100], "generate": [100, 100], "think": ["0s", "0s"], "spread": 1}]}


@case("a run in which no request was done has failed, and says why")
def _():
    got, summary = measure(STUCK, rc=1)
    assert summary["run"]["status"] == "failed" and "no request was done: 12 arrived" in got.stderr, got
    assert "12 waited or were in service at the end" in summary["run"]["status_reason"], summary["run"]
    assert rows("SELECT status FROM runs ORDER BY run_id DESC LIMIT 1") == [{"status": "failed"}]


@case("who waits or is in service past the target has missed it, in results, intervals and on the screen")
def _():
    _, summary = measure(STUCK, rc=1)
    assert result(summary, "slo_only_met_ratio") == 0 and result(summary, "slo_only_violations") == 12, summary["results"]
    assert result(summary, "class_only_overdue_at_end") == 12, summary["results"]
    assert abs(result(summary, "class_only_oldest_wait_ms") - 20e3) < 100, summary["results"]
    stored = rows("SELECT q.overdue, q.violations, q.met_ratio, q.oldest_wait_ms, q.queued, i.t_s FROM qos_intervals q "
                  "JOIN intervals i USING (run_id, seq) WHERE run_id = (SELECT max(run_id) FROM runs) AND phase = 'measured'")
    assert [row["overdue"] for row in stored] == [0, 0] + [12] * 18, stored
    assert sum(row["violations"] for row in stored) == 12, stored
    assert all(row["met_ratio"] == 0 for row in stored[2:]) and stored[0]["met_ratio"] is None, stored
    assert all(abs(row["oldest_wait_ms"] - 1e3 * row["t_s"]) < 100 for row in stored), stored
    picture = run(["watch", "--dump", "--at", "0:10", "--size", "200x60"]).stdout
    assert "!only" in picture.replace(" ", ""), picture


@case("where most requests fail and no cause can be named, no output calls the run without a limit")
def _():
    changes = {"mode": "simulate", "run.duration": "5s", "workload": {"users": 200, "phase": "decode"}, "tiers.gpu": None,
               "tiers.nvme": None, "tiers.cpu.capacity": "8MiB"}
    got, summary = measure(changes)
    verdict, value = summary["verdict"], {name: one["value"] for name, one in summary["results"].items()}
    assert 0 < value["requests_done"] < value["requests_failed"], value
    assert (verdict["limited_by"], verdict["cause"]) == ("unknown", None), verdict
    assert rows("SELECT limited_by FROM verdicts") == [{"limited_by": "unknown"}]
    told = run(["report", "1", "--format", "md"]).stdout
    assert "**Limited by:** unknown" in told, told[:1500]


@case("what was dropped for a full queue waits no longer, however long the run is")
def _():
    changes = {"mode": "simulate", "run.duration": "60s", "workload.arrival": {"process": "poisson", "rate": 400},
               "engine": {"queue_limit": 10, "slots": 4}, "tiers": {"cpu": {"capacity": "1GiB", "read_bandwidth": "200MB/s", "write_bandwidth": "200MB/s"}}}
    got, summary = measure(changes)
    text = " ".join(got.stdout.split())
    assert result(summary, "requests_dropped") > 0.2 * result(summary, "requests_arrived"), summary["results"]
    assert "dropped because the queue was full" in text and "waits the longer the run is" not in text, text


@case("of requests that were open when the load ended, those that failed or are open at the end are not said to be done")
def _():
    lines = ["2024-01-01 00:0%d:%02d.000,1000,50" % divmod(n, 60) for n in range(100)]
    lines += ["2024-01-01 00:0%d:%06.3f,%d,100" % (*divmod(120 + n / 20, 60), 500 + 37 * n % 4000) for n in range(2400)]
    (home() / "work/late.csv").write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines]) + "\n")
    got, summary = measure({
        "mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "200s", "warmup": "110s", "interval": "1s"}, "compute.mode": "fast",
        "tiers": {"cpu": {"capacity": "8GiB", "read_bandwidth": "20GB/s", "write_bandwidth": "20GB/s"},
                  "nvme": {"capacity": "64GiB", "read_bandwidth": "6GB/s", "write_bandwidth": "3GB/s"}},
        "workload": {"source": "azure", "path": "late.csv", "prefix": {"probability": 0}}})
    text, failed = " ".join(got.stdout.split()), result(summary, "requests_failed")
    left = result(summary, "requests_queued_at_end") + result(summary, "requests_in_service_at_end")
    assert failed > 0 < left and "done after it" not in text, (failed, left, text)
    assert "open when the load ended, %d at the end, and %d failed in the measured part" % (left, failed) in text, text


@case("a load that ends, by run.max_requests or with its trace, does not hide that it was too much while it came")
def _():
    tiers = {"nvme": {"capacity": "64GiB", "read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s"}}
    large = [{"name": "large", "context": [500, 3000], "generate": [50, 150], "think": ["900ms", "1s"]}]
    for arrival, users in (({"process": "poisson"}, 50), ({"process": "paced"}, 50)):
        for factor, grows in ((0.3, False), (2, True)):
            load = {"rate": 75 * factor} if arrival["process"] == "poisson" else {}
            changes = {"mode": "simulate", "run": {"duration": "1h", "warmup": "0s", "max_requests": 3000}, "tiers": tiers, "workload": {
                "users": max(int(users * factor), 1), "arrival": {**arrival, **load}, "personas": large}, "assess": {"profile": "latency"}}
            got, summary = measure(changes)
            text = " ".join(got.stdout.split())
            assert result(summary, "requests_done") == 3000 and result(summary, "requests_queued_at_end") == 0, summary["results"]
            assert (result(summary, "unserved_ratio") >= 0.05) == grows, (arrival, factor, summary["results"]["unserved_ratio"], text)
            assert (" open when the load ended, and done after it" in text) == grows, text
            assert {one["name"]: one["passed"] for one in summary["criteria"]}["arrivals left waiting"] is not grows, summary["criteria"]
            if "rate" in load:
                assert (result(summary, "achieved_ratio") < 0.8) == grows, summary["results"]["achieved_ratio"]
    for users, least, most in ((2000, 0.25, 0.6), (400, 0, 0.05)):  # of which a third cannot be served, and none
        for rounds in 1, 1.5, 2, 6:
            _, summary = measure({"mode": "simulate", "run": {"duration": "1h", "warmup": "0s", "max_requests": int(rounds * users)},
                                  "tiers": {"nvme": {"capacity": "64GiB", "read_bandwidth": "100MB/s", "write_bandwidth": "100MB/s"}},
                                  "workload": {"users": users, "arrival": {"process": "paced"}, "personas": [{**large[0], "think": ["80s", "160s"]}]}})
            part = result(summary, "unserved_ratio")
            assert least <= part <= most, (users, rounds, part)
    for n in 2, 5, 15:  # the last of a few finds none, and what chance leaves is no failure
        idle = {"mode": "simulate", "run": {"duration": "1h", "warmup": "0s", "max_requests": n}, "tiers": tiers,
                "workload": {"arrival": {"process": "poisson", "rate": 0.2}, "personas": large}, "assess": {"profile": "latency"}}
        got, summary = measure(idle)
        assert {one["name"]: one["passed"] for one in summary["criteria"]}["arrivals left waiting"], (n, summary["criteria"])
        assert "Warning" not in got.stdout, got
    at_once = {"mode": "simulate", "run": {"duration": "1h", "warmup": "0s", "max_requests": 500}, "tiers": tiers,
               "workload": {"arrival": {"process": "gamma", "cv": 0, "rate": 500, "batch": 500}}}
    got, summary = measure(at_once)
    assert "Load" not in got.stdout and "achieved_ratio" not in [name for name, one in summary["results"].items() if one["value"] is not None], got


def latest_comparable():
    """As the database has it."""
    got = run(["sql", "SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1", "--json"])
    return json.loads(got.stdout) == [{"comparable": 1}]


@case("users who waited all the time for one answer are told, whatever the others had")
def _():
    personas = [{"name": name, "share": share, "context": [100, 200], "generate": [tokens] * 2, "think": ["100ms", "200ms"],
                 "spread": 1} for name, share, tokens in (("light", 0.75, 100), ("heavy", 0.25, 3000))]
    changes = {"mode": "simulate", "run": {"duration": "60s", "warmup": "10s"}, "qos": {"classes": [{"name": "all", "p95": "10s"}]},
               "tiers": {"cpu": {"capacity": "64GiB"}, "nvme": {"capacity": "64GiB"}}, "compute": {"mode": "realistic"},
               "workload": {"users": 40, "conversation": {"end_probability": 1}, "prefix": {"probability": 0}, "personas": personas}}
    got, summary = measure(changes, "--assert", rc=3)
    heavy = result(summary, "unanswered_ratio")
    assert 0.1 <= heavy <= 0.4 and result(summary, "class_all_oldest_wait_ms") > 69e3, summary["results"]
    assert "%.0f %% of the users waited at the end for an answer" % (100 * heavy) in " ".join(got.stdout.split()), got.stdout
    assert result(summary, "slo_all_p95_met") == 1 and summary["verdict"]["limited_by"] != "none", summary["verdict"]
    assert [one["name"] for one in summary["criteria"] if one["passed"] is False] == ["users without an answer"], summary["criteria"]
    assert not latest_comparable()
    changes["run"] = {"duration": "600s", "warmup": "10s"} # as long as several of their requests take
    _, summary = measure(changes, "--assert")
    assert "unanswered_ratio" not in summary["results"] and latest_comparable(), summary["results"]


@case("a drive that finishes nothing passes no assessment, with a warm-up or without one")
def _():
    personas = [{"name": "small", "share": 0.7, "context": [10, 16], "generate": [60, 100], "think": ["100ms", "200ms"]},
                {"name": "large", "share": 0.3, "context": [24000, 24000], "generate": [60, 100], "think": ["500ms", "1s"], "spread": 1}]
    for run_of, context, think in (({"duration": "60s", "warmup": "0s"}, [10, 16], ["500ms", "1s"]),
                                   ({"duration": "600s", "warmup": "5s"}, [1, 2], ["100s", "150s"])):
        personas[0]["context"], personas[1]["think"] = context, think
        changes = {"mode": "simulate", "model": "llama3.1-8b", "run": run_of, "qos": {"classes": [{"name": "all", "p95": "20s"}]}, "cache": {"headroom": 0},
                   "engine": {"room_wait": "1h"}, "compute": {"mode": "realistic"},
                   "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "2900MiB"}, "nvme": {"capacity": "200GiB", "write_bandwidth": "4MB/s", "path": "."}},
                   "workload": {"users": 50, "conversation": {"max_turns": 1}, "prefix": {"probability": 0}, "personas": personas}}
        _, summary = measure(changes, "--assert", rc=3)
        failed = [one["name"] for one in summary["criteria"] if one["passed"] is False]
        assert {"nvme write P95, device", "users without an answer"} <= {*failed}, summary["criteria"]
        assert 0.2 < result(summary, "unanswered_ratio") < 0.5 and summary["verdict"]["limited_by"] == "nvme", summary["verdict"]
        assert not latest_comparable()
        changes["tiers"]["nvme"]["write_bandwidth"] = "40GB/s"
        _, summary = measure(changes)
        assert "unanswered_ratio" not in summary["results"] and latest_comparable(), summary["results"]


@case("a class whose only target is a P99 has goodput within it, and a part that met it")
def _():
    def with_targets(**targets):
        changes = {"mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "60s", "warmup": "10s"}, "workload": {"users": 100},
                   "tiers": {"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "16GiB", "path": "."}},
                   "qos": {"classes": [{"name": "all", **targets}]}}
        return measure(changes)[1]["results"]

    high, both, none = with_targets(p99="1s"), with_targets(p95="1s", p99="1s"), with_targets()
    for name in ("goodput_per_s", "slo_all_met_ratio", "slo_all_p95_met", "slo_all_p99_met"):
        assert high[name] == both[name], (name, high[name], both[name])
    assert high["goodput_per_s"]["value"] < 0.9 * none["goodput_per_s"]["value"] == 0.9 * none["requests_per_s"]["value"], (high, none)


@case("requests that fail in the warm-up are work undone: what they would have left is missing in the measured part")
def _():
    personas = [{"name": "large", "context": [4000] * 2, "generate": [10, 10], "think": ["1s", "1s"], "spread": 1}]
    for capacity, fails in (("64MiB", True), ("2GiB", False)):
        trace = home() / "work/burst.csv"
        trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
            "2024-05-10 00:%02d:%02d.%03d000,%d,10\n" % (at // 60, at % 60, ms, size) for at, ms, size in
            [(0, 10 * n, 4000) for n in range(50)] + [(20 + n // 2, 500 * (n % 2), 100) for n in range(60)]))
        got, summary = measure({"mode": "simulate", "run": {"duration": "20s", "warmup": "30s"}, "model": "llama3.1-8b",
                                "tiers": {"nvme": {"capacity": capacity}},
                                "workload": {"source": "azure", "path": str(trace)}}, "--assert", rc=(0, 3))
        failed = result(summary, "warmup_failed")
        text = " ".join(got.stdout.split())
        assert result(summary, "requests_failed") == 0 and (failed == 50) == fails and (failed == 0) != fails, summary["results"]
        assert ("throughput not comparable: 50 requests failed in the warm-up" in text) == fails, text
        assert ("50 requests failed in the warm-up: what would" in text) == fails, text
        assert ("requests failed in the warm-up" in [one["name"] for one in summary["criteria"]]) == fails, summary["criteria"]
        assert latest_comparable() == (not fails), summary["results"]


@case("what a rule of admission turns away in the warm-up, and copies skipped in it, are work undone: measured hits are fewer for them")
def _():
    trace = home() / "work/burst.jsonl"
    # 60 blocks once each in the warm-up, and each once more when it is over; 20 that are always there
    lines = [(100 * n, [1000 + n]) for n in range(60)] + [(6000 + 10 * n, [n % 20]) for n in range(60)]
    lines += [(10000 + 100 * n, [1000 + n]) for n in range(60)] + [(10050 + 100 * n, [n % 20]) for n in range(60)]
    trace.write_text("".join(json.dumps({"timestamp": at, "input_length": 512, "output_length": 1, "hash_ids": ids}) + "\n" for at, ids in sorted(lines)))
    base = {"mode": "simulate", "run": {"duration": "10s", "warmup": "9s"}, "model": "llama3.1-8b", "workload": {"source": "mooncake", "path": str(trace)},
            "cache": {"granularity": "block", "block_tokens": 512}, "compute": {"mode": "none"},
            "tiers": {"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "32GiB"}}}
    for admission, turns_away in (("always", False), ("second_hit", True)):
        got, summary = measure({**base, "cache": {**base["cache"], "admission": admission}}, "--assert", rc=(0, 3))
        text, out = " ".join(got.stdout.split()), summary["results"]
        assert result(summary, "not_admitted") == 0 and (result(summary, "misses") == 60) == turns_away, out
        assert result(summary, "warmup_not_admitted") == 80 * turns_away, out
        assert ("throughput not comparable: 80 writes were not admitted in the warm-up" in text) == turns_away, text
        assert ("80 writes were not admitted in the warm-up (cache.admission): what would" in text) == turns_away, text
        assert ("writes not admitted in the warm-up" in [one["name"] for one in summary["criteria"]]) == turns_away, summary["criteria"]
        assert latest_comparable() == (not turns_away), out
    modelled = {**base, "cache": {**base["cache"], "admission": "second_hit"}, "compute": {"mode": "roofline", "gpu": "h100"}}
    _, summary = measure(modelled, "--assert", rc=(0, 3))
    assert result(summary, "warmup_not_admitted") == 80 and summary["run"]["undone"] is None and latest_comparable(), summary["run"]
    assert "writes not admitted in the warm-up" not in [one["name"] for one in summary["criteria"]]
    slow = {"mode": "simulate", "cache": {"placement": "inclusive"}, "run": {"duration": "5s", "warmup": "5s"}, "tiers.nvme.write_bandwidth": "1MB/s"}
    _, summary = measure(slow, rc=(0, 3))
    assert result(summary, "warmup_copies_skipped") > 0 and "skipped in the warm-up" in summary["run"]["undone"], summary["run"]


@case("a tier whose hits are computed again instead of read was needed: its criterion without data fails")
def _():
    changes = {"mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "30s", "warmup": "0s"},
               "cache": {"granularity": "block", "on_hit": "recompute"}, "compute": {"mode": "roofline", "gpu": "h100"},
               "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "256GiB"}},
               "workload": {"users": 20}}
    got, summary = measure(changes)
    assert result(summary, "nvme_hits") > 0 == result(summary, "nvme_read_ops"), summary["results"]
    told = [one["passed"] for one in summary["criteria"] if one["metric"].startswith("nvme_read")]
    assert told == [False], summary["criteria"]
    assert " computed again " in " ".join(got.stdout.split()), got.stdout


main()
