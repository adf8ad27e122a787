#!/usr/bin/env python3
"""Bandwidths as shares of what a tier's device can do."""
import re

from runs import TIERS, measure, rows
from tap import case, main, run

PEAKS = {"tiers.gpu.peak_read": "55GB/s", "tiers.cpu.peak_write": "500MB/s", "tiers.nvme.peak_read": "2GiB/s"}
BYTES_S = {"gpu_read": 55e9, "cpu_write": 500e6, "nvme_read": 2 << 30}


@case("a share is bytes / seconds / peak, and missing without a peak")
def _():
    _, summary = measure(PEAKS)
    value = {r["metric"]: r["value"] for r in rows("SELECT metric, value FROM results")}
    assert value["gpu_read_bytes"] > 0 and value["cpu_write_bytes"] > 0, value
    for tier in TIERS:
        for way in ("read", "write"):
            name = "%s_%s" % (tier, way)
            share = value[name + "_peak_share"]
            if name in BYTES_S:
                assert abs(share - value[name + "_bytes"] / value["measured_s"] / BYTES_S[name]) < 1e-12, (name, value)
            else:
                assert share is None, (name, share)
    tiers = summary["run"]["configuration"]["tiers"]
    assert (tiers["gpu"]["peak_read"], tiers["gpu"]["peak_write"]) == ("55GB/s", None), tiers


@case("summary, show and the tiers view have them; without a peak they say nothing of it")
def _():
    got, _ = measure(PEAKS)
    line = r"^(Bandwidth| {9})   .*\b%s [\d.]+ GiB/s, [\d.]+ % of peak"
    for text in (got.stdout, run(["show"]).stdout):
        for name in BYTES_S:
            assert re.search(line.replace("% of", "%% of") % name.replace("_", " "), text, re.MULTILINE), (name, text)
        assert "gpu write" not in text, text
    view = run(["watch", "--dump", "--view", "tiers", "--size", "100x30"]).stdout
    assert "of peak" in view.split("Entry I/O")[1].splitlines()[0], view
    row = [r for r in view.split("Entry I/O")[1].splitlines() if r.startswith(" gpu emul")][0]
    assert re.search(r"read +[\d.]+ %", row), row
    plain, _ = measure({})
    assert "of peak" not in plain.stdout, plain
    assert "of peak" not in run(["watch", "--dump", "--view", "tiers", "--size", "100x30"]).stdout


main()
