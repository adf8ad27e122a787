#!/usr/bin/env python3
"""One run as a browser, a spreadsheet, Prometheus, a script and a CI job see it: the same figures."""
import csv
import io
import json
import re
from xml.etree import ElementTree

import books
from exposition import Scrape
from pages import page, words
from runs import measure, result, rows
from tap import case, home, main, run

SIMULATED = {"mode": "simulate", "tiers.nvme": None, "run.duration": "60s", "run.max_requests": 200}
ASKED = ("throughput_tok_s", "requests_done", "hit_ratio", "reuse_hit_ratio", "ttft_p95_ms", "e2e_p50_ms", "e2e_p95_ms", "requests_per_s")
# The names of Prometheus, and what one of its units is in ours.
SCRAPED = {"throughput_tok_s": ("tokens_per_second", {}, 1), "requests_done": ("requests", {"outcome": "done"}, 1),
           "hit_ratio": ("cache_hit_ratio", {}, 1), "reuse_hit_ratio": ("cache_reuse_hit_ratio", {}, 1),
           "ttft_p95_ms": ("request_ttft_seconds", {"quantile": "0.95"}, 1e3), "requests_per_s": ("requests_per_second", {}, 1),
           "e2e_p50_ms": ("request_e2e_seconds", {"quantile": "0.5"}, 1e3), "e2e_p95_ms": ("request_e2e_seconds", {"quantile": "0.95"}, 1e3)}


def out(args):
    got = run(args)
    assert got.rc == 0, got
    return got.stdout


@case("HTML, workbook, OpenMetrics, CSV, JSON and SQL have the same figures of a run")
def _():
    _, summary = measure(SIMULATED)
    asked = {name: result(summary, name) for name in ASKED}
    assert all(value is not None and value > 0 for value in asked.values()), asked
    assert run(["export", "1", "-o", "run.xlsx"]).rc == 0
    sheets, _ = books.read((home() / "work/run.xlsx").read_bytes())
    sheet = {row["metric"]: row["run 1"] for row in sheets["metrics"].table()}
    scraped = Scrape(out(["export", "1", "--format", "prometheus"]), openmetrics=False)
    script = json.loads(out(["export", "1", "--format", "json"]))["runs"][0]
    parts = {row["seq"]: row for row in csv.DictReader(io.StringIO(out(["export", "1", "--format", "csv"]))) if row["phase"] == "measured"}
    seconds = {seq: float(row["length_s"]) for seq, row in parts.items()}
    mean = sum(float(row["throughput_tok_s"]) * seconds[seq] for seq, row in parts.items()) / sum(seconds.values())
    assert abs(mean / asked["throughput_tok_s"] - 1) < 1e-9, (mean, asked["throughput_tok_s"])
    stored = {row["metric"]: row["value"] for row in rows("SELECT metric, value FROM results WHERE run_id = 1")}
    cells = [[words(cell) for cell in row] for row in page(out(["report", "1", "--format", "html"])).iter("{http://www.w3.org/1999/xhtml}tr")]
    for name, value in asked.items():
        assert stored[name] == value and books.same(sheet[name], value), (name, value, stored[name], sheet[name])
        assert result(script, name) == value, name
        metric, labels, scale = SCRAPED[name]
        assert abs(scraped.value("kvfall_result_" + metric, **labels) * scale / value - 1) < 1e-12, (name, value)
        told = [row[1] for row in cells if row[0] == name]
        assert told and all(abs(float(text.replace(",", "")) / value - 1) < 1e-8 for text in told), (name, value, told)
    tiles = re.sub(r"\s+", " ", words(page(out(["report", "1", "--format", "html"]))))
    assert "%.1f %%" % (100 * asked["reuse_hit_ratio"]) in tiles and "Requests done%d" % asked["requests_done"] in tiles, tiles[:900]


@case("a CI job finds the change that the runs' figures have")
def _():
    before = result(measure(SIMULATED)[1], "reuse_hit_ratio")
    after = result(measure({**SIMULATED, "tiers.gpu.capacity": "1MiB", "tiers.cpu.capacity": "1MiB"})[1], "reuse_hit_ratio")
    got = run(["compare", "1", "2", "--fail-over", "1%", "--junit", "out.xml"])
    suite = ElementTree.parse(str(home() / "work/out.xml")).getroot()
    failed = {one.get("name"): one.find("failure").get("message") for one in suite if one.find("failure") is not None}
    assert got.rc == 3 and after < before, (got, before, after)
    change, *ends = (float(text) for text in re.search(r"down by ([0-9.]+) % from ([0-9.]+) % to ([0-9.]+) %", failed["reuse_hit_ratio"]).groups())
    assert abs(change - 100 * (1 - after / before)) <= 0.05 + 1e-9, (failed, before, after)
    assert all(abs(told - 100 * value) <= 0.05 + 1e-9 for told, value in zip(ends, (before, after))), (failed, before, after)


main()
