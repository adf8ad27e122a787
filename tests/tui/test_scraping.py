#!/usr/bin/env python3
"""Scrapes of a run on the screen: as it goes on, as it stands still, and when it has ended and is looked at."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from exposition import scrape, scrape_after
from runs import result
from screens import begin, events, leave, stored_event
from tap import case, home, main, wait_until
from tmux import Terminal


def serving():
    """The port, which is an event of the run."""
    stored_event("metrics are served at ")
    return int(next(re.search(r":(\d+)/metrics$", one).group(1) for one in events("info") if "metrics are" in one))


@case("when a run has ended its counters are the figures of its summary, until the screen is left")
def _():
    with Terminal() as t:
        begin(t, {"run.max_requests": 300, "tiers.gpu": {"capacity": "2MiB", "backend": "emulated"}},
              "--metrics", "0", "--json", "out.json")
        port = serving()
        t.wait_for("COMPLETED")
        got = wait_until(lambda: (lambda one: one if one.value("kvfall_run_status", status="completed") else None)(
            scrape(port)), what="the status")
        assert got.value("kvfall_run_status", status="running") == 0
        t.keys("q")
        assert t.status() == 0
        assert "kvfall: metrics at http://127.0.0.1:%d/metrics" % port in t.all(), t.all()
    summary = json.loads((home() / "work/out.json").read_text())
    assert result(summary, "requests_done") == 300
    for outcome in ("done", "failed", "dropped"):
        assert got.value("kvfall_requests_ended_total", outcome=outcome) == result(summary, "requests_" + outcome)
    assert got.value("kvfall_generated_tokens_total") == result(summary, "tokens_generated")
    assert got.total("kvfall_cache_misses_total") == result(summary, "misses")
    for cause in ("prefill", "decode", "conversation", "prefix", "rag"):
        assert got.value("kvfall_cache_lookups_total", cause=cause) == result(summary, cause + "_lookups"), cause
        assert got.total("kvfall_cache_hits_total", cause=cause) == result(summary, cause + "_hits"), cause
    for tier in ("gpu", "cpu", "nvme"):
        assert got.total("kvfall_cache_hits_total", tier=tier) == result(summary, tier + "_hits"), tier
        # moves that had not ended with the last request are in the interval behind the measured part
        for way in ("read", "write"):
            part = {"tier": tier, "direction": way}
            for cause in ("prefill", "decode", "conversation", "prefix"):
                counted = summary["results"].get("%s_%s_%s_ops" % (tier, way, cause), {"value": 0})["value"]
                assert got.value("kvfall_tier_operations_total", cause=cause, **part) == counted, (part, cause)
    for latency in ("e2e", "ttft", "queue_wait", "storage_io"):
        count = got.value("kvfall_request_%s_seconds_count" % latency)
        mean_ms = got.value("kvfall_request_%s_seconds_sum" % latency) / count * 1e3
        in_summary = result(summary, latency + "_mean_ms")
        assert count == 300 and abs(mean_ms - in_summary) < 1e-6 * mean_ms, (latency, count, mean_ms, in_summary)
        # the median lies between the bounds of its bucket
        p50_s = result(summary, latency + "_p50_ms") / 1e3
        below = {float(dict(one)["le"]): value for one, value in
                 got.series("kvfall_request_%s_seconds_bucket" % latency).items()}
        assert max([value for le, value in below.items() if le < 0.99 * p50_s], default=0) <= 150, (latency, below)
        assert min(value for le, value in below.items() if le > 1.01 * p50_s) >= 150, (latency, below)


@case("a run that stands still says so, and counts nothing")
def _():
    with Terminal() as t:
        begin(t, None, "--metrics", "0")
        port = serving()
        scrape_after(port, 1)
        t.keys("Space")
        t.wait_for("PAUSED")
        still = wait_until(lambda: (lambda one: one if one.value("kvfall_run_paused") else None)(scrape(port)),
                           what="the pause in a scrape")
        taken = still.value("kvfall_run_intervals_total")
        again = scrape(port)
        assert again.value("kvfall_run_paused") == 1 and again.value("kvfall_run_intervals_total") == taken
        assert (again.value("kvfall_requests_arrived_total") == still.value("kvfall_requests_arrived_total"))
        t.keys("Space")
        t.wait_for("RUNNING")
        after = scrape_after(port, taken + 2)
        assert after.value("kvfall_run_paused") == 0
        assert leave(t) == 0


main()
