#!/usr/bin/env python3
"""The autoscaler as a user sees it: lines while it seeks, summary, JSON, database, and what it cannot steer."""
import json
import re

from runs import last_run, measure, refused, result, rows, write
from tap import SOURCE, case, home, main, run

# Nobody is over ten seconds, so that it grows to the most allowed. Simulated: on a busy machine a stage of 40 ms may
# leave work undone, which counts as a breach, or have too few requests.
EASY = {"mode": "simulate", "tiers": {"gpu": {"capacity": "2MiB", "backend": "emulated"}}, "run.duration": "30s",
        "run.interval": "20ms", "qos": {"classes": [{"name": "all", "p95": "10s"}]},
        "autoscaler": {"mode": "qos", "max_users": 20, "settle": "0s", "stage": "40ms", "hold": "40ms",
                       "cooldown": "0s", "when_found": "stop"}}
STEPS = [("start", 6, 6), ("grow", 6, 12), ("grow", 12, 20), ("found", 20, 20)]


def words(text):
    """The text with its line ends as spaces: sentences wrap."""
    return " ".join(text.split())


def section(text):
    """The autoscaler's lines of a summary."""
    found = re.search(r"^Autoscaler .*?(?=^\S)", text.split("\n", 1)[1], re.MULTILINE | re.DOTALL)
    assert found, text
    return found.group()


def check_decisions(got, summary):
    """Whether standard error, the JSON and the database have the same decisions."""
    stored = rows("SELECT mode, action, users_before, users_after, saturation, throughput_tok_s, p95_ms, reason, t_s "
                  "FROM decisions WHERE run_id = ? ORDER BY seq, n", last_run()["run_id"])
    keys = ("mode", "action", "users_before", "users_after", "saturation", "throughput_tok_s", "p95_ms", "reason", "t_s")
    assert [tuple(d[k] for k in keys) for d in summary["decisions"]] == [tuple(row[k] for k in keys) for row in stored], stored
    assert result(summary, "autoscaler_decisions") == len(stored)
    for d in summary["decisions"]:
        line = "autoscaler %s, users %d -> %d: %s" % (d["action"], d["users_before"], d["users_after"], d["reason"])
        assert line in got.stderr, got


@case("decisions stand on standard error, in the summary, in the JSON and in the database, the same everywhere")
def _():
    got, summary = measure(EASY)
    steps = [(d["action"], d["users_before"], d["users_after"]) for d in summary["decisions"]]
    assert [step for step in steps if step[0] != "hold"] == STEPS, summary["decisions"]  # a stage with too few requests is held
    assert result(summary, "autoscaler_users") == 20 and result(summary, "autoscaler_found") == 1
    check_decisions(got, summary)
    for d in summary["decisions"]:
        assert "%s %d -> %d: %s" % (d["action"], d["users_before"], d["users_after"], d["reason"]) in words(got.stdout), got
    assert "Autoscaler qos 20 users found" in words(section(got.stdout)), got
    shown = run(["show", last_run()["run_id"]])
    assert section(shown.stdout) == section(got.stdout), shown


@case("a real run steers its users too, and tells its decisions the same everywhere")
def _():
    got, summary = measure({**EASY, "mode": "real", "run.duration": "1s"})
    assert summary["decisions"][0]["action"] == "start" and len(summary["decisions"]) > 1, summary["decisions"]
    check_decisions(got, summary)


# Ten slots, for which 145 users who ask every 10 s are enough; nobody misses a target of minutes soon.
SLOTS = {"name": "slots", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "3000s", "warmup": "30s"},
         "tiers": {"cpu": {"capacity": "64GiB"}}, "compute": {"mode": "fixed", "ms_per_token": 10}, "engine": {"slots": 10},
         "workload": {"users": 20, "decode": {"batch_tokens": 1000}, "personas": [
             {"name": "c", "context": [512, 1024], "generate": [50, 150], "think": ["5s", "15s"], "spread": 0.25}]},
         "qos": {"classes": [{"name": "a", "p95": "60s"}]},
         "autoscaler": {"mode": "qos", "max_users": 2000, "when_found": "stop"}}
# A GPU that answers 350 users within a minute, once all who came are answered.
GPU = {"name": "gpu", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "6000s", "warmup": "1500s"},
       "tiers": {"gpu": {"capacity": "auto"}, "cpu": {"capacity": "200GiB"}},
       "cache": {"granularity": "block", "block_tokens": 256, "headroom": 0, "placement": "inclusive"},
       "compute": {"mode": "roofline", "preset": "vllm-h100-bf16", "max_batch": 64},
       "workload": {"users": 160, "personas": [
           {"name": "c", "context": [512, 4096], "generate": [50, 200], "think": ["5s", "15s"], "spread": 0.25}]},
       "qos": {"classes": [{"name": "a", "p95": "60s"}]}, "autoscaler": {"mode": "qos", "max_users": 3000, "when_found": "stop"}}


def sought(base, **settings):
    """The JSON summary of a search on a scenario of one's own."""
    path, summary = home() / "work/sought.yaml", home() / "work/sought.json"
    path.write_text(json.dumps(base))
    got = run(["run", path, "--headless", "--quiet", "--db", "none", "--json", summary, "--overwrite",
               *(word for name, value in settings.items() for word in ("--set", "%s=%s" % (name.replace("__", "."), value)))])
    assert got.rc == 0, got
    return json.loads(summary.read_text())


@case("mode qos: requests that pile up, or are dropped, are no way to serve more users, with either signal")
def _():
    for signal, settings in (("targets", {"workload__arrival__process": "paced"}),
                             ("saturation", {"workload__arrival__process": "paced"}),
                             ("saturation", {"engine__queue_limit": 3})):
        summary = sought(SLOTS, autoscaler__signal=signal, **settings)
        assert result(summary, "autoscaler_found") == 1, (signal, settings, summary["decisions"])
        assert 125 <= result(summary, "autoscaler_users") <= 175, (signal, settings, summary["decisions"])


@case("mode qos: requests that pile up in service before a modelled GPU are too many")
def _():
    summary = sought(GPU, run__duration="600s", run__warmup="30s", workload__arrival__process="paced", engine__slots=100000,
                     autoscaler__signal="saturation", autoscaler__max_users=400)
    assert any("requests pile up, " in d["reason"] for d in summary["decisions"]), summary["decisions"]
    assert not result(summary, "autoscaler_users") > 200, summary["decisions"]


@case("mode qos: an answer holds once the requests from before it are answered")
def _():
    summary = sought(GPU, run__duration="14400s")
    assert result(summary, "autoscaler_found") == 1, summary["decisions"]
    assert 325 <= result(summary, "autoscaler_users") <= 375, summary["decisions"]


@case("mode capacity closes with the peak, in the summary, in an event and in the last reason")
def _():
    got, summary = measure({**EASY, "autoscaler": {**EASY["autoscaler"], "mode": "capacity", "stage": "200ms", "min_users": 6,
                                                                 "max_users": 6}})
    peak = "Peak capacity found: %.0f tok/s at 6 users" % result(summary, "peak_throughput_tok_s")
    assert summary["decisions"][-1]["reason"].startswith(peak), summary["decisions"]
    assert peak in [event["message"] for event in summary["events"]], summary["events"]
    assert peak in words(got.stdout), got
    assert result(summary, "users_at_peak") == result(summary, "autoscaler_users") == 6


@case("mode capacity without an answer names the best level so far, and never one stage, which may have had more")
def _():
    apart = 0
    for duration in ("12s", "30s"):
        path = home() / "work/summary.json"
        got = run(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--duration", duration, "--users", "5",
                   "--autoscaler", "capacity", "--json", path, *(word for one in (
                       "mode=simulate", "autoscaler.stage=2s", "autoscaler.settle=500ms") for word in ("--set", one))])
        assert got.rc == 0, got
        summary, text = json.loads(path.read_text()), words(section(got.stdout))
        peak, users = result(summary, "users_at_peak"), result(summary, "autoscaler_users")
        assert result(summary, "autoscaler_found") == 0 and "with %d users" % peak in text, text
        assert ("best so far: " in text) == (peak != users) and "in one stage" not in text, (peak, users, text)
        apart += peak != users
    assert apart > 0


# Urgent requests go first; the others have no target.
BATCH = """model: llama3.1-8b
mode: simulate
run: {duration: 600s, warmup: 5s}
tiers: {gpu: {capacity: 8GiB}, cpu: {capacity: 32GiB}, nvme: {capacity: 0}}
workload: {users: 10}
engine: {slots: 4}
qos: {latency: e2e, classes: [{name: urgent, share: 0.1, p95: 1s}, {name: batch, share: 0.9}]}
autoscaler: {max_users: 2000, when_found: stop}
"""


@case("mode qos finds users of whom a class without a target is served too, where slots are few and others go first")
def _():
    path, out = home() / "work/batch.yaml", home() / "work/batch.json"
    path.write_text(BATCH)

    def results(*options):
        got = run(["run", path, "--headless", "--quiet", "--db", "none", "--json", out, *options])
        assert got.rc == 0, got
        return json.loads(out.read_text())

    found = results("--autoscaler", "qos")
    users = result(found, "autoscaler_users")
    assert result(found, "autoscaler_found") == 1, found["decisions"]
    assert any("batch waited too long while others went first" in d["reason"] for d in found["decisions"]), found["decisions"]
    fixed = results("--users", "%d" % users)
    assert result(fixed, "class_batch_starved_s") < 0.05 * 600, users
    done = [result(fixed, "class_%s_done" % name) for name in ("urgent", "batch")]
    assert done[1] > done[0], (users, done)


# Paced users ask on unanswered: in the warm-up 20 of them ask for far more than two slots answer.
PACED = """model: llama3.1-8b
mode: simulate
run: {duration: 1200s, warmup: 10s}
tiers: {cpu: {capacity: 4GiB}, nvme: {capacity: 16GiB}}
workload: {users: 20, arrival: {process: paced}}
engine: {slots: 2}
cache: {granularity: block, block_tokens: 256}
qos: {classes: [{name: a}]}
autoscaler: {mode: capacity, settle: 2s, when_found: stop}
"""


@case("mode capacity counts no requests of the warm-up, and tells where they are answered until the end")
def _():
    path, out = home() / "work/paced.yaml", home() / "work/paced.json"
    path.write_text(PACED)

    def results(*options):
        got = run(["run", path, "--headless", "--quiet", "--overwrite", "--json", out, "--db", home() / "work/paced.db", *options])
        assert got.rc == 0, got
        return json.loads(out.read_text()), words(got.stdout)

    for seed in (1, 2):
        def fixed(users, seed=seed):
            return result(results("--autoscaler", "off", "--users", "%d" % users, "--seed", seed, "--duration", "600s", "--set", "run.warmup=0s")[0],
                          "throughput_tok_s")

        found, _ = results("--seed", seed)
        users = result(found, "autoscaler_users")
        assert result(found, "autoscaler_found") == 1 and users > 2, found["decisions"]
        assert fixed(users) > 1.1 * fixed(users / 2), users
        assert result(found, "peak_throughput_tok_s") < 1.3 * fixed(users), users
    cut, text = results("--seed", "1", "--duration", "35s")
    assert result(cut, "autoscaler_found") == 0 and result(cut, "autoscaler_users") is None, cut["decisions"]
    assert "no stage has ended; requests from before the last change of users are still waited for" in text, text
    assert result(cut, "requests_done") > 2 * result(cut, "requests_arrived") and "more was done than arrived" in text, text
    stored = run(["history", "--json", "--db", home() / "work/paced.db"])
    assert json.loads(stored.stdout)[0]["undone"] == "much of its work began before the measured part", stored
    view = run(["sql", "SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1", "--json", "--db", home() / "work/paced.db"])
    assert json.loads(view.stdout) == [{"comparable": 0}], view


@case("beside an answer a warning says that lookups missed, where a miss makes no work")
def _():
    scenario = {"mode": "simulate", "run.duration": "600s", "tiers": {"gpu": {"capacity": "2MiB", "backend": "emulated"}},
                "autoscaler": {"mode": "capacity", "stage": "2s", "settle": "500ms", "max_users": 64, "when_found": "stop"}}
    words_of = re.compile(r"([0-9.]+) % of lookups missed, and at granularity request a miss makes no work: less room can")
    for changes, said in (({}, True), ({"cache.granularity": "block"}, False), ({"tiers.gpu.capacity": "1GiB"}, False),
                          ({"run.duration": "4s"}, False)):
        got, summary = measure({**scenario, **changes})
        told = [words_of.search(text) for text in summary["verdict"]["warnings"]]
        missed = 1 - result(summary, "reuse_hit_ratio")
        assert [round(100 * missed, 1) for _ in range(said)] == [float(found.group(1)) for found in told if found], (changes, got)
        assert said == bool(words_of.search(words(got.stdout))), got
        assert all("cache.granularity: block a modelled GPU (compute.mode: roofline) computes" in found.string for found in told if found), got


@case("an estimate is no answer: a run doubts it as one, and a sweep names the points that have no more")
def _():
    scenario = {"name": "guess", "model": "llama3.1-8b", "mode": "simulate", "run": {"warmup": "120s", "duration": "300s"}, "seed": 42,
                "tiers": {"cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "8GiB"}}, "qos": {"classes": [{"name": "chat", "share": 1, "p95": "1s"}]},
                "workload": {"users": 10, "personas": [{"name": "c", "context": [512, 4096], "generate": [50, 200], "think": ["1s", "3s"]}]},
                "autoscaler": {"mode": "qos", "settle": "10s", "stage": "20s"},
                "sweep": {"keys": {"tiers.nvme.capacity": ["8GiB", "100GiB"]}, "metrics": "autoscaler_users"}}
    (home() / "work/guess.yaml").write_text(json.dumps(scenario))
    db, out = home() / "work/guess.db", home() / "work/guess.json"
    got = run(["run", home() / "work/guess.yaml", "--headless", "--quiet", "--json", out])
    summary = json.loads(out.read_text())
    assert result(summary, "autoscaler_found") == 0 and result(summary, "autoscaler_users") > 0, (got, summary["decisions"])
    assert "at granularity request a miss makes no work: less room can give the autoscaler a better answer" in words(got.stdout), got
    got = run(["sweep", home() / "work/guess.yaml", "--headless", "--quiet", "--db", db])
    report = run(["report", "sweep:1", "--db", db, "--format", "md", "-o", "-"])
    for text in got.stdout, report.stdout:
        assert "The autoscaler found no answer at points 1 and 2: the users there are its best estimate." in words(text), (got, report)
        assert "users found" not in text and "autoscaler users" in text, text


@case("beside an answer, or an estimate, a warning says that many lookups missed what had been there, where nothing computes it")
def _():
    scenario = {"mode": "simulate", "run.duration": "600s", "cache.granularity": "block", "tiers": {"cpu": {"capacity": "2MiB"}},
                "autoscaler": {"mode": "capacity", "stage": "2s", "settle": "500ms", "max_users": 64, "when_found": "stop"}}
    words_of = re.compile(r"([0-9.]+) % of lookups missed what had been there, .*: less room can .*a modelled GPU \(compute.mode: roofline\) computes it")
    for changes, said in (({}, True), ({"tiers": {"cpu": {"capacity": "1GiB"}}}, False), ({"run.duration": "4s"}, True), ({"run.duration": "2s"}, False),
                          ({"compute": {"mode": "roofline", "gpu": "h100"}}, False)):
        _, summary = measure({**scenario, **changes})
        told = [found for found in map(words_of.search, summary["verdict"]["warnings"]) if found]
        if "run.duration" in changes:  # an estimate is no less of other work; without either there is nothing to doubt
            assert result(summary, "autoscaler_found") == 0 and (result(summary, "autoscaler_users") is not None) == said, summary["results"]
        assert len(told) == said, (changes, summary["verdict"], summary["decisions"])
        if said:
            missed = {one["name"]: one["value"] for one in summary["verdict"]["evidence"]}["capacity_miss_ratio"]
            assert missed >= 0.2 and round(100 * missed, 1) == float(told[0].group(1)), (missed, told)
        if "compute" in changes:
            assert result(summary, "autoscaler_found") == 1 and result(summary, "reuse_hit_ratio") < 0.8, summary["results"]


# Conversations of 39 turns in the mean, a turn every 10 s: the first minute of users who begin at their first turn is no measure.
LONG = {**SLOTS, "engine": {"slots": 1000}, "tiers": {"cpu": {"capacity": "2TiB"}}, "compute": {"mode": "none"},
        "workload": {"users": 60, "conversation": {"end_probability": 0.02, "max_turns": 75}, "personas": [
            {"name": "c", "context": [128, 1024], "generate": [50, 200], "think": ["5s", "15s"], "spread": 0.25}]},
        "autoscaler": {"min_users": 60, "max_users": 60, "settle": "0s"}}


@case("users of a search begin amid conversations, which are read as in a long run, and count no lookups that missed")
def _():
    def read(granularity, **settings):
        got = sought(LONG, cache__granularity=granularity, **settings)
        return result(got, "cpu_read_bytes") / result(got, "requests_done"), result(got, "reuse_hit_ratio")

    for granularity, more in (("block", {}), ("request", {"workload__phase": "prefill"})):
        steady, _ = read(granularity, run__warmup="2000s", run__duration="1000s", **more)
        young, _ = read(granularity, run__warmup="20s", run__duration="60s", **more)
        amid, hits = read(granularity, run__warmup="20s", run__duration="60s", autoscaler__mode="qos", **more)
        assert young < 0.5 * steady and 0.8 * steady < amid < 1.2 * steady, (granularity, young, amid, steady)
        assert hits > 0.95, (granularity, hits)


@case("beside an answer a warning says that conversations last longer than the hold")
def _():
    for ends, hold, told in ((0.02, "40ms", True), (1, "40ms", False), (0.02, "100s", False)):
        _, summary = measure({**EASY, "run.duration": "300s", "workload.conversation.end_probability": ends,
                              "autoscaler": {**EASY["autoscaler"], "hold": hold}})
        warned = [text for text in summary["verdict"]["warnings"] if text.startswith("a conversation takes ")]
        assert result(summary, "autoscaler_found") == 1 and bool(warned) == told, (ends, hold, summary["verdict"])


@case("mode qos: an answer is held until the contexts of its users average out, or is none yet")
def _():
    slow = {"run": {"duration": "10800s"}, "model": "llama3.1-8b", "mode": "simulate", "seed": 3,
            "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": 0}, "nvme": {"capacity": "1TiB"}},
            "workload": {"users": 20, "personas": [{"name": "a", "context": [2000, 2000], "generate": [100, 100],
                                                    "think": ["15s", "15s"], "spread": 0.25}]},
            "qos": {"latency": "e2e", "classes": [{"name": "a", "share": 1, "p95": "3s"}]},
            "autoscaler": {"mode": "qos", "max_users": 1000, "when_found": "stop"}}
    summary = sought(slow)  # 60 with fixed numbers of users; 73 in a hold of 20 s
    assert result(summary, "autoscaler_found") == 1 and 57 <= result(summary, "autoscaler_users") <= 63, summary["decisions"]
    summary = sought(slow, run__duration="1200s")
    last = summary["decisions"][-1]["reason"]
    assert result(summary, "autoscaler_found") == 0, summary["decisions"]
    assert "are good so far" in last and "in which their contexts average out; the search needs about" in last, last


@case("a run that ends before an answer says what it knows, and that it was too short")
def _():
    got, summary = measure({**EASY, "run.duration": "400ms", "autoscaler": {"mode": "qos", "settle": "0s", "stage": "20s"}})
    assert [d["action"] for d in summary["decisions"]] == ["start", "end"]
    assert result(summary, "autoscaler_users") is None and result(summary, "autoscaler_found") == 0
    assert "no answer" in words(section(got.stdout)) and "--" not in section(got.stdout), got
    assert "run.duration 0.4 s less autoscaler.hold, 20 s, has room for 0 stages of 20 s" in words(got.stdout), got


@case("saturation is told without an autoscaler")
def _():
    _, summary = measure({**EASY, "run.duration": "300ms", "autoscaler": None})
    told = rows("SELECT saturation FROM intervals WHERE run_id = ? AND done > 0 AND phase = 'measured'", last_run()["run_id"])
    values = [row["saturation"] for row in told]
    assert values and all(0 <= value <= 1 for value in values), values
    assert summary["decisions"] == [] and "autoscaler_users" not in summary["results"]


@case("a run of many decisions shows the first and the last of them")
def _():
    got, _ = measure({**EASY, "autoscaler": {**EASY["autoscaler"], "growth": 1.05}})
    text = section(got.stdout)
    left = re.search(r"\.\.\. +(\d+) more", text)
    decisions = int(re.search(r"(\d+) decisions", text).group(1))
    assert left and decisions - int(left.group(1)) == 12, text
    assert len(re.findall(r"^  \S+ (?:ms|s) ", text, re.MULTILINE)) == 12, text


@case("what it cannot steer is an error of the scenario that says why")
def _():
    (home() / "work/rows.csv").write_text("op,key,tokens\nwrite,a,64\n")
    source = {"workload": {"source": "ops", "path": "rows.csv"}, "tiers": {"cpu": {"capacity": "3MiB"}}}
    for changes, key, why in (
            ({"workload.arrival": {"process": "poisson", "rate": 10}}, "workload.arrival.process", "do not come from users"),
            (source, "workload.source", "source ops has one"),
            ({"run.max_requests": 100}, "run.max_requests", "users that the autoscaler adds get none"),
            ({"workload.phase": "decode"}, "workload.phase", "users that the autoscaler adds have none"),
            ({"autoscaler": {"mode": "qos", "min_users": 30, "max_users": 20}}, "autoscaler.min_users", "is more than"),
            ({"qos": {"classes": [{"name": "all"}]}}, "autoscaler.signal", "needs a class with a p95"),
            ({"autoscaler": {"mode": "qos", "signal": "saturation", "target_saturation": 0}},
             "autoscaler.target_saturation", "leaves room for nobody"),
            ({"autoscaler": {"mode": "qos", "signal": "saturation", "weights": {"latency": 0, "queue": 0, "device": 0}}},
             "autoscaler.weights.latency", "all weights"),
            ({"autoscaler": {"mode": "capacity", "objective": "nvme_tok_s"}}, "autoscaler.objective", "which is off")):
        write({**EASY, **changes})
        refused(["check", "small.yaml"], key, why)
    write({**EASY, "run.max_requests": 100, "autoscaler": None})
    assert run(["check", "small.yaml"]).rc == 0
    refused(["run", "--headless", "small.yaml", "--autoscaler", "qos"], "run.max_requests")
    refused(["run", "--headless", "small.yaml", "--autoscaler", "fast"], "autoscaler.mode", "qos")


main()
