#!/usr/bin/env python3
"""kvfall plan: the answer against simulations of every machine, limits, targets, catalogues that are wrong, forms."""
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import termios

from runs import unwrapped, write
from tap import SOURCE, case, database, finish, home, main, run, spawn

YEARS, ELECTRICITY, PUE = 4, 0.1, 1.25
SERVER = {"price": 1000, "watts": 100}
GPU = {"name": "G", "gpu": "h100", "count": [1, 2], "price": 3000, "watts": 500, "link": "1GB/s", "source": "made up"}
RAM = {"name": "M", "sizes": ["256MiB", "1GiB", "4GiB"], "price": 500, "watts": 2, "source": "made up"}
SLOW = {"name": "slow", "count": [1, 2], "capacity": "4GB", "read_bandwidth": "100MB/s", "write_bandwidth": "100MB/s",
        "latency": "100us", "price": 50, "watts": 5, "endurance": "1000TB", "source": "made up"}
FAST = {**SLOW, "name": "fast", "read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s", "price": 400}
PARTS = {"catalogue": {"name": "made-up", "date": "2026-11-23", "currency": "EUR"}, "server": SERVER,
         "limits": {"gpus": 2, "drives": 2, "ram": "4GiB", "watts": 5000},
         "costs": {"years": YEARS, "electricity": ELECTRICITY, "pue": PUE},
         "gpus": [GPU], "ram": [RAM], "drives": [SLOW, FAST]}
# One GPU holds the weights of tiny-1b and 0.6 GiB of KV; the contexts of 60 users take more than a GiB.
LOAD = {"model": {"preset": "tiny-1b"}, "mode": "simulate", "seed": 7,
        "run": {"duration": "40s", "warmup": "60s", "interval": "5s"},
        "tiers": {"gpu": {"capacity": "auto", "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s"},
                  "cpu": {"capacity": "1GiB"}, "nvme": {"capacity": "4GB", "path": "."}},
        "cache": {"granularity": "block", "block_tokens": 64, "headroom": 0, "placement": "inclusive"},
        "compute": {"mode": "roofline", "gpu": "h100", "vram": "2500MiB", "activation_margin": "0", "peak_flops": 2e13,
                    "gpu_memory_utilization": 1},
        "workload": {"users": 60, "arrival": {"process": "closed"},
                     "personas": [{"name": "chat", "context": [100, 400], "generate": [20, 80], "think": ["4s", "12s"]}],
                     "conversation": {"end_probability": 0.1, "max_turns": 12}, "prefix": {"probability": 0}},
        "qos": {"classes": [{"name": "all", "share": 1, "p95": "350ms"}]}}


def catalogue(name="parts.yaml", **sections):
    path = home() / "work" / name
    path.write_text(json.dumps({**PARTS, **sections}))
    return path


def scenario(**changes):
    path = home() / "work/load.yaml"
    path.write_text(json.dumps({"name": "load", **LOAD, **changes}))
    return path


def plan(*options, rc=0, parts=None, load=None):
    """Makes a plan; returns its Result and what --json says."""
    got = run(["plan", load or scenario(), "--parts", parts or catalogue(), "--headless", "--json", "plan.json", *options])
    assert got.rc == rc, got
    path = home() / "work/plan.json"
    return got, json.loads(path.read_text()) if path.exists() else None


def simulated(machine):
    """The results of the command that the plan prints for a machine."""
    words = shlex.split(machine["command"])
    assert words[:2] == ["kvfall", "run"], words
    got = run(words[1:] + ["--headless", "--quiet", "--db", "none", "--json", "-"])
    assert got.rc == 0, got
    return {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}


def options_of(machine):
    """(GPUs, GiB of memory, drives' number and kind) by their names."""
    drives = machine["drives"].split(" x ")
    gib = {"256 MiB of M": 0.25, "1.00 GiB of M": 1, "4.00 GiB of M": 4, "none": 0}[machine["memory"]]
    return int(machine["gpus"].split()[0]), gib, (int(drives[0]) if len(drives) == 2 else 0), drives[-1]


def hourly(machine, results):
    """What an hour costs, worked out from the catalogue and the results."""
    gpus, gib, drives, kind = options_of(machine)
    of = {"slow": SLOW, "fast": FAST, "none": {"price": 0, "watts": 0}}[kind]
    price = SERVER["price"] + gpus * GPU["price"] + gib * RAM["price"] + drives * of["price"]
    watts = SERVER["watts"] + gpus * GPU["watts"] + gib * RAM["watts"] + drives * of["watts"]
    price, watts, drives = price * machine["servers"], watts * machine["servers"], drives * machine["servers"]
    if drives:
        life = drives * 1e15 / (results["nvme_write_bytes"] / results["measured_s"] * 86400) / 365.25
        price += max(0, YEARS / life - 1) * drives * of["price"]
    assert (price, watts) == (machine["price"], machine["watts"]) or drives, machine
    return price / (YEARS * 8766) + watts * PUE / 1000 * ELECTRICITY


def phrase(name):
    """A machine of one server as the sentence names it."""
    first, *rest = name.split(", ")
    return first + (" with " if rest else "") + " and ".join(rest)


@case("the answer is that of simulating every machine in full")
def _():
    got, out = plan()
    machines = out["machines"]
    assert len(machines) == 2 * 3 * 5, len(machines)
    costs = {}
    for machine in machines:
        results = simulated(machine)
        machine["passes"] = results["slo_all_p95_met"] == 1
        machine["costs"] = hourly(machine, results)
        if machine["passes"]:
            costs[machine["name"]] = machine["costs"]
        if machine["full"]:
            for name in ("throughput_tok_s", "ttft_p95_ms"):
                assert machine["full"][name] == results[name], (name, machine)
            assert abs(machine["full"]["cost_per_hour"] - machine["costs"]) < 1e-9 * machine["costs"], machine
            tokens = results["throughput_tok_s"] * 3600
            assert abs(machine["full"]["cost_per_million_tokens"] * tokens / 1e6 - machine["costs"]) < 1e-9, machine
        if machine["state"] in ("meets", "misses") and machine["full"]:
            assert (machine["state"] == "meets") == machine["passes"], machine
    assert 0 < len(costs) < len(machines), costs
    assert out["pick"] == min(costs, key=costs.get), (out["pick"], costs)
    assert all(not machine["passes"] for machine in machines if machine["state"] == "has_less"), machines
    states = {machine["state"] for machine in machines}
    assert {"meets", "misses"} <= states and out["simulated"] < 2 * len(machines), (states, out["simulated"])
    assert abs(out["short_against_full"]) < 0.1, out["short_against_full"]
    cheaper = [machine for machine in machines if machine["name"] == out["next_cheaper"]]
    assert not cheaper or cheaper[0]["state"] == "misses", cheaper
    first = " ".join(got.stdout.split("FOUND", 1)[1].split("\n\n")[0].split())
    assert first.startswith(phrase(out["pick"]) + " carries 60 users within every P95 target, while a tier still filled, at ") and "EUR a million" in first, first
    assert first == out["sentence"], (first, out["sentence"])


@case("the front has no machine that another one beats")
def _():
    _, out = plan()
    front = [machine for machine in out["machines"] if machine["front"]]
    assert front, out

    def axes(machine):
        of = machine["short"] or machine["full"]
        return of["cost_per_million_tokens"], of["ttft_p95_ms"], machine["watts"]

    met = [machine for machine in out["machines"] if machine["state"] == "meets"]
    for machine in met:
        beaten = any(all(a <= b for a, b in zip(axes(other), axes(machine))) and axes(other) != axes(machine) for other in met)
        assert machine["front"] != beaten, (machine, axes(machine))


@case("the same with one job and with several")
def _():
    _, one = plan("--jobs", "1")
    _, three = plan("--jobs", "3")
    del one["took_s"], three["took_s"]
    assert one == three


@case("limits leave machines out, and are named when nothing is left")
def _():
    _, out = plan(parts=catalogue(limits={"gpus": 1, "drives": 1}))
    sizes = [options_of(machine) for machine in out["machines"]]
    assert len(sizes) == 1 * 3 * 3 and all(gpus == 1 and drives <= 1 for gpus, _, drives, _ in sizes), sizes
    _, out = plan(parts=catalogue(limits={"watts": 616}))  # 100, 500, 2 a GiB, 5 a drive
    assert max(machine["watts"] for machine in out["machines"]) == 613, out["machines"]
    assert len(out["machines"]) == 3 * 5 - 2, out["machines"]
    got = run(["plan", scenario(), "--parts", catalogue(limits={"gpus": 0}), "--headless"])
    assert got.rc == 2 and "within its limits" in got.stderr and " 30, 0, 0 and 0 " in got.stderr, got


@case("a target of the command line decides; one that nothing meets is said, with status 3")
def _():
    _, easy = plan("--target", "all.p95=60s")
    cheapest = min(easy["machines"], key=lambda machine: machine["least_cost_per_hour"])
    assert easy["pick"] == cheapest["name"] and easy["next_cheaper"] is None, easy["pick"]
    assert "no machine of the catalogue is cheaper" in easy["sentence"], easy["sentence"]
    assert cheapest["full"]["classes"]["all"]["target_ms"] == 60000, cheapest
    got, hard = plan("--target", "all.p95=1us", rc=3)
    assert hard["pick"] is None and hard["sentence"].startswith("No machine of the catalogue carries 60 users"), hard
    assert "misses all P95 by " in hard["sentence"] and "NONE" in got.stdout, hard["sentence"]
    in_full = [one for one in hard["machines"] if one["full"]]
    assert in_full or hard["sentence"].endswith(" in the search's short simulation."), hard["sentence"]
    for text, words in (("none.p95=1s", 'no class "none"'), ("all.p95=", "CLASS.p95=TIME"), ("all=1s", "CLASS.p95=TIME")):
        got = run(["plan", scenario(), "--parts", catalogue(), "--target", text])
        assert got.rc == 2 and words in got.stderr, got


@case("a machine whose queue still fills when the run ends carries nothing, however long its targets")
def _():
    slow = {**LOAD["workload"], "users": 20000, "personas": [{"name": "chat", "context": [100, 400], "generate": [20, 80], "think": ["60s", "120s"]}]}
    filling = {"workload": slow, "engine": {"slots": 4}, "run": {"duration": "60s", "warmup": "10s", "interval": "5s"}}
    for target, met in (("69s", True), ("71s", None)):
        _, out = plan("--target", "all.p95=%s" % target, load=scenario(**filling), rc=3)
        assert out["pick"] is None and "of the arrivals left waiting" in out["sentence"], out["sentence"]
        assert out["machines"][0]["full"]["classes"]["all"]["met"] is met, out["machines"][0]


@case("a machine that drops arrivals carries nothing, though fewer than a twentieth of them are")
def _():
    # as many arrivals may wait as one GPU lets wait once in a while
    dropping = {"engine": {"slots": 12, "queue_limit": 1}}
    _, out = plan("--target", "all.p95=60s", load=scenario(**dropping))
    runs = {machine["name"]: (machine, simulated(machine)) for machine in out["machines"] if machine["state"] in ("meets", "misses")}
    told = [name for name, (machine, results) in runs.items() if results["slo_all_p95_met"] == 1 and results["requests_dropped"] > 0]
    assert told, {name: (results["slo_all_p95_met"], results["requests_dropped"]) for name, (_, results) in runs.items()}
    for name, (machine, results) in runs.items():
        of = machine["full"] or machine["short"]
        assert (machine["state"] == "meets") == (of["undone"] is None and of["classes"]["all"]["met"]), machine
    assert all(runs[name][0]["state"] == "misses" or not runs[name][0]["full"] for name in told), told
    assert out["pick"] is None or runs[out["pick"]][1]["requests_dropped"] == 0, out["pick"]


@case("a GPU that cannot hold the model is named, and nothing is run with it")
def _():
    small = {**GPU, "name": "S", "gpu": "l40s", "count": 1}
    large = scenario(model="llama3.1-70b-instruct", compute={"mode": "roofline"})
    ram, drives = [{**RAM, "sizes": "1GiB"}], []
    got = run(["plan", large, "--parts", catalogue(gpus=[small], ram=ram, drives=drives), "--headless"])
    assert got.rc == 2 and "leave nothing for KV" in got.stderr, got
    _, out = plan("--target", "all.p95=1000s", load=large, parts=catalogue(gpus=[small, {**GPU, "count": [1, 4]}], limits={}, ram=ram, drives=drives))
    states = {machine["gpus"]: machine["state"] for machine in out["machines"]}
    assert states["1 x S"] == "cannot_run" and states["1 x G"] == "cannot_run" and states["4 x G"] == "meets", states
    assert out["pick"] == "4 x G, 1.00 GiB of M", out["pick"]
    why = [machine["why"] for machine in out["machines"] if machine["gpus"] == "1 x S"]
    assert "leave nothing for KV" in why[0], why


@case("several servers share the load, and cost as many times as much")
def _():
    two = catalogue(server={**SERVER, "count": [1, 2]}, ram=[{**RAM, "sizes": ["1GiB", "4GiB"]}], drives=[],
                    gpus=[{**GPU, "count": 1}], limits={"watts": 2000})
    crowd = scenario(workload={**LOAD["workload"], "users": 120}, fleet={"routing": "session"})
    got, out = plan(parts=two, load=crowd)
    assert [machine["servers"] for machine in out["machines"]] == [1, 2, 1, 2], out["machines"]
    pick = next(machine for machine in out["machines"] if machine["name"] == out["pick"])
    assert pick["servers"] == 2 and out["sentence"].startswith("2 servers, each with 1 x G"), out["sentence"]
    assert " carry 120 users within every P95 target" in out["sentence"] and "servers" in got.stdout, out["sentence"]
    results = simulated(pick)
    assert "fleet.pods=2" in pick["command"] and results["slo_all_p95_met"] == 1, pick["command"]
    assert pick["full"]["throughput_tok_s"] == results["throughput_tok_s"], (pick, results["throughput_tok_s"])
    assert abs(pick["full"]["cost_per_hour"] - hourly(pick, results)) < 1e-9, pick
    rack = catalogue(server={**SERVER, "count": [1, 2]}, ram=[], drives=[], gpus=[{**GPU, "count": 1}], limits={"watts": 1000})
    _, out = plan("--target", "all.p95=60s", parts=rack, load=crowd)
    assert [machine["servers"] for machine in out["machines"]] == [1], out["machines"]
    _, out = plan("--target", "all.p95=1000s", parts=rack, load=crowd, rc=3)
    assert "leaves all P95 not judged: the run is too short" in out["sentence"], out["sentence"]
    got = run(["plan", scenario(fleet={"pods": 2}), "--parts", two, "--headless"])
    assert got.rc == 2 and "fleet.pods: 2" in got.stderr and "server.count" in got.stderr, got


@case("another GPU than that of the preset takes its own preset, the catalogue's figures, or is refused")
def _():
    fitted = scenario(compute={"mode": "roofline", "preset": "vllm-h100-bf16"})
    of = lambda name, **more: {**GPU, "name": name, "gpu": name, "count": 1, **more}
    def commands(*gpus):
        parts = catalogue(gpus=list(gpus), ram=[], drives=[], limits={})
        _, out = plan("--target", "all.p95=1000s", parts=parts, load=fitted)
        return {machine["gpus"].split()[-1]: machine for machine in out["machines"]}
    got = commands(of("h100"), of("h200"), of("a100"), of("l40s"))
    assert "compute.preset" not in got["h100"]["command"], got["h100"]["command"]
    for name, preset in (("a100", "vllm-a100-bf16"), ("h200", "h200-bf16")):
        assert "--set compute.preset=%s " % preset in got[name]["command"], got[name]["command"]
    assert got["l40s"]["state"] == "cannot_run" and "no preset was fitted on l40s with bf16" in got["l40s"]["why"], got["l40s"]
    got = commands(of("l40s", mfu=0.26, efficiency=0.87))["l40s"]
    assert got["state"] == "meets" and "--set compute.mfu=0.26 --set compute.efficiency=0.87" in got["command"], got
    assert "compute.preset" not in got["command"], got["command"]


@case("every bad entry of a catalogue is named with file and line")
def _():
    path = home() / "work/bad.yaml"
    path.write_text("""catalogue: {name: bad, date: 2026-11-23, currency: EUR}
server: {price: cheap, watts: 1}
costs: {years: 4, electricity: 0.1, pue: 0.5}
gpus:
  - {name: A, gpu: h10, count: 1, price: 1, watts: 1, link: 1GB/s, source: s}
  - {name: A, gpu: h100, count: [2, 2], prize: 1, watts: 1, link: 1GB, source: s}
ram: []
drives:
  - name: D
    count: 1.5
extra: 1
""")
    got = run(["plan", scenario(), "--parts", path])
    assert got.rc == 2 and not got.stdout and not database().exists(), got
    for line in ('bad.yaml:2:17: server.price: must be a number, not "cheap"',
                 "bad.yaml:3:42: costs.pue: 0.5 is outside 1 to 10",
                 'bad.yaml:5:20: gpus[1].gpu: there is no GPU "h10"; did you mean "h100"?',
                 "bad.yaml:6:33: gpus[2].count: has a value twice",
                 "bad.yaml:6:41: gpus[2].prize: there is no such key; did you mean price?",
                 "bad.yaml:6:67: gpus[2].link: must be a rate such as 7GB/s",
                 "gpus[2]: price is missing", 'gpus[2]: there is another part named "A"',
                 "bad.yaml:10:12: drives[1].count: must be a whole number", "drives[1]: source is missing",
                 'bad.yaml:11:1: there is no section "extra"', "cannot be used, "):
        assert line in got.stderr, (line, got.stderr)
    for text, words in (("", "the catalogue is empty"), ("- 1", "a catalogue is a mapping"), ("a: [", "bad.yaml:"),
                        ("{gpus: []}", "gpus: there is no GPU to plan with")):
        path.write_text(text)
        got = run(["plan", scenario(), "--parts", path])
        assert got.rc == 2 and words in got.stderr, got
    got = run(["plan", scenario(), "--parts", "nowhere.yaml"])
    assert got.rc == 2 and "nowhere.yaml" in got.stderr, got


@case("a scenario that cannot be planned says why")
def _():
    got = run(["plan"])
    assert got.rc == 2 and "plan needs a scenario" in got.stderr, got
    for load, words in ((write({"tiers.nvme": None}), "compute.mode to roofline"),
                        (scenario(qos={"classes": [{"name": "all", "share": 1}]}), "--target")):
        got = run(["plan", load, "--parts", catalogue()])
        assert got.rc == 2 and words in got.stderr, got


@case("the answer as a page, as Markdown and as JSON alone")
def _():
    for name, words in (("plan.html", "<html"), ("plan.md", "# load")):
        got = run(["plan", scenario(), "--parts", catalogue(), "--quiet", "--headless", "-o", name])
        text = (home() / "work" / name).read_text()
        assert (got.rc, got.stdout, got.stderr) == (0, "", "") and words in text and "60 users" in text, got
        assert "Cost against time to first token" in text and "made up" in text, text
    listed = text.split("Simulated machines", 1)[1].split("##", 1)[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in listed.splitlines() if line.startswith("|")]
    lengths = [row[rows[0].index("length")] for row in rows[2:]]
    assert lengths.count("full") >= 1 and set(lengths) == {"full", "short"}, rows
    got = run(["plan", scenario(), "--parts", catalogue(), "--quiet", "--headless", "--json", "-"])
    assert got.rc == 0 and json.loads(got.stdout)["schema"] == "kvfall-plan", got
    got = run(["plan", scenario(), "--parts", catalogue(), "--format", "nothing"])
    assert got.rc == 2 and "no form of report" in got.stderr, got


@case("progress has the share and the time left")
def _():
    got, out = plan()
    lines = [line for line in got.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == out["simulated"] and all(" %  ETA " in line for line in lines), got.stderr


@case("--confirm runs the answer for real and simulates the same")
def _():
    small = scenario(run={"duration": "2s", "warmup": "0s", "interval": "500ms"},
                     tiers={"gpu": {"capacity": "auto", "backend": "emulated", "read_bandwidth": "100TB/s",
                                    "write_bandwidth": "100TB/s"},
                            "cpu": {"capacity": "64MiB"}, "nvme": {"capacity": "64MB", "path": "."}})
    parts = catalogue(ram=[{**RAM, "sizes": ["64MiB"]}], drives=[{**FAST, "capacity": "256MB", "count": 1}])
    got, out = plan("--confirm", "--target", "all.p95=1s", parts=parts, load=small)
    measures = out["confirmed"]["measures"]
    assert set(measures) == {"reuse_hit_ratio", "throughput_tok_s", "ttft_p95_ms"}, out["confirmed"]
    assert measures["throughput_tok_s"]["real"] > 0 and measures["throughput_tok_s"]["simulated"] > 0, measures
    assert "60 users" in out["confirmed"]["description"], out["confirmed"]
    shown = [line for line in got.stderr.splitlines() if " tok/s" in line]
    assert shown and sum(" drain " in line for line in shown) <= 1, got.stderr  # of the real run alone
    assert "simulated, and the answer also run for real" in unwrapped(got) and "nothing was measured" not in got.stdout, got
    assert out["next_cheaper"] is None and "may have missed a cheaper machine" not in unwrapped(got), got


@case("a trace is a load; a real run that cannot be leaves the answer, with status 1")
def _():
    rows = [{"timestamp": 500 * n, "input_length": 600, "output_length": 20, "hash_ids": [n % 9, 100 + n % 27]} for n in range(200)]
    trace = home() / "work/rows.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    load = scenario(workload={"source": "mooncake", "path": str(trace)}, cache={"granularity": "block", "headroom": 0, "placement": "inclusive"})
    alone = {"gpus": [{**GPU, "count": 1}], "ram": [{**RAM, "sizes": ["1GiB"]}], "drives": []}
    _, out = plan("--target", "all.p95=60s", parts=catalogue(**alone), load=load)
    assert "1.00 GiB of M carries the trace within every P95 target" in out["sentence"], out["sentence"]
    pair = catalogue(**alone, server={**SERVER, "count": 2})
    got, out = plan("--confirm", "--target", "all.p95=60s", "--overwrite", parts=pair, load=load, rc=1)
    assert out["pick"].startswith("2 servers, each with ") and "a trace cannot be divided" in out["confirmed"]["failed"], out
    assert "It failed: a trace cannot be divided" in got.stdout and "a trace cannot be divided" in got.stderr, got


@case("no machine carries a load whose arrivals it leaves waiting, even of a class whose target allows it")
def _():
    load = {**LOAD, "engine": {"slots": 2}, "workload": {**LOAD["workload"], "arrival": {"process": "poisson", "rate": 300}},
            "qos": {"classes": [{"name": "few", "share": 0.05, "p95": "20s"}, {"name": "rest", "share": 0.95, "p95": "30m"}]}}
    got, out = plan(rc=3, load=scenario(**load))
    assert not [m for m in out["machines"] if m["state"] == "meets"] and "1 class was left unserved" in unwrapped(got), (got, out)


@case("no machine carries a load that its own run did not serve, though chance may have left as many waiting")
def _():
    load = SOURCE / "configs/plan/chat-8b.yaml"
    got = run(["plan", load, "--headless", "--json", "plan.json", "--set", "run.duration=2m", "--set", "run.warmup=5m",
               "--set", "workload.arrival={process: gamma, cv: 5, rate: 9}", "--set", "workload.conversation.max_turns=1",
               "--set", "qos.classes=[{name: all, share: 1, p95: 300s}]"])
    assert got.rc == 0, got
    machines = json.loads((home() / "work/plan.json").read_text())["machines"]
    last = [(machine["state"], machine["full"] or machine["short"]) for machine in machines if machine["short"]]
    late = [state for state, of in last if of["undone"] == "it did not serve what arrived" and of["classes"]["all"]["met"]]
    assert late and set(late) == {"misses"}, last
    assert [state for state, of in last if state == "meets"] and all(of["undone"] is None for state, of in last if state == "meets"), last


@case("no machine carries a load whose run ended in its warm-up, or that left users without a request")
def _():
    for most, warmup, why in ((200, "200s", "it ended in its warm-up"), (15, "0s", "its users ran out of requests"), (0, "60s", "")):
        load = scenario(**{**LOAD, "run": {**LOAD["run"], "max_requests": most, "warmup": warmup}})
        got, out = plan("--target", "all.p95=60s", rc=3 if most else 0, load=load)
        assert ("meets" in {m["state"] for m in out["machines"]}) == (not most) and why in unwrapped(got), (most, got, out)


@case("no machine carries a load of which it never serves a class, though that class has no target")
def _():
    load = {**LOAD, "engine": {"slots": 2}, "workload": {**LOAD["workload"], "personas": [
        {"name": "chat", "context": [100, 400], "generate": [20, 80], "think": ["0s", "0s"]}]}, "qos": {
        "classes": [{"name": "first", "share": 0.5, "p95": "1h"}, {"name": "last", "share": 0.5}]}}
    got, out = plan(rc=3, load=scenario(**load))
    assert not [m for m in out["machines"] if m["state"] == "meets"] and "1 class was left unserved" in unwrapped(got), (got, out)
    aging, out = plan(load=scenario(**{**load, "qos": {**load["qos"], "scheduler": "aging", "aging": "1ms"}}))
    assert out["pick"] and "class was left unserved" not in unwrapped(aging), (aging, out)


@case("a plan at granularity request says what was not computed again")
def _():
    kept, lost = (plan("--target", "all.p95=60s", load=scenario(**{**LOAD, "cache": {
        **LOAD["cache"], "granularity": granularity}}), parts=catalogue(ram=[{**RAM, "sizes": ["256MiB"]}], drives=[]))[0]
        for granularity in ("block", "request"))
    assert "lookups missed, and at granularity request nothing is computed again for them" in unwrapped(lost), lost
    assert "at granularity request" not in unwrapped(kept), kept


@case("an answer whose last tier still filled in the simulation is no confirmation")
def _():
    cold, warm = (plan("--target", "all.p95=60s", load=scenario(**{**LOAD, "run": {**LOAD["run"], "warmup": warmup}}),
                       parts=catalogue(ram=[{**RAM, "sizes": ["1GiB"]}], drives=[])) for warmup in ("10s", "300s"))
    full = [next(one for one in answer["machines"] if one["name"] == answer["pick"])["full"] for _, answer in (cold, warm)]
    assert 0.1 < full[0]["fill_ratio"] < 1 and 10 < full[0]["fill_full_s"] < 50, full
    assert full[1]["fill_ratio"] is None and full[1]["fill_full_s"] is None, full
    assert full[0]["ttft_p95_ms"] < full[1]["ttft_p95_ms"] / 2, full  # the same machine
    said = unwrapped(cold[0])
    assert " within every P95 target, while a tier still filled, at " in said and " Not confirmed by the full simulation, " in said, said
    assert re.search(r"A tier filled by [\d.]+ % of its room in the measured part, .* Make run\.warmup 35\.0 s or longer\.", said), said
    said = unwrapped(warm[0])
    assert " Confirmed by the full simulation, " in said and "last tier" not in said, said


@case("a run whose last tier fills while it is measured says so: the steady state, a warning with the warm-up, and two metrics")
def _():
    file, machine = scenario(), ["tiers.cpu.capacity=1GiB", "tiers.nvme.capacity=0", "run.interval=1s", "run.trials=1"]
    sets = [word for one in machine for word in ("--set", one)]
    for warmup, fills in (("10s", True), ("300s", False)):
        got = run(["run", file, "--headless", "--db", "none", "--json", "run.json", *sets, "--set", f"run.warmup={warmup}"])
        summary, said = json.loads((home() / "work/run.json").read_text()), unwrapped(got)
        state, results = summary["run"]["steady_state"], summary["results"]
        warned = re.search(r"Warning cpu filled from \d+ % to 100 % in the measured part, .*; make run\.warmup ([\d.]+) s or longer", said)
        assert bool(warned) == fills == ("fill_ratio" in results) == ("fill_full_s" in results), got
        if fills:
            assert re.fullmatch(r"not reached: cpu filled from \d+ % to 100 % in the measured part", state), state
            assert results["steady"]["value"] == 0 and float(warned.group(1)) == results["fill_full_s"]["value"], results
        assert "filled" not in state or fills, state


@case("an answer whose requests were smaller than those on another machine says so")
def _():
    personas = [{"name": "light", "share": 0.7, "context": [50, 100], "generate": [10, 20], "think": ["2s", "4s"], "spread": 1},
                {"name": "heavy", "share": 0.3, "context": [1500, 2000], "generate": [20, 20], "think": ["0s", "1s"], "spread": 1}]
    mixed, alike = (plan("--target", "all.p95=60s", load=scenario(**{
        **LOAD, "run": {**LOAD["run"], "duration": "600s"}, "workload": {**LOAD["workload"], "users": 20, "personas": of}}))[0]
                    for of in (personas, personas[:1]))
    assert re.search(r"Its requests were smaller than those on [\w. ]+: [\d.]+k? tokens of context in the mean against ", unwrapped(mixed)), mixed
    assert "Its requests" not in unwrapped(alike), alike


def seen(columns, *options):
    """What a terminal of so many columns shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process, data = spawn(["plan", scenario(), "--parts", catalogue(), "--headless", "--quiet", *options], stdout=slave), b""
    os.close(slave)
    try:
        while piece := os.read(master, 65536):
            data += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    finish(process)
    return re.sub("\033\\[[0-9;]*m", "", data.decode().replace("\r", ""))


@case("tables have all columns of a terminal, a line for each machine, and texts keep lines of 80")
def _():
    for columns, lines in ((80, None), (120, 1), (200, 1)):
        text = seen(columns).split("Simulated machines\n", 1)[1].split("\n\n", 3)
        table = text[2].splitlines()[1:]
        assert len(text[1]) and max(map(len, text[1].splitlines())) <= 80 and max(map(len, table)) <= columns, text
        ends = [line for line in table[1:] if re.search(r" (full|short) +(met|misses all by \d+ %)$", line)]
        assert lines is None or len(ends) == len(table) - 1 > 2, table


main()
