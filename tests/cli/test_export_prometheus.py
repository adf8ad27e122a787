#!/usr/bin/env python3
"""kvfall export --format prometheus: results as text for collectors that read files."""
import subprocess

import histories
from exposition import Scrape
from runs import measure, result
from tap import case, home, main, need_tool, run

LATENCIES = ("e2e", "ttft", "queue_wait", "storage_io", "generation", "tpot")
QUANTILES = (("p50", "0.5"), ("p95", "0.95"), ("p99", "0.99"), ("p999", "0.999"), ("p9999", "0.9999"))
GIB = 1 << 30


def exported(*args):
    got = run(["export", *args, "--format", "prometheus"])
    assert got.rc == 0, got
    return Scrape(got.stdout, openmetrics=False)


def same(seen, expected, what):
    assert (seen is None) == (expected is None), (what, seen, expected)
    assert seen is None or abs(seen - expected) <= 1e-12 * abs(expected), (what, seen, expected)


@case("each result in base units, with the run in its labels")
def _():
    _, summary = measure({"run.duration": "60s", "run.max_requests": 300})
    got = exported("latest")

    def check(name, metric, scale=1.0, /, **labels):
        value = result(summary, metric)
        same(got.value("kvfall_result_" + name, **labels), None if value is None else value * scale, (name, labels))

    assert got.value("kvfall_run_status", status="completed", run_id="1", name="small") == 1
    for name, metric in (("measured_seconds", "measured_s"), ("prepare_seconds", "prepare_s"),
                         ("requests_per_second", "requests_per_s"), ("generated_tokens", "tokens_generated"),
                         ("tokens_per_second", "throughput_tok_s"), ("nvme_tokens_per_second", "nvme_tok_s"),
                         ("storage_tokens_per_second", "storage_throughput_tok_s"),
                         ("cache_hit_ratio", "hit_ratio"), ("cache_reuse_hit_ratio", "reuse_hit_ratio"),
                         ("cache_writes_refused", "refused"), ("read_write_ratio", "read_write_ratio"),
                         ("goodput_per_second", "goodput_per_s"), ("total_tokens_per_second", "total_tok_s"),
                         ("slots_busy_ratio", "slots_busy_ratio"), ("operation_errors", "operation_errors"),
                         ("entry_bytes", "entry_bytes_mean"), ("device_busy_ratio", "device_busy_ratio"),
                         ("host_cpu_busy_ratio", "host_cpu_ratio"),
                         ("steady_tokens_per_second", "steady_throughput_tok_s"),
                         ("amplification_ratio", "amplification"), ("cpu_user_seconds", "cpu_user_s"),
                         ("cpu_system_seconds", "cpu_sys_s"), ("resident_memory_peak_bytes", "rss_peak_bytes")):
        check(name, metric)
    for outcome in ("done", "failed", "dropped"):
        check("requests", "requests_" + outcome, outcome=outcome)
    for latency in LATENCIES:
        for stat, quantile in QUANTILES:
            check("request_%s_seconds" % latency, "%s_%s_ms" % (latency, stat), 1e-3, quantile=quantile)
        count = got.value("kvfall_result_request_%s_seconds_count" % latency)
        mean = got.value("kvfall_result_request_%s_seconds_sum" % latency) / count
        same(mean, result(summary, latency + "_mean_ms") / 1e3, latency)
        assert count == 300, count
    for tier in ("gpu", "cpu", "nvme"):
        same(got.value("kvfall_result_tier_capacity_bytes", tier=tier), summary["tiers"][tier]["usable_bytes"], tier)
        for what in ("hits", "evictions", "demotions", "promotions", "entries", "used_bytes"):
            check("tier_" + what, "%s_%s" % (tier, what), tier=tier)
        for way in ("read", "write"):
            part = {"tier": tier, "direction": way}
            check("tier_peak_ratio", "%s_%s_peak_share" % (tier, way), **part)
            check("tier_bytes_per_second", "%s_%s_gib_s" % (tier, way), GIB, **part)
            for name, middle in (("operation", ""), ("device", "device_"), ("host", "host_")):
                check("tier_%s_seconds" % name, "%s_%s_%sp95_ms" % (tier, way, middle), 1e-3, quantile="0.95", **part)
            assert got.total("kvfall_result_tier_operations", **part) == result(summary, "%s_%s_ops" % (tier, way))
            assert (got.total("kvfall_result_tier_transferred_bytes", **part)
                    == result(summary, "%s_%s_bytes" % (tier, way)))
    for one in ("interactive", "responsive", "batch"):
        check("class_slo_met_ratio", "slo_%s_met_ratio" % one, **{"class": one})
        check("class_starved_seconds", "class_%s_starved_s" % one, **{"class": one})
        check("class_slo_violations", "slo_%s_violations" % one, **{"class": one})
        for outcome in ("done", "failed"):
            check("class_requests", "class_%s_%s" % (one, outcome), **{"class": one}, outcome=outcome)
        for latency in ("e2e", "ttft"):
            check("class_%s_seconds" % latency, "class_%s_%s_p95_ms" % (one, latency), 1e-3, quantile="0.95",
                  **{"class": one})
    assert got.total("kvfall_result_cache_lookups") == result(summary, "lookups")
    assert got.total("kvfall_result_cache_hits") == result(summary, "hits")
    for criterion in summary["criteria"]:
        passed = got.value("kvfall_result_criterion_passed", criterion=criterion["name"])
        assert passed == (1 if criterion["passed"] is True else 0), (criterion, passed)


@case("several runs stand beside each other, one that never ended and hostile names among them")
def _():
    names = ['a"} 1\\', "tab\tline\nend", "\u4e2d\u6587"]
    with histories.make() as db:
        for name in names:
            number = names.index(name) + 1
            histories.add_run(db, name=name, results={"throughput_tok_s": number * 10.5, "hit_ratio": None},
                              ended_at=None if number == 3 else 1700000060.5)
    got = exported("1", "2", "3")
    seen = sorted((dict(one)["run_id"], dict(one)["name"], value)
                  for one, value in got.series("kvfall_result_tokens_per_second").items())
    assert seen == [("1", names[0], 10.5), ("2", "tab?line\nend", 21), ("3", names[2], 31.5)], seen
    ended = {dict(one)["run_id"]: value for one, value in got.series("kvfall_run_end_time_seconds").items()}
    assert ended == {"1": 1700000060.5, "2": 1700000060.5}, ended
    assert got.series("kvfall_result_cache_hit_ratio") == {} and len(got.series("kvfall_run_info")) == 3


@case("a file ending in .prom gets it, and promtool finds nothing to complain about")
def _():
    measure({"run.duration": "60s", "run.max_requests": 60})
    got = run(["export", "latest", "-o", "kvfall.prom"])
    assert (got.rc, got.stdout) == (0, ""), got
    text = (home() / "work/kvfall.prom").read_text()
    assert text == run(["export", "--format", "prometheus"]).stdout
    promtool = need_tool("promtool")
    said = subprocess.run([promtool, "check", "metrics"], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    assert (said.returncode, said.stdout) == (0, b""), said.stdout.decode()


main()
