#!/usr/bin/env python3
"""kvfall report of sweeps: charts over what was swept, peaks, differences, points that are not there."""
import json
import re
import statistics

import histories
from pages import HOSTILE, SVG, XHTML, charts, page, sections, table, words
from runs import rows, write
from tap import case, home, main, run

RESULTS = ("throughput_tok_s", "hit_ratio", "ttft_p95_ms", "e2e_p95_ms")


def add_sweep(db, sweep, values, states=None, **record):
    """A sweep of profile keys: a run for each entry of `values` that is not None, with that throughput."""
    row = dict(uuid="5eed0001-0000-4000-8000-000000000000", name="sizes", profile="keys", mode="real", model="tiny-1b",
               status="completed", started_at=1700000000.0, ended_at=1700000060.0, host="lab", version="1", points=len(values),
               done=sum(v is not None for v in values), failed=0, scenario_yaml="name: sizes\n",
               effective_json=json.dumps({"sweep": {"profile": "keys", "combine": "cartesian", "variants": {}, "metrics": "",
                                                    "baseline": "", "keys": {}, **sweep},
                                          "workload": {"arrival": {"process": "closed"}}}))
    row.update(record)
    sweep_id = histories.insert(db, "sweeps", **row)
    for i, v in enumerate(values):
        if v is None:
            continue
        state = (states or {}).get(i, "completed")
        run_id = histories.add_run(db, "sizes", sweep_id=sweep_id, sweep_point=i + 1, sweep_values="{}", status=state,
                                   status_reason="" if state == "completed" else HOSTILE)
        for n, metric in enumerate(RESULTS):
            unit = ("tok/s", "", "ms", "ms")[n]
            histories.insert(db, "results", run_id=run_id, n=n, metric=metric, unit=unit,
                             value=v if n == 0 else v / 1000 if n == 1 else 100 / v)
    return sweep_id


def report(*args):
    got = run(["report", *args])
    assert got.rc == 0 and got.stderr == "", got
    return got.stdout


def chart(root, title):
    return [node for node in root.iter(XHTML + "figure") if words(node[0]) == title][0]


GRID = {"keys": {"tiers.cpu.capacity": ["1GiB", "2GiB", "4GiB"], "workload.users": [10, 20]}, "baseline": 1}


@case("a line per configuration over the key with the most values, which grows by factors")
def _():
    with histories.make() as db:
        add_sweep(db, GRID, [100, 200, 110, 180, 120, 150])
    root = page(report("sweep:1"))
    assert "COMPLETED 6 of 6 points done" in words(root), words(root)[:300]
    assert charts(root) == ["Tokens/s over cpu capacity", "Hit ratio with decode over cpu capacity", "TTFT P95 over cpu capacity",
                            "End-to-end P95 over cpu capacity", "Tokens/s", "Hit ratio with decode", "TTFT P95", "End-to-end P95"], charts(root)
    drawn = chart(root, "Tokens/s over cpu capacity")
    texts = [words(node) for node in drawn.iter(SVG + "text")]
    assert {"1GiB", "2GiB", "4GiB", "users 10", "users 20"} <= set(texts), texts
    at = {words(node): float(node.get("x")) for node in drawn.iter(SVG + "text")}
    assert abs((at["2GiB"] - at["1GiB"]) - (at["4GiB"] - at["2GiB"])) < 15, at  # a logarithmic axis
    figures = [[words(cell) for cell in row] for row in drawn.iter(XHTML + "tr")]
    assert [row[:2] + row[3:] for row in figures[1:]] == [["users 10", "100 tok/s", "120 tok/s", "120 tok/s"],
                                                          ["users 20", "150 tok/s", "200 tok/s", "150 tok/s"]], figures
    assert "Users by cpu capacity" in sections(root), sections(root)
    heat = [[words(cell) for cell in row] for row in chart(root, "Tokens/s").iter(XHTML + "tr")]
    assert heat == [["", "1GiB", "2GiB", "4GiB"], ["10", "100 tok/s", "110 tok/s", "120 tok/s"],
                    ["20", "200 tok/s", "180 tok/s", "150 tok/s"]], heat
    shades = [float(node.get("fill-opacity")) for node in chart(root, "Tokens/s").iter(SVG + "rect") if node.get("fill-opacity")]
    assert sorted(range(6), key=shades.__getitem__) == [0, 1, 2, 5, 4, 3], shades
    points = table(root, "Points")
    assert points[0] == ["point", "capacity", "users", "tokens/s", "change", "hit ratio with decode", "change", "TTFT P95", "change",
                         "end-to-end P95", "change", "run"], points
    assert points[2][:5] == ["2", "1GiB", "20", "200 tok/s", "+100.0 %"], points


@case("the models of its points head a sweep, and the command that it names prints its scenario")
def _():
    swept = (({"keys": {"model": ["tiny-1b", "llama2-7b"]}}, "tiny-1b, llama2-7b"), ({"keys": {"model": ["llama2-7b"]}}, "llama2-7b"),
             ({"keys": {"model.preset": ["llama2-7b", "llama2-13b"]}}, "llama2-7b, llama2-13b"),
             ({"keys": {"model.layers": [8, 16]}}, "a model of its own"),
             ({"variants": {"machine": {"small": {}, "large": {"model": "llama2-13b"}}}, "keys": {"workload.users": [1]}},
              "tiny-1b, llama2-13b"))
    with histories.make() as db:
        for number, (sweep, models) in enumerate(swept, 1):
            add_sweep(db, sweep, [100] * (1 if "," not in models else 2), uuid="%08x-0000-4000-8000-000000000000" % number)
    for number, (sweep, models) in enumerate(swept, 1):
        said = words(page(report("sweep:%d" % number)))
        assert models + ", real, on lab" in said and said.count(models) > 1 and "(model)" not in said, said[:300]
        assert "kvfall show sweep:%08x --effective > sweep-%d.yaml && kvfall sweep sweep-%d.yaml" % (number, number, number) in said
        got = run(["show", "sweep:%08x" % number, "--effective"])
        assert got.rc == 0 and json.loads(got.stdout)["sweep"]["keys"] == sweep["keys"], got
    assert run(["show", "sweep:1", "--scenario"]).stdout == "name: sizes\n"
    got = run(["show", "sweep:1"])
    assert got.rc == 2 and "`kvfall report sweep:1` has its figures" in got.stderr, got
    for beside in ("--json", "--events"):
        got = run(["show", "sweep:1", "--effective", beside])
        assert got.rc == 2 and "only --scenario or --effective" in got.stderr and not got.stdout, got


@case("points that never ran say so, and have no difference from the baseline")
def _():
    with histories.make() as db:
        add_sweep(db, GRID, [100, 200, 110, None, 120, 150], status="interrupted")
    root = page(report("sweep:latest"))
    points = table(root, "Points")
    assert [row[4] for row in points[1:]] == ["+0.0 %", "+100.0 %", "+10.0 %", "--", "+20.0 %", "+50.0 %"], points
    assert "INTERRUPTED" in words(root) and points[4][-1] == "not run", points


@case("without numbers there are bars, with one point no chart")
def _():
    with histories.make() as db:
        add_sweep(db, {"keys": {"cache.eviction": ["lru", "fifo"]}}, [100, 200])
        add_sweep(db, {"keys": {"cache.eviction": ["lru"]}}, [100], uuid="5eed0002-0000-4000-8000-000000000000")
        add_sweep(db, {"keys": {"seed": [1, 2]}}, [None, None], uuid="5eed0003-0000-4000-8000-000000000000",
                  status="failed", failed=2)
    root = page(report("sweep:1"))
    bars = chart(root, "Tokens/s over eviction")
    texts = [words(node) for node in bars.iter(SVG + "text")]
    assert {"lru", "fifo", "100 tok/s", "200 tok/s"} <= set(texts), texts
    root = page(report("sweep:2"))
    assert "Fewer than two points are done" in words(root) and charts(root) == [], charts(root)
    root = page(report("sweep:3"))
    assert "FAILED 0 of 2 points done, 2 failed" in words(root), words(root)[:300]
    assert [row[-1] for row in table(root, "Points")[1:]] == ["failed", "failed"], table(root, "Points")


@case("bars of points that left work undone have the mark that a suite's have, in every form")
def _():
    with histories.make() as db:
        add_sweep(db, {"keys": {"cache.eviction": ["lru", "fifo"]}}, [100, 200])
        failed = db.execute("SELECT max(run_id) FROM runs").fetchone()[0]
        db.execute("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, 90, 'fell_through', 3, '')", (failed,))
    note = "* not comparable: the table of points says why."
    root = page(report("sweep:1"))
    texts = [words(node) for node in chart(root, "Tokens/s over eviction").iter(SVG + "text")]
    assert {"lru", "fifo *"} <= set(texts) and note in words(root), texts
    for form in ("md", "txt"):
        text = run(["report", "sweep:1", "--format", form]).stdout
        assert re.search(r"fifo \\?\*", text) and "not comparable: the table of points says why." in " ".join(text.split()), (form, text)


@case("names of variants and reasons from anywhere are texts and nothing else")
def _():
    name = "<b onload=x>&amp; 'q' | **b** ]]>"
    sweep = {"variants": {"<i>": {name: {}, "$(x)": {}}}, "keys": {"workload.users": [1, 2]}, "baseline": "<i>=" + name}
    with histories.make() as db:
        add_sweep(db, sweep, [100, 200, 300, 400], {3: "failed"}, name=HOSTILE[:60], status_reason=HOSTILE, answer=HOSTILE,
                  scenario_yaml="# ```\n" + HOSTILE, model="<m>", host="<h>", failed=1, done=3, status="failed")
    root = page(report("sweep:1"))
    assert table(root, "Peaks")[1][:2] == [name, "200 tok/s"], table(root, "Peaks")
    assert table(root, "Peaks")[2][:3] == ["$(x)", "300 tok/s", "+50.0 %"], table(root, "Peaks")
    assert words(root).count("<b onload=x>&amp; 'q'") > 3
    markdown = report("sweep:1", "--format", "md")
    body = re.sub(r"^<pre>\n.*?^</pre>$", "", markdown, flags=re.M | re.S)
    assert not re.search(r"<[A-Za-z/!?]", body) and "**b**" not in body, body
    assert "<b onload" not in markdown and "<script" not in markdown and "\x1b" not in markdown, markdown
    assert "\x1b" not in report("sweep:1", "--format", "txt")


@case("long names of configurations are cut where each part can still be told from the others")
def _():
    sweep = {"variants": {"host": {"a": {}, "b": {}}, "placement": {"waterfall as it usually is": {}, "spillover without moves": {}}},
             "keys": {"cache.eviction": ["lru", "sieve"], "workload.users": [1, 2]}}
    with histories.make() as db:
        add_sweep(db, sweep, [100 + n for n in range(16)])
    drawn = chart(page(report("sweep:1")), "a")
    names = [words(row[0]) for row in drawn.iter(XHTML + "tr")][1:]
    assert len(set(names)) == 4 and all(len(name) <= 20 for name in names), names
    assert [name.split(", ")[1] for name in names] == ["lru", "sieve"] * 2, names
    assert [name[:5] for name in names] == ["water"] * 2 + ["spill"] * 2, names


def axes(figure):
    """Low and high end of x, and the labels of both axes."""
    svg = next(node for node in figure.iter(SVG + "svg") if node.get("data-x"))
    return svg.get("data-x").split()[:2], [words(node) for node in svg.iter(SVG + "text") if node.get("text-anchor")]


@case("several models and configurations are small charts side by side, with one scale and a colour for each configuration")
def _():
    sweep = {"variants": {"configuration": {"small": {}, "large": {}}},
             "keys": {"model": ["tiny-1b", "llama3.1-8b", "llama3.1-70b"], "workload.users": [1, 2, 4, 8]}}
    with histories.make() as db:
        add_sweep(db, sweep, [None if n == 0 else 10 * n + 5 for n in range(24)])
    root = page(report("sweep:1"))
    models = ["tiny-1b", "llama3.1-8b", "llama3.1-70b"]
    assert charts(root)[:3] == models and "Tokens/s over users, by model" in sections(root), (charts(root), sections(root))
    drawn = [figure for figure in root.iter(XHTML + "figure")][:3]
    parent = {child: node for node in root.iter() for child in node}
    assert all(parent[one].get("class") == "plots small" for one in drawn)
    assert axes(drawn[0]) == axes(drawn[1]) == axes(drawn[2]), [axes(one) for one in drawn]
    assert "250" in axes(drawn[0])[1], axes(drawn[0])  # the most of all, which the first model does not reach
    for one in drawn:
        lines = {words(group): group.find(SVG + "path").get("class") for group in one.iter(SVG + "g")
                 if group.get("data-k") and group.find(SVG + "text") is not None}
        assert lines == {"small": "l k0 d0", "large": "l k1 d1"}, lines
    assert "Higher is better. All charts share one scale." in words(root)
    assert not run(["report", "sweep:1", "--format", "md"]).stderr


@case("--runs writes a page for each run of a sweep and links to them; over files that are there with --overwrite alone")
def _():
    with histories.make() as db:
        add_sweep(db, {"keys": {"workload.users": [1, 2]}}, [100, 200])
    work = home() / "work"
    got = run(["report", "sweep:1", "-o", "out/all.html", "--runs"])
    assert got.rc == 2 and "cannot write out/all.html" in got.stderr, got
    (work / "out").mkdir()
    assert run(["report", "sweep:1", "-o", "out/all.html", "--runs"]).rc == 0
    assert sorted(path.name for path in (work / "out").iterdir()) == ["all-run-1.html", "all-run-2.html", "all.html"]
    links = re.findall(r'<a href="([^"#]+)">(\d+)</a>', (work / "out/all.html").read_text())
    assert links == [("all-run-1.html", "1"), ("all-run-2.html", "2")], links
    assert "run 2" in words(page((work / "out/all-run-2.html").read_text()))
    (work / "out/all.html").unlink()
    got = run(["report", "sweep:1", "-o", "out/all.html", "--runs"])
    assert got.rc == 2 and "all-run-1.html is there already" in got.stderr and not (work / "out/all.html").exists(), got
    assert run(["report", "sweep:1", "-o", "out/all.html", "--runs", "--overwrite"]).rc == 0
    for args, sentence in ((["sweep:1", "--runs"], "name FILE.html there"), (["1", "--runs", "-o", "x.html"], "for one sweep:ID"),
                           (["sweep:1", "--request-log", "x"], "--request-log is of one run")):
        got = run(["report", *args])
        assert got.rc == 2 and sentence in got.stderr and not (work / "x.html").exists(), got


@case("values that go side by side are one line; a sweep that goes on has what is done by now")
def _():
    side = {"combine": "zip", "keys": {"workload.users": [1, 2, 4], "tiers.cpu.capacity": ["4GiB", "2GiB", "1GiB"]}}
    with histories.make() as db:
        add_sweep(db, side, [100, 200, None], status="running", done=0, ended_at=None)
    root = page(report("sweep:1"))
    assert "RUNNING 2 of 3 points done" in words(root), words(root)[:300]
    drawn = chart(root, "Tokens/s over users")
    assert [words(row[0]) for row in drawn.iter(XHTML + "tr")] == ["", "tokens"], words(drawn)
    assert [row[1:3] for row in table(root, "Points")[1:]] == [["1", "4GiB"], ["2", "2GiB"], ["4", "1GiB"]]
    assert "?" not in report("sweep:1", "--format", "txt", "--ascii")
    lines = run(["history", "--sweeps"]).stdout.splitlines()
    assert lines[1].split()[-2:] == ["keys", "--"], lines


SIMULATED = {"mode": "simulate", "tiers.nvme": None, "run.duration": "3s", "run.interval": "1s"}


def simulate(changes):
    got = run(["sweep", write({**SIMULATED, **changes}), "--quiet"])
    assert got.rc == 0, got
    assert "`kvfall report sweep:1 -o FILE`" in got.stdout, got
    return got


@case("rates: latency over throughput, and what each combination reaches against the baseline's")
def _():
    simulate({"run.duration": "1s", "run.interval": "200ms",
              "sweep": {"profile": "rates", "points": 4, "variants": {"size": {"s": {}, "m": {"tiers.gpu.capacity": "9MiB"}}},
                        "baseline": "size=s"}})
    root = page(report("sweep:1"))
    assert charts(root)[:3] == ["TTFT mean over tokens/s", "End-to-end P95 over tokens/s", "TTFT P95 over tokens/s"], charts(root)
    assert "Tokens/s over requests/s" in charts(root), charts(root)
    heat = chart(root, "Tokens/s against size=s")
    peaks = table(root, "Peaks")
    cells = [words(node.find(SVG + "title")) for node in heat.iter(SVG + "rect") if node.find(SVG + "title") is not None]
    assert "peak, m: " + peaks[2][2].replace("-0.0 %", "0.0 %") in [re.sub(r"\+0\.0 %", "0.0 %", c) for c in cells] or \
        "peak, m: " + peaks[2][2] in cells, (cells, peaks)
    assert "Simulated" in words(root)


@case("correlations of measures over the points of a sweep with variants")
def _():
    names = ("throughput_tok_s", "hit_ratio", "ttft_mean_ms", "e2e_p95_ms")
    simulate({"sweep": {"variants": {"size": {"s": {}, "m": {"tiers.gpu.capacity": "9MiB"}}}, "keys": {"workload.users": [1, 2, 4, 8]},
                        "baseline": "size=s", "metrics": ", ".join(names)}})
    rows = [[words(cell) for cell in row] for row in chart(page(report("sweep:1")), "Correlations of metrics").iter(XHTML + "tr")]
    assert run(["export", "sweep:1", "--format", "json", "-o", "points.json"]).rc == 0
    points = json.loads((home() / "work/points.json").read_text())["points"]
    value = [[point["results"][name]["value"] for point in points] for name in names]
    for told, a in zip(rows[1:], value):
        for cell, b in zip(told[1:], value):
            r = statistics.correlation(a, b)
            assert abs(float(cell) - r) < 0.0051, (told, r)
    assert len(rows) == 5 and len(set(cell for row in rows[1:] for cell in row[1:])) > 3, rows


@case("a search: its steps, its target, its answer")
def _():
    got = simulate({"sweep": {"profile": "capacity", "find": "workload.users", "between": [1, 32],
                              "target": {"metric": "throughput_tok_s", "op": ">=", "value": 20000}}})
    answer = re.search(r"^(Required for .*)$", got.stdout, re.MULTILINE).group(1)
    root = page(report("sweep:1"))
    assert answer in words(root), words(root)[:600]
    drawn = chart(root, "Tokens/s over users")
    texts = [words(node) for node in drawn.iter(SVG + "text")]
    assert "target >= 20.0k tok/s" in texts, texts
    steps = len(table(root, "Points")) - 1
    assert steps > 3 and sections(root) == ["What was swept", "The search", "All points", "Scenario"], sections(root)


@case("the database has the models of a sweep, and the report names them once in its facts")
def _():
    simulate({"run.max_requests": 5, "tiers.gpu.capacity": "1GiB", "sweep": {"keys": {"model": ["tiny-1b", "llama3.1-8b"]}}})
    assert [row["model"] for row in rows("SELECT model FROM sweeps")] == ["tiny-1b, llama3.1-8b"]
    assert words(page(report("sweep:1"))).count("tiny-1b, llama3.1-8b") == 2, "under the title, and what varies"


@case("curves of miss ratios by policy, in every form")
def _():
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + "".join("read,%d,16\n" % (i * i % 7) for i in range(60)))
    simulate({"tiers.gpu": None, "workload.source": "ops", "workload.path": "ops.csv", "workload.users": None,
              "workload.personas": None, "workload.prefix": None, "cache": {"headroom": 0},
              "sweep": {"profile": "miss_ratio", "policies": ["lru", "fifo", "belady"],
                        "capacities": ["64KiB", "128KiB", "1MiB"]}})
    effective = json.loads(run(["show", "sweep:1", "--effective"]).stdout)
    assert effective["workload"]["path"] == str((home() / "work/ops.csv").resolve()), "which repeats it in any folder"
    root = page(report("sweep:1"))
    rows = table(root, "Miss ratios by policy")
    assert rows[0] == ["policy", "64.0 KiB", "128 KiB", "1.00 MiB"], rows
    assert [row[0] for row in rows[1:]] == ["belady", "fifo", "lru"], rows
    assert charts(root) == ["Miss ratio over capacity"], charts(root)
    got = run(["report", "sweep:1", "-o", "curves.md"])
    assert got.rc == 0, got
    assert "| belady |" in (home() / "work/curves.md").read_text()
    text = report("sweep:1", "--format", "txt").split("\nScenario\n")[0]
    assert max(len(line) for line in text.splitlines()) <= 80, text


@case("a sweep stands alone, and one that is not there is said")
def _():
    with histories.make() as db:
        add_sweep(db, GRID, [100] * 6)
    for args, sentence in ((["sweep:2"], "there is no sweep '2'"), (["sweep:1", "1"], "one sweep at a time")):
        got = run(["report", *args])
        assert got.rc == 2 and sentence in got.stderr and got.stdout == "", got


main()
