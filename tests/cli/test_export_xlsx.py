"""kvfall export --format xlsx: workbooks that spreadsheets open, with the runs' figures as numbers."""
import contextlib
import json
import os
import re
import resource
import sqlite3
import zipfile
from xml.etree import ElementTree

import histories
import runs
from books import MAIN, read, same
from tap import case, database, finish, home, main, run, spawn

PAGES = ["index", "summary", "parameters", "metrics", "qos", "intervals"]


def export(*names):
    path = home() / "work/runs.xlsx"
    got = run(["export", *names, "--output", path, "--overwrite"])
    assert got.rc == 0 and got.stdout == got.stderr == "", got
    return path.read_bytes()


@case("work left undone and the warnings are in the summary of a workbook")
def _():
    _, summary = runs.measure({"mode": "simulate", "run.duration": "5s", "tiers.cpu": None, "tiers.nvme": None, "tiers.gpu.capacity": "300KiB"})
    undone, warnings = summary["run"]["undone"], summary["verdict"]["warnings"]
    assert re.fullmatch(r"[\d.]+k? requests failed", undone) and warnings, summary["run"]
    page = read(export("latest"))[0]["summary"]
    assert page.row("criterion: cpu read and write P95 < 150 ms") == {1: "FAIL, tier off"}, page.cells
    assert page.row("status") == {1: "completed"} and page.row("left undone") == {1: undone}, page.cells
    told = [page.cells[row, 1] for (row, column), value in sorted(page.cells.items()) if column == 0 and value == "warning"]
    assert told == warnings, (page.cells, warnings)
    runs.measure({"run.duration": "200ms"})
    assert read(export("latest"))[0]["summary"].row("left undone") == {}


@case("a real run: figures, parameters and intervals are those of the database, as numbers")
def _():
    _, summary = runs.measure()
    pages, book = read(export("latest"))
    assert list(pages) == PAGES + ["charts"], list(pages)
    first = pages["summary"]
    assert first.row("name") == {1: "small"} and first.row("status") == {1: "completed"}, first.cells
    assert same(first.row("throughput_tok_s (tok/s)")[1], runs.result(summary, "throughput_tok_s")), first.cells
    days = runs.last_run()["started_at"] // 1 / 86400 + 25569  # of Excel, since the end of 1899
    assert abs(first.row("started (UTC)")[1] - days) < 1e-9, first.row("started (UTC)")
    assert first.row("tier nvme") == {1: summary["tiers"]["nvme"]["description"]}, first.cells
    passed = {name: row for name, row in ((c["name"], c["passed"]) for c in summary["criteria"])}
    shown = [value for at, value in sorted(first.cells.items())
             if at[1] == 1 and str(first.cells.get((at[0], 0))).startswith("criterion: ")]
    assert [word.split(",")[0] for word in shown] == [{True: "PASS", False: "FAIL", None: "no data"}[p] for p in passed.values()], (shown, passed)
    assert [word.endswith(("no data", "tier off")) for word in shown] == [c["actual"] is None for c in {
        c["name"]: c for c in summary["criteria"]}.values()], (shown, summary["criteria"])

    keys = pages["parameters"]
    assert keys.row("tiers.nvme.io_size") == {1: "64KiB"} and keys.row("workload.users") == {1: 6.0}, keys.cells
    assert keys.row("workload.personas[0].name") == {1: "brief"} and keys.row("tiers.nvme.direct") == {1: True}
    assert json.loads(keys.row("workload.prefix.prompt_tokens")[1]) == [32, 64], keys.cells

    metrics = {row["metric"]: row for row in pages["metrics"].table()}
    stored = runs.rows("SELECT metric, value, unit, samples FROM results WHERE value IS NOT NULL ORDER BY n")
    assert list(metrics) == [row["metric"] for row in stored]
    for row in stored:
        got = metrics[row["metric"]]
        assert got.get("unit", "") == row["unit"] and same(got.get("run 1"), row["value"]), (got, row)
        assert got.get("run 1 samples") == row["samples"], (got, row)

    classes = pages["qos"].table()
    assert [row["class"] for row in classes] == ["interactive", "responsive", "batch"], classes
    assert classes[0]["p95 target (ms)"] == 50 and classes[0]["latency"] == "ttft", classes
    for row, one in zip(classes, summary["qos"]):
        assert same(row.get("p95 (ms)"), one["actual"]["p95_ms"]), (row, one)
        assert same(row.get("met_ratio"), one["met_ratio"]), (row, one)

    table = pages["intervals"].table()
    intervals = runs.rows("SELECT * FROM intervals ORDER BY seq")
    nvme = runs.rows("SELECT * FROM tier_intervals WHERE tier = 'nvme' ORDER BY seq")
    assert len(table) == len(intervals) > 2, len(table)
    for row, one, tier in zip(table, intervals, nvme):
        for name, value in row.items():
            column = re.sub(r" \(.*\)$", "", name)
            if column.endswith("_used"):
                assert column != "nvme_used" or same(value, tier["used_bytes"] / 2**30), (name, value, tier)
            elif column.startswith("nvme_"):
                assert same(value, tier[column[5:]]), (name, value, tier)
            elif column == "at":  # in days of Excel, since the end of 1899
                assert abs(value - one["at"] / 86400 - 25569) < 2e-5, (value, one["at"])
            elif column in one:
                assert same(value, one[column]), (name, value, one)
        assert {name for name in one if one[name] is not None} - {"run_id", "bottleneck"} <= {
            re.sub(r" \(.*\)$", "", name) for name in row}, row
    sheet = pages["intervals"].root
    assert sheet.find(".//%spane" % MAIN).get("state") == "frozen", "no frozen heading"
    assert sheet.find(MAIN + "autoFilter").get("ref").startswith("A1:"), "no filter"
    assert sum(name.startswith("xl/charts/chart") for name in book.namelist()) == 4, book.namelist()


@case("on paper: across, as wide as the sheet, heads on each page, charts uncut; axes in GiB and percent; an index with links")
def _():
    two_runs()
    pages, book = read(export("1", "2"))
    for name, sheet in pages.items():
        setup = sheet.root.find(MAIN + "pageSetup")
        assert setup.get("orientation") == "landscape" and setup.get("paperSize") == "9", name
        fits = sheet.root.find(".//%spageSetUpPr" % MAIN)
        if name == "charts":  # a break stands between charts, which fitting would ignore
            assert fits is None and [b.get("id") for b in sheet.root.iter(MAIN + "brk")] == ["44"], name
        else:
            high = None if name == "summary" else "0"  # one sheet of paper, or as many as it takes
            assert fits.get("fitToPage") == "1" and setup.get("fitToHeight") == high and setup.get("fitToWidth") is None, name
        assert "&P" in sheet.root.find(".//%soddFooter" % MAIN).text, name
    names = {one.get("localSheetId") + one.get("name"): one.text for one in ElementTree.fromstring(
        book.read("xl/workbook.xml")).iter(MAIN + "definedName")}
    for at, name in enumerate(pages):
        assert name in ("index", "charts") or names["%d_xlnm.Print_Titles" % at].endswith("!$1:$1"), (name, names)
    assert re.fullmatch(r"intervals!\$A\$1:\$[A-Z]+\$7", names["5_xlnm.Print_Area"]), names
    links = {one.get("ref"): one.get("location") for one in pages["index"].root.iter(MAIN + "hyperlink")}
    shown = {"A%d" % (at[0] + 1): value for at, value in pages["index"].cells.items() if at[1] == 0 and at[0] > 0}
    assert links == {at: "'%s'!A1" % name for at, name in shown.items()} and list(shown.values()) == list(pages)[1:], links
    drawn = [book.read("xl/charts/chart%d.xml" % n).decode() for n in range(1, 5)]
    assert 'formatCode="0%"' in drawn[2] and ">%<" in drawn[2] and ">GiB<" in drawn[3], drawn[2:]
    heads = {cell.get("r"): cell for cell in pages["intervals"].root.iter(MAIN + "c")}
    used = [re.search(r"\$([A-Z]+)\$", f).group(1) for f in re.findall(r"<c:yVal>.*?<c:f>([^<]*)</c:f>", drawn[3], re.S)]
    assert ["".join(heads[letters + "1"].itertext()) for letters in used] == ["gpu_used (GiB)", "cpu_used (GiB)"], used


@case("a sentence has a row that is high enough for it, and heads of numbers stand over them")
def _():
    two_runs(description="word " * 40)
    pages, _ = read(export("1", "2"))
    summary = pages["summary"]
    rows = {row.get("r"): row.get("ht") for row in summary.root.iter(MAIN + "row")}
    at = {value: str(row + 1) for (row, column), value in summary.cells.items() if column == 0}
    assert float(rows[at["description"]]) >= 6 * 15 and rows[at["model"]] is None, rows  # 200 characters, 36 a line
    styles = pages["metrics"].styles
    assert styles[0, 0] == styles[0, 1] != styles[0, 2] == styles[0, 3], styles


def two_runs(**second):
    with histories.make() as db:
        for name, users, more in (("a", 5, {}), ("b", 9, second)):
            run_id = histories.add_run(db, name=name, results={"hit_ratio": 0.5 if name == "a" else None, name: 1},
                                       effective_json=json.dumps({"workload": {"users": users}, "seed": 42}), **more)
            histories.insert(db, "run_tiers", run_id=run_id, tier="gpu" if name == "a" else "cpu", emulated=1)
            for seq in range(3):
                histories.insert(db, "intervals", run_id=run_id, seq=seq, t_s=seq + 1.0, phase="measured", tokens=seq)
                histories.insert(db, "tier_intervals", run_id=run_id, seq=seq, tier="gpu" if name == "a" else "cpu",
                                 used_bytes=seq + 10)


@case("several runs stand side by side, differences are marked, and what is missing is empty")
def _():
    two_runs()
    pages, book = read(export("1", "2"))
    assert pages["summary"].row("name") == {1: "a", 2: "b"}
    assert pages["summary"].row("hit_ratio") == {1: 0.5}, pages["summary"].row("hit_ratio")
    metrics = {row.pop("metric"): row for row in pages["metrics"].table()}
    assert metrics == {"hit_ratio": {"run 1": 0.5}, "a": {"run 1": 1.0}, "b": {"run 2": 1.0}}, metrics
    keys = pages["parameters"]
    assert keys.row("workload.users") == {1: 5.0, 2: 9.0} and keys.row("seed") == {1: 42.0, 2: 42.0}
    style = {value: keys.styles[at] for at, value in keys.cells.items() if at[1] == 0}
    assert style["workload.users"] != style["seed"], style
    table = pages["intervals"].table()
    assert [(row["run_id"], row["seq"], row["tokens"]) for row in table] == [(r, s, s) for r in (1, 2) for s in range(3)]
    assert [row.get("gpu_used_bytes (B)") for row in table] == [10, 11, 12, None, None, None], table
    assert [row.get("cpu_used_bytes (B)") for row in table] == [None, None, None, 10, 11, 12], table
    lines = book.read("xl/charts/chart1.xml").decode()
    assert re.findall(r"<c:f>([^<]*)</c:f>", lines)[::2] == ["intervals!$D$2:$D$4", "intervals!$D$5:$D$7"], lines


@case("texts are texts: formulas, markup, controls, no UTF-8 and what is longer than a cell")
def _():
    evil = '=HYPERLINK("http://x")<&>\x01 \u00e4\u4e16 \U0001f600'
    two_runs(host=evil[:60], note="=1+1\nsecond line\x0b", description="\u4e16" * 40000, tags="x" * 190)
    with contextlib.closing(sqlite3.connect(database())) as db, db:
        db.execute("UPDATE runs SET model = CAST(x'41ff42' AS TEXT) WHERE run_id = 2")
    sheet = read(export("2"))[0]["summary"]
    assert sheet.row("host")[1] == evil.replace("\x01", "?"), sheet.row("host")
    assert sheet.row("note")[1] == "=1+1\nsecond line?", sheet.row("note")
    assert sheet.row("model")[1] == "A?B", sheet.row("model")
    long = sheet.row("description")[1]
    assert long and set(long) == {"\u4e16"} and len(long) <= 32767, len(long)


@case("the same run makes the same bytes, dated as the run")
def _():
    two_runs()
    data = export("1")
    assert export("1") == data
    _, book = read(data)
    assert {info.date_time[:3] for info in book.infolist()} == {(1980, 1, 1)}
    # 1,700,000,000 s and a day
    assert "2023-11-15T22:13:20Z" in book.read("docProps/core.xml").decode(), book.read("docProps/core.xml")


@case("a run without intervals and results has its pages")
def _():
    with histories.make() as db:
        histories.add_run(db, status="crashed", ended_at=None)
    pages, _ = read(export("1"))
    assert list(pages) == PAGES, list(pages)
    assert pages["summary"].row("status") == {1: "crashed"} and pages["metrics"].table() == [], pages


@case("a run that began at no possible time has its workbook")
def _():
    for started in (1e300, -1.0, 1e18):
        with histories.make() as db:
            histories.add_run(db, started_at=started)
        assert list(read(export("1"))[0]) == PAGES, started
        database().unlink()


main()
