#!/usr/bin/env python3
"""Overload never pays: of random loads, simulated, the one of which one thing is worse shows no gain that nothing tells
of; and what holds of every run holds of each."""
import json
import random

import loads
from reports import case
from runs import check_identities, result, rows
from tap import home, main, run

PAIRS = 90
GAINS = (("throughput_tok_s", 1.03), ("requests_per_s", 1.03), ("goodput_per_s", 1.03), ("e2e_p95_ms", 0.9), ("ttft_p95_ms", 0.9))
# Slower generation brings fewer requests at a time to the tiers, as does a queue before them; more users bring more
# tokens; and without a tier what is left may be the faster one.
APART = ("compute", "slots", "max_concurrent_writes", "lookup_cost", "load", "warmup", "pods", "routing", "staleness", "delay", "no ")
OF_INTERVALS = {"arrived": "requests_arrived", "done": "requests_done", "failed": "requests_failed", "dropped": "requests_dropped",
                "tokens": "tokens_generated", "lookups": "lookups", "reuse_lookups": "reuse_lookups", "fell_through": "fell_through",
                "refused": "refused", "not_admitted": "not_admitted"}


def store():
    return home() / "work/loads.db"


def simulated(scenario, name):
    """The exit status of a run with --assert, and its JSON summary."""
    path, out = home() / "work" / (name + ".yaml"), home() / "work" / (name + ".json")
    path.write_text(json.dumps(scenario))
    got = run(["run", path, "--headless", "--quiet", "--assert", "--db", store(), "--json", out])
    assert got.rc in (0, 1, 3), got
    return got.rc, json.loads(out.read_text())


def check_sums(summary):
    """Results are the sums of their intervals. A run that ends in its warm-up has that measured as well."""
    started = [row["phase"] for row in rows("SELECT phase FROM intervals WHERE run_id = ?", summary["run"]["run_id"], path=store())]
    if summary["run"]["configuration"]["run"].get("max_requests") and "warmup" in started:
        return
    sums = rows("SELECT %s FROM intervals WHERE run_id = ? AND phase = 'measured'" % ", ".join(
        "sum(%s) AS %s" % (column, column) for column in OF_INTERVALS), summary["run"]["run_id"], path=store())[0]
    for column, metric in OF_INTERVALS.items():
        assert (sums[column] or 0) == result(summary, metric), (column, sums[column], result(summary, metric))
    for row in rows("SELECT class, sum(q.done) AS done, sum(q.failed) AS failed, sum(q.arrived) AS arrived FROM qos_intervals q "
                    "JOIN intervals i USING (run_id, seq) WHERE run_id = ? AND phase = 'measured' GROUP BY class",
                    summary["run"]["run_id"], path=store()):
        for what in "arrived", "done", "failed":
            assert row[what] == result(summary, "class_%s_%s" % (row["class"], what)), (row, what)


def check_run(rc, summary):
    check_identities(summary)
    check_sums(summary)
    value = {name: one["value"] for name, one in summary["results"].items()}
    for what in "arrived", "done", "in_service_mean", "queue_depth_mean":
        total = sum(value["class_%s_%s" % (one["name"], what)] for one in summary["qos"])
        whole = value[what if what.endswith("mean") else "requests_" + what]
        assert abs(total - whole) <= 1e-6 * max(1, whole), (what, total, whole)
    for name, number in value.items():
        if name.endswith(("_busy_ratio", "hit_ratio", "_met_ratio", "unserved_ratio", "unfinished_ratio")) and number is not None:
            assert -1e-9 <= number <= 1 + 1e-9, (name, number)
    assert rc == 1 or (rc == 0) == all(one["passed"] is not False for one in summary["criteria"]), (rc, summary["criteria"])
    assert rc != 0 or summary["run"]["undone"] is None and value["requests_done"] > 0, (rc, summary["run"])
    assert not [one for one in summary["events"] if one["level"] == "error"], summary["events"]


def gains_of(comparison):
    """What is claimed to be better, by more than is little."""
    found = []
    for metric, times in GAINS:
        for one in comparison["metrics"]:
            base, other = one["values"][0]["value"], one["values"][1]["value"]
            if one["metric"] != metric or one["values"][1].get("noise") != "beyond" or not base or not other:
                continue
            if (other > base * times) if times > 1 else (other < base * times):
                found.append("%s %.4g after %.4g" % (metric, other, base))
    return found


def told(worse, comparison):
    """Whether work left undone, a warning, or misses that the sentence names stand beside the gain."""
    said = " ".join(comparison["verdicts"])
    return worse["run"]["undone"] or worse["verdict"]["warnings"] or comparison["warnings"] or "more lookups" in said


def moved_less(better, worse):
    """A tier less, or a smaller one, is passed through by fewer bytes."""
    each = [(result(one, "total_read_bytes") + result(one, "total_write_bytes")) / result(one, "requests_done") for one in (better, worse)]
    return each[1] < 0.97 * each[0]


def pairs(part):
    """The part of the pairs whose numbers leave this rest by 3."""
    for seed in range(part, PAIRS, 3):
        better, what, worse = loads.pair(random.Random(seed))
        runs = [simulated(one, name) for name, one in (("better", better), ("worse", worse))]
        yield seed, what, runs


for part in range(3):
    @case("what is worse of a random load shows no gain untold, and what holds of every run holds: part %d" % (part + 1))
    def _(part=part):
        seen = 0
        for seed, what, ((first_rc, better), (second_rc, worse)) in pairs(part):
            try:
                check_run(first_rc, better)
                check_run(second_rc, worse)
            except AssertionError as error:
                raise AssertionError("seed %d, %s: %s" % (seed, what, error)) from error
            if 1 in (first_rc, second_rc):
                continue
            seen += 1
            got = run(["compare", "--db", store(), "--json", *[str(one["run"]["run_id"]) for one in (better, worse)]])
            comparison = json.loads(got.stdout)
            gains = [] if what.startswith(APART) else gains_of(comparison)
            assert not gains or told(worse, comparison) or moved_less(better, worse), (seed, what, gains, comparison["verdicts"])
        assert seen > PAIRS / 6, seen


def stored(base, *changes):
    """The number of a run of a scenario with these keys set."""
    sets = [word for key in changes for word in ("--set", key)]
    path, out = home() / "work/pair.yaml", home() / "work/pair.json"
    path.write_text(json.dumps(base))
    got = run(["run", path, "--headless", "--quiet", "--db", store(), "--json", out, *sets])
    assert got.rc == 0, got
    return str(json.loads(out.read_text())["run"]["run_id"])


def verdict(first, second):
    """The exit status and the verdict of a comparison with a limit of 10 %."""
    got = run(["compare", first, second, "--db", store(), "--fail-over", "10", "--json"])
    return got.rc, json.loads(got.stdout)["verdicts"][0]


CHAT = [{"name": "c", "context": [512, 2048], "generate": [50, 200], "think": ["2s", "6s"]}]
BURSTS = {"name": "bursts", "mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "120s", "warmup": "30s"},
          "tiers": {"gpu": {"capacity": "8GiB"}, "cpu": {"capacity": "16GiB"}, "nvme": {"capacity": "64GiB"}},
          "cache": {"granularity": "block", "block_tokens": 64}, "compute": {"mode": "roofline", "preset": "vllm-h100-bf16", "max_batch": 16},
          "workload": {"users": 200, "arrival": {"process": "gamma", "rate": 10, "cv": 1, "batch": 20}, "personas": CHAT}}


@case("of the same bursts, simulated, far more left waiting is no chance")
def _():
    for rate, warmup in (10, "10s"), (8, "30s"):
        same = ("workload.arrival.rate=%d" % rate, "run.warmup=%s" % warmup)
        rc, said = verdict(stored(BURSTS, *same), stored(BURSTS, *same, "cache.on_hit=recompute"))
        assert rc == 3 and "is worse than" in said and "more arrivals are left waiting" in said, (rc, said)


@case("less time in storage is no gain where what users feel looks worse, though its baseline was measured over part of its work")
def _():
    batches = "workload.arrival.batch=50"
    base = stored(BURSTS, batches)
    for change in "cache.on_hit=recompute", "tiers.nvme.capacity=0", "cache={granularity: block, block_tokens: 64, eviction: ttl, ttl: 2s}":
        other = stored(BURSTS, batches, change)
        for first, second, word in (base, other, "worse"), (other, base, "better"):
            _, said = verdict(first, second)
            assert said.startswith("Whether run ") and "end-to-end P95 may be %s" % word in said, (change, said)


@case("writes that an outage of the remote tier takes away are no gain, however much less there is to wait for")
def _():
    fleet = {"name": "fleet", "mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "120s", "warmup": "60s"},
             "tiers": {"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "8GiB"}, "remote": {"capacity": "200GiB"}},
             "fleet": {"pods": 4, "routing": "session"}, "workload": {"users": 160, "personas": CHAT}}
    base = stored(fleet)
    for outage in "{remote: true, at: 0s, for: 1h}", "{remote: true, at: 90s, for: 30s}":
        gone = stored(fleet, "fleet.outages=[%s]" % outage)
        rc, said = verdict(base, gone)
        assert rc == 3 and "is worse than run %s: more entries are dropped in outages" % base in said, (rc, said)
        back = verdict(gone, base)[1]
        assert "fewer entries are dropped in outages" in back and "is worse than" not in back, back


@case("of a load that comes at once, those not done by the end are left waiting, however few are left of many")
def _():
    at_once = {"name": "once", "mode": "simulate", "model": "llama3.1-70b-instruct", "run": {"duration": "12s", "warmup": "0s", "interval": "200ms"},
               "tiers": {"cpu": {"capacity": "64GiB", "read_bandwidth": "100GB/s", "write_bandwidth": "100GB/s"},
                         "nvme": {"capacity": "1TiB", "read_bandwidth": "14GB/s", "write_bandwidth": "7GB/s"}},
               "engine": {"room_wait": "1h"}, "qos": {"classes": [{"name": "i"}]}, "assess": {"profile": "latency"},
               "workload": {"users": 250, "arrival": {"process": "gamma", "cv": 0, "rate": 1, "batch": 250}, "prefix": {"probability": 0},
                            "personas": [{"name": "c", "context": [512, 4096], "generate": [50, 200]}]}}
    rc, fast = simulated(at_once, "fast")
    assert result(fast, "requests_done") == 250 and result(fast, "unserved_ratio") == 0 and "stranded_ratio" not in fast["results"], fast["results"]
    slow = {**at_once, "tiers": {**at_once["tiers"], "nvme": {**at_once["tiers"]["nvme"], "read_bandwidth": "8GB/s", "write_bandwidth": "4GB/s"}}}
    rc, left = simulated(slow, "slow")
    part = 1 - result(left, "requests_done") / 250
    assert any("after waiting for longer than most that was" in one for one in left["verdict"]["warnings"]), left["verdict"]["warnings"]
    assert part > 0.15 and result(left, "stranded_ratio") == result(left, "unserved_ratio") and abs(result(left, "unserved_ratio") - part) < 1e-9, left["results"]
    assert rc == 3 and {one["name"]: one["passed"] for one in left["criteria"]}["arrivals left waiting"] is False, left["criteria"]
    rc, said = verdict(*[str(one["run"]["run_id"]) for one in (fast, left)])
    assert rc == 3 and "more arrivals are left waiting" in said, said
    path = home() / "work/once.yaml"
    path.write_text(json.dumps({**at_once, "sweep": {"combine": "zip", "metrics": "e2e_mean_ms", "keys": {
        "tiers.nvme.read_bandwidth": ["14GB/s", "8GB/s"], "tiers.nvme.write_bandwidth": ["7GB/s", "4GB/s"]}}}))
    got = " ".join(run(["sweep", path, "--headless", "--db", store()]).stdout.split())
    assert "at tiers.nvme.read_bandwidth=14GB/s" in got and "1 of 2 points did not serve what arrived" in got, got


main()
