#!/usr/bin/env python3
"""What a run is said to be, and how it stands: from the values that held, and of every trial."""
import json
import re

import books
from histories import add_run, insert, make
from runs import last_run, measure, rows, scenario
from tap import SOURCE, case, home, main, run

SIMULATED = ["--headless", "--quiet", "--set", "mode=simulate", "--duration", "20s", "--json",
             "summary.json"]


@case("a run of a shipped scenario with other values is described by these, wherever it is described")
def _():
    got = run(["run", SOURCE / "configs/three-tier.yaml", *SIMULATED, "--users", "20", "--gpu", "256MiB", "--cpu", "1GiB"])
    assert got.rc == 0, got
    said = "20 users of llama3.1-8b on gpu 256 MiB, cpu 1.00 GiB, nvme 16.0 GiB, for 20s"
    assert json.loads((home() / "work/summary.json").read_text())["run"]["description"] == said
    for args in (["show"], ["report", "latest", "--format", "txt"], ["report", "latest", "--format", "md"], ["report", "latest"]):
        text = " ".join(run(args).stdout.split())
        assert said in text and "100 users" not in text.split("Keys that differ")[0], (args, text[:900])


@case("a run has the name of its scenario, else that of the file, and one from nowhere is the quickstart")
def _():
    text = json.dumps(scenario({"name": None, "mode": "simulate"}))
    for name, told in (("mine.yaml", "mine"), ("mine.v2.yaml", "mine.v2"), (".hidden", ".hidden"), ("a\033[1mb.yml", "a?[1mb")):
        (home() / "work" / name).write_text(text)
        for path in (name, home() / "work" / name):
            got = run(["run", path, "--headless", "--quiet"])
            assert got.rc == 0 and last_run()["name"] == told and got.stdout.startswith("COMPLETED   %s  " % told), got
    assert run(["run", "mine.yaml", "--headless", "--quiet", "--set", "name=other"]).rc == 0 and last_run()["name"] == "other"
    assert run(["run", "-", "--headless", "--quiet"], input=text).rc == 0 and last_run()["name"] == "quickstart"


@case("what arrives is told by its process, and a phase by its name")
def _():
    for settings, said in ((["workload.arrival={process: poisson, rate: 2.5}"], "2.5 requests/s of llama3.1-8b, poisson on "),
                           (["workload.phase=prefill", "workload.users=3"], "3 users of llama3.1-8b, prefill alone on "),
                           (["model={preset: tiny-1b, dtype: fp8}"], " of tiny-1b in fp8 on "),
                           (["autoscaler.mode=qos"], ", autoscaler qos on "),
                           (["workload.arrival={process: poisson, rate: 1}"], "1 request/s of "),
                           (["fleet.pods=2", "tiers.nvme.capacity=0", "fleet.outages=[{pod: 1, at: 0s, for: 10m}]"],
                            " on 2 pods, each with gpu 2.00 GiB, cpu 4.00 GiB, with 1 outage, for 20s"),
                           (["fleet.pods=2", "tiers.nvme.capacity=0", "fleet.outages=[{pod: 1, at: 10m, for: 10m}]"],
                            " on 2 pods, each with gpu 2.00 GiB, cpu 4.00 GiB, for 20s"),
                           (["fleet.pods=3", "tiers.remote.capacity=8GiB", "tiers.nvme.capacity=0"],
                            " on 3 pods, each with gpu 2.00 GiB, cpu 4.00 GiB, and a shared remote 8.00 GiB, for 20s")):
        got = run(["run", SOURCE / "configs/three-tier.yaml", *SIMULATED, "--force",
                   *(word for one in settings for word in ("--set", one))])
        assert got.rc == 0, got
        told = json.loads((home() / "work/summary.json").read_text())["run"]["description"]
        assert said in told, (settings, told)


@case("a run that ends with its last request says how many it is for")
def _():
    for most, said in ((1, ", for 1 request, at most 20s"), (7, ", for 7 requests, at most 20s"), (0, ", for 20s")):
        (home() / "work/summary.json").unlink(missing_ok=True)
        got = run(["run", SOURCE / "configs/three-tier.yaml", *SIMULATED, "--set", "run.max_requests=%d" % most])
        assert got.rc == 0, got
        told = json.loads((home() / "work/summary.json").read_text())["run"]["description"]
        assert told.endswith(said), told


@case("a simulated drive that is slow, and whose model has no stalls, is not said to stall")
def _():
    slow = ["tiers.nvme.write_bandwidth=100MB/s", "tiers.nvme.read_bandwidth=200MB/s"]
    (home() / "work/summary.json").unlink(missing_ok=True)
    got = run(["run", SOURCE / "configs/three-tier.yaml", *SIMULATED, "--users", "50", *(word for one in slow for word in ("--set", one))])
    summary = json.loads((home() / "work/summary.json").read_text())
    assert got.rc == 0 and summary["results"]["nvme_busy_ratio"]["value"] > 0.99, got
    assert summary["results"]["nvme_stall_ms"]["value"] == 0 and "stalled" not in got.stdout, got


@case("what a search says of a number of users follows from the figures beside it")
def _():
    for mode, users in (("qos", 1), ("capacity", 1)):
        (home() / "work/summary.json").unlink(missing_ok=True)
        got = run(["run", SOURCE / "configs/three-tier.yaml", *SIMULATED, "--users", users, "--autoscaler", mode, "--gpu", "0",
                   "--nvme", "100GiB", "--duration", "900s"])
        assert got.rc == 0, got
        said = 0
        for one in json.loads((home() / "work/summary.json").read_text())["decisions"]:
            less = re.search(r"([0-9.]+) % less than the best, [^:;]*: as good", one["reason"])
            assert not less or float(less[1]) <= 2, one["reason"]  # the tolerance
            over = re.search(r"P95 ([0-9.]+) (us|ms|s) of .*?; ([0-9.]+) % of [0-9]+ requests? over ([0-9.]+) ms", one["reason"])
            if over and float(over[3]) > 5:  # of this stage alone
                assert float(over[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[over[2]] > float(over[4]), one["reason"]
            said += "best, " in one["reason"] or " over " in one["reason"]
        assert said > 5, got


@case("how busy a link of two directions is does not hang on the interval")
def _():
    keys = ("tiers.gpu.capacity=0 tiers.cpu.capacity=4GiB tiers.nvme.capacity=1GiB tiers.remote.capacity=256GiB model=llama3.2-3b "
            "workload.users=6 workload.arrival.process=gamma workload.arrival.rate=10 cache.granularity=block cache.eviction=ttl "
            "workload.prefix.probability=0.5 engine.slots=8 mode=simulate run.warmup=20s seed=1106").split()
    keys.append("qos.classes=[{name: a, share: 0.5, p95: 5s}, {name: b, share: 0.5}]")
    said = []
    for interval in ("500ms", "10s"):
        (home() / "work/summary.json").unlink(missing_ok=True)
        got = run(["run", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--json", "summary.json", "--duration", "300s",
                   *(word for key in [*keys, "run.interval=" + interval] for word in ("--set", key))])
        assert got.rc == 0, got
        summary = json.loads((home() / "work/summary.json").read_text())
        evidence = {e["name"]: e["value"] for e in summary["verdict"]["evidence"]}
        busy = [summary["results"]["remote_%sbusy_ratio" % way]["value"] for way in ("read_", "write_", "")]
        assert 0.3 < busy[0] < busy[1] == busy[2] < 0.95, busy  # now the one direction is full, now the other
        assert abs(evidence["remote_link_busy"] - busy[2]) < 1e-6, (evidence["remote_link_busy"], busy)
        assert abs(evidence["remote_busy"] - busy[2]) < 1e-6, (evidence["remote_busy"], busy)
        said.append(summary["verdict"]["sentence"])
    assert said[0] == said[1], said


@case("the banner counts targets missed and the criteria of every trial")
def _():
    with make() as db:
        for trial in (1, 2):
            results = {"measured_s": 5, "throughput_tok_s": 5, "slo_batch_p95_met": 1, "slo_batch_p99_met": trial - 1}
            run_id = add_run(db, results=results, parent_id=1, trial=trial, effective_json=json.dumps({"run": {"trials": 2}}))
            insert(db, "run_classes", run_id=run_id, n=0, **{"class": "batch"}, share=1, p95_ms=1, p99_ms=2)
            for n in (0, 1):
                insert(db, "criteria", run_id=run_id, n=n, name="c%d" % n, metric="hit_ratio", op=">", target=0.3, actual=0.5,
                       unit="", passed=1 if n or trial == 2 else 0)
    text = run(["report", "1", "--format", "txt"]).stdout
    assert "2 trials: 1 of 4 targets missed, 3 of 4 criteria passed." in " ".join(text.split()), text
    text = run(["show", "1"]).stdout
    assert "1 of 4 targets missed, 3 of 4 criteria passed" in " ".join(text.split()), text
    text = run(["show", "2", "--json"]).stdout
    assert json.loads(text)["run"]["trial"] == 2


@case("a trial that failed has neither met targets nor passed criteria, whatever it did until then")
def _():
    with make() as db:
        for trial in (1, 2, 3):
            results = {"measured_s": 5, "throughput_tok_s": 5, "slo_batch_p95_met": 1}
            run_id = add_run(db, results=results, parent_id=1, trial=trial, status="failed" if trial == 2 else "completed",
                             effective_json=json.dumps({"run": {"trials": 3}}))
            insert(db, "run_classes", run_id=run_id, n=0, **{"class": "batch"}, share=1, p95_ms=1, p99_ms=2)
            insert(db, "criteria", run_id=run_id, n=0, name="c", metric="hit_ratio", op=">", target=0.3, actual=0.5, unit="", passed=1)
    text = " ".join(run(["report", "1", "--format", "txt"]).stdout.split())
    assert "3 trials: 1 of 3 trials failed, of the others all 2 targets met, 2 of 2 criteria passed." in text, text
    assert "targets and criteria not judged" in run(["show", "2"]).stdout


@case("the criteria of a run that failed neither pass nor fail, in any form and whatever the database has")
def _():
    with make() as db:
        run_id = add_run(db, results={"measured_s": 5, "throughput_tok_s": 5}, status="failed", status_reason="a tier broke")
        for n, passed in enumerate((1, 0)):
            insert(db, "criteria", run_id=run_id, n=n, name="crit %d" % n, metric="hit_ratio", op=">", target=0.3 + n, actual=0.5,
                   unit="", passed=passed)
    shown = run(["show", "1", "--criteria"]).stdout
    assert re.search(r"Assessment +not judged, as the run failed\n", shown), shown
    for text in (shown, *(run(["report", "1", "--format", form]).stdout for form in ("txt", "md", "html"))):
        assert "crit 0" in text and not re.search(r"\b(PASS|FAIL)\b|criteria passed", text), text
    judged = [one["passed"] for one in json.loads(run(["show", "1", "--json"]).stdout)["criteria"]]
    assert judged == [None, None], judged
    book = run(["export", "1", "-o", "failed.xlsx", "--overwrite"])
    sheets, _ = books.read((home() / "work/failed.xlsx").read_bytes())
    verdicts = [cell for cell in sheets["summary"].cells.values() if cell in ("PASS", "FAIL", "not judged")]
    assert verdicts == ["not judged"] * 2, (verdicts, sheets["summary"].cells, book)
    health = json.loads(run(["export", "1", "--format", "mlperf"]).stdout)
    assert "overall_passed" not in health and health["summary"]["cache_stats"]["storage_health"]["overall_status"] is None, health
    counts = rows("SELECT criteria_passed, criteria_judged FROM run_summary")
    assert counts == [{"criteria_passed": 0, "criteria_judged": 0}], counts
    figures = run(["export", "1", "--format", "prometheus"]).stdout
    assert not re.search(r'result_criterion_passed\{.*\} [01]\b', figures), figures


def stands(targets, results, ended):
    """What the summary and the JSON say of a run with these targets of one class, of which so many requests ended."""
    with make() as db:
        results = {"measured_s": 5, "throughput_tok_s": 5, "class_batch_done": ended, "class_batch_arrived": ended, **results}
        run_id = add_run(db, results=results)
        insert(db, "run_classes", run_id=run_id, n=0, **{"class": "batch"}, share=1, **targets)
    said = " ".join(run(["show", "latest"]).stdout.split())
    return said, json.loads(run(["show", "latest", "--json"]).stdout)["run"]["not_judged"]


@case("a target with too few requests for its percentile is told as not judged, with the number that it needs")
def _():
    said, alone = stands({"p99_ms": 2}, {}, 46)
    assert "Result 1 target not judged (46 of 100 requests that its percentile needs)" in said, said
    assert alone == "1 target not judged (46 of 100 requests that its percentile needs)", alone
    said, alone = stands({"p95_ms": 1, "p99_ms": 2, "p999_ms": 3}, {"slo_batch_p95_met": 1}, 46)
    assert "Result 1 of 3 targets met, 2 not judged (46 of 100 or more requests that their percentiles need)" in said, said
    assert alone.startswith("2 targets not judged ("), alone
    said, alone = stands({"p95_ms": 1, "p99_ms": 2, "p999_ms": 3}, {"slo_batch_p95_met": 1, "slo_batch_p99_met": 0}, 999)
    assert "Result 1 of 3 targets missed, 1 not judged (999 of 1000 requests that its percentile needs)" in said, said
    said, alone = stands({"p95_ms": 1}, {"slo_batch_p95_met": 1}, 46)
    assert "the one target met" in said and "not judged" not in said and alone is None, (said, alone)
    said, alone = stands({"p95_ms": 1}, {}, 0)
    assert "not judged" not in said and alone is None, "a class that nobody belonged to"
    said, alone = stands({"p95_ms": 1, "p99_ms": 2}, {"class_batch_arrived": 5}, 0)
    assert alone == "2 targets not judged (no request of the class ended)" and "Result " + alone in said, said
    said, alone = stands({"p95_ms": 1, "p99_ms": 2}, {"slo_batch_p95_met": 1}, 2000)
    assert alone == "1 target not judged (intervals of merged ranks are left out)" and "1 of 2 targets met" in said, said


@case("how targets stand is told in the same words in a workbook, in the mlperf export and in a report")
def _():
    stands({"p95_ms": 1, "p99_ms": 2, "p999_ms": 3}, {"slo_batch_p95_met": 1, "slo_batch_p99_met": 0}, 999)
    stands({"p95_ms": 1}, {"class_batch_arrived": 5}, 0)
    got = run(["export", "1", "2", "-o", "both.xlsx", "--overwrite"])
    assert got.rc == 0, got
    sheets, _ = books.read((home() / "work/both.xlsx").read_bytes())
    few, none = "not judged (999 of 1000 requests that its percentile needs)", "not judged (no request of the class ended)"
    assert sheets["summary"].row("targets of classes") == {1: "1 of 3 targets missed, 1 " + few, 2: "1 target " + none}
    first, second = sheets["qos"].table()
    assert [first.get(level + " verdict") for level in ("p95", "p99", "p999", "p9999")] == ["met", "missed", few, None], first
    assert [second.get(level + " verdict") for level in ("p95", "p99")] == [none, None], second
    for run_id, met, why in (("1", True, None), ("2", None, none)):
        got = json.loads(run(["export", run_id, "--format", "mlperf"]).stdout)["summary"]["qos_metrics"]["batch"]["sla"]
        assert (got["met"], got["not_judged"]) == (met, why), got
    assert "| met |" in run(["report", "1", "--format", "md"]).stdout
    assert "| %s |" % none in run(["report", "2", "--format", "md"]).stdout


SLOW = """
name: slow
model: llama3.1-8b
mode: simulate
run: {duration: 60s, warmup: 5s}
tiers: {cpu: {capacity: 4GiB}, nvme: {capacity: 1TiB}}
workload:
  users: 4
  personas: [{name: a, context: [500, 600], generate: [20, 30], think: [1s, 2s], spread: 1}]
qos: {latency: e2e, classes: [{name: a, share: 1, p99: %s}]}
compute: {mode: fixed, ms_per_token: 150}
assess: {profile: throughput}
"""


@case("of too few requests a target is missed where a lower percentile is beyond it, and never met")
def _():
    with make():
        pass
    path = home() / "work/slow.yaml"
    for target, result in (("500ms", "2 of 2 targets missed"), ("20s", "1 of 2 targets met, 1 not judged (")):
        path.write_text(SLOW % target)
        text = " ".join(run(["run", str(path), "--headless", "--db", "none"]).stdout.split())
        assert "Result " + result in text and "all targets met" not in text, text


@case("one target is told as one")
def _():
    for met, word in ((0, "missed"), (1, "met")):
        with make() as db:
            run_id = add_run(db, results={"measured_s": 5, "throughput_tok_s": 5, "slo_batch_p95_met": met})
            insert(db, "run_classes", run_id=run_id, n=0, **{"class": "batch"}, share=1, p95_ms=1, p99_ms=2)
        assert "the one target %s" % word in run(["show", "latest"]).stdout


main()
