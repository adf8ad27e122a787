"""kvfall export --format mlperf: the results file of MLPerf Storage's kv cache benchmark."""
import json
import re

import histories
import runs
from tap import SOURCE, case, main, run

GIB = 1 << 30
KEYS = SOURCE / "tests/golden/mlperf-keys.txt"
MANUAL = SOURCE / "man/kvfall-mlperf.7"
STATISTICS = ("mean", "p50", "p95", "p99", "p999", "p9999", "max")
SIX = STATISTICS[:-1]


def export(ref="1"):
    got = run(["export", ref, "--format", "mlperf"])
    assert got.rc == 0, got
    return json.loads(got.stdout)


def spread(prefix, first):
    """Seven statistics: first, first + 1, ..."""
    return {"%s_%s_ms" % (prefix, name): first + n for n, name in enumerate(STATISTICS)}


def figures():
    """The measures of a run in which every member has a figure; sizes in GiB and operations are small wholes."""
    out = dict(measured_s=60.0, prepare_s=5.0, requests_done=300, requests_per_s=5.0, tokens_generated=24000,
               throughput_tok_s=400.0, total_tok_s=10400.0, storage_throughput_tok_s=160.0, nvme_tok_s=7000.0,
               lookups=1000, hits=700, misses=300, hit_ratio=0.7, prefix_hits=40, conversation_hits=160,
               conversation_lookups=400, prefix_found=30, prefix_rebuilt=5, prefix_bytes_saved=123456,
               total_read_bytes=90 * GIB, total_write_bytes=30 * GIB, read_write_ratio=3.0)
    out.update(spread("e2e", 1000.5))
    out.update(spread("storage_io", 500))
    out.update(spread("generation", 2))
    for n, tier in enumerate(("gpu", "cpu", "nvme"), 1):
        out.update({tier + "_entries": 10 * n, tier + "_used_bytes": n * GIB // 2})
        for m, way in enumerate(("read", "write")):
            out["%s_%s_ops" % (tier, way)] = 100 * n + m
            out["%s_%s_bytes" % (tier, way)] = (6 * n + 12 * m) * GIB
            out["%s_%s_gib_s" % (tier, way)] = (6 * n + 12 * m) / 60
            for k, part in enumerate(("", "_device", "_host")):
                out.update(spread("%s_%s%s" % (tier, way, part), 1000 * n + 100 * m + 10 * k))
    out.update(gpu_write_prefill_ops=7, gpu_write_prefix_ops=3, cpu_write_rag_ops=2, nvme_write_decode_ops=1,
               cpu_write_promotion_ops=50, cpu_write_demotion_ops=20, nvme_write_demotion_ops=90,
               gpu_read_decode_ops=11, cpu_read_conversation_ops=13, nvme_read_rag_ops=17, gpu_read_prefix_ops=19,
               nvme_read_promotion_ops=50)
    out.update(class_gold_arrived=120, class_gold_done=100, slo_gold_met_ratio=0.93, slo_gold_p95_met=0,
               slo_gold_p95_ms=61.5, class_lead_arrived=0, class_lead_done=0)
    out.update(spread("class_gold_e2e", 70))
    out.update(autoscaler_decisions=4, users_at_peak=90, peak_throughput_tok_s=512.25)
    return out


def whole_run(**more):
    """That run, with its classes, criteria, decisions and intervals; 2026-01-02 03:04:05 UTC."""
    with histories.make() as db:
        db.execute("BEGIN")
        run_id = histories.add_run(db, results=figures(), seed=7, started_at=1767323045.0, qos_latency="ttft", **more)
        db.execute("UPDATE results SET samples = 300 WHERE metric IN ('storage_io_mean_ms', 'generation_mean_ms')")
        for tier, emulated in (("gpu", 1), ("cpu", 0), ("nvme", 0)):
            histories.insert(db, "run_tiers", run_id=run_id, tier=tier, emulated=emulated, capacity_bytes=GIB)
        for n, (name, p95) in enumerate((("gold", 50.0), ("lead", 100.0))):
            histories.insert(db, "run_classes", run_id=run_id, n=n, **{"class": name}, share=0.5, p95_ms=p95)
        for n, (name, target, actual, unit, passed) in enumerate((
                ("nvme read P95, device", 200, 2102.5, "ms", 0), ("hit ratio", 0.25, 0.7, "", 1),
                ("nvme write P95, device", 500, None, "ms", None))):
            histories.insert(db, "criteria", run_id=run_id, n=n, name=name, metric="m", op="<", target=target,
                             actual=actual, unit=unit, passed=passed)
        for seq, (action, before, after) in enumerate((("start", 50, 50), ("grow", 50, 90), ("too many", 90, 70),
                                                       ("too many", 70, 70), ("found", 70, 70))):
            histories.insert(db, "decisions", run_id=run_id, seq=seq, n=0, t_s=seq * 10.5, mode="qos", action=action,
                             users_before=before, users_after=after, saturation=seq / 4, throughput_tok_s=100.0 * seq,
                             p95_ms=9.0, reason="because of %d" % seq)
        for seq, (phase, tokens, length) in enumerate((("warmup", 999, 1.0), ("measured", 100, 1.0),
                                                       ("measured", 300, 1.5))):
            histories.insert(db, "intervals", run_id=run_id, seq=seq, t_s=seq + 1.0, length_s=length, phase=phase,
                             tokens=tokens)
        db.execute("COMMIT")


def paths(value, at=""):
    """The members of a document as the list of keys names them."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {path for one in value for path in paths(one, at + "[]")}
    if not isinstance(value, dict):
        return {re.sub(r"(qos_metrics)\.\w+", r"\1.<class>", at)}
    return {path for key, one in value.items() for path in paths(one, at + "." + key if at else key)}


def listed():
    """Those of the list by their sign: "" in both programs, "+" in kvfall alone, "-" in kv-cache.py alone."""
    out = {"": set(), "+": set(), "-": set()}
    for line in KEYS.read_text().splitlines():
        if line and not line.startswith("#"):
            sign, _, path = line.rpartition(" ")
            out[sign].add(path)
    return out


@case("the members are those of kv-cache.py's results, and those that the list says are ours")
def _():
    whole_run()
    known, found = listed(), paths(export())
    assert len(known[""]) > 150 and known["-"], known
    assert found == known[""] | known["+"], (sorted(found - known[""] - known["+"]), sorted(
        (known[""] | known["+"]) - found))


@case("every member stands in kvfall-mlperf(7) under what it belongs to, and no other")
def _():
    words = {"TIER": ("gpu", "cpu", "storage"), "DIR": ("read", "write"), "PAST": ("read", "written"),
             "PART": ("device", "host"), "PNN": SIX[1:], "STAT": SIX}
    text = re.search(r"^\.Sh RESULTS\n(.*?)^\.Sh ", MANUAL.read_text(), re.MULTILINE | re.DOTALL).group(1)
    documented = set()
    for part in re.split(r"^\.Ss ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        above = "" if title == "Top level" else title.strip('"') + "."
        for names in re.findall(r"^\.It Va (.*)", body, re.MULTILINE):
            todo = [above + name for name in names.split(" , ")]
            while todo:
                name = todo.pop()
                word = re.search("TIER|DIR|PAST|PART|PNN|STAT", name)
                if word:
                    todo += [name.replace(word.group(), one, 1) for one in words[word.group()]]
                else:
                    documented.add(name)
    known = set.union(*listed().values())
    assert documented == known, (sorted(documented - known), sorted(known - documented))


@case("figures are converted to the names and units of kv-cache.py")
def _():
    whole_run()
    got = export()
    top, summary = got, got["summary"]
    cache = summary["cache_stats"]
    assert (top["requests_completed"], top["total_tokens_generated"], top["seed"]) == (300, 24000, 7), top
    # 300 requests at a mean of 500 ms and of 2 ms
    assert top["total_storage_io_latency"] == summary["total_storage_io_time"] == 150.0, top
    assert abs(top["total_generation_latency"] - 0.6) < 1e-12, top
    assert (top["multi_turn_cache_hits"], top["multi_turn_cache_misses"]) == (160, 240), top
    assert summary["multi_turn_stats"] == {"cache_hits": 160, "cache_misses": 240, "hit_rate": 0.4}, summary
    assert [summary[k] for k in ("total_requests", "total_tokens", "elapsed_time", "requests_per_second")] == [
        300, 24000, 60, 5], summary
    assert [summary[k + "_tokens_per_sec"] for k in ("avg_throughput", "total", "storage_throughput")] == [
        400, 10400, 160], summary
    for name, first in (("end_to_end", 1000.5), ("storage_io", 500), ("generation", 2)):
        assert summary[name + "_latency_ms"] == {k: first + n for n, k in enumerate(SIX)}, summary[name + "_latency_ms"]
    assert [cache[k] for k in ("cache_hit_rate", "cache_hits", "cache_misses")] == [0.7, 700, 300], cache
    assert [cache[k + "_entries"] for k in ("gpu", "cpu", "storage")] == [10, 20, 30], cache
    assert (cache["gpu_memory_used_gb"], cache["cpu_memory_used_gb"]) == (0.5, 1.0), cache
    assert (cache["system_prompt_hits"], cache["multi_turn_hits"], cache["user_cache_hits"]) == (40, 160, 500), cache
    assert cache["common_phrase_hits"] is None, cache
    # 7 + 3 + 2 + 1 writes of requests; 11 + 13 + 17 reads by decode, conversation and retrieval
    assert (cache["prefill_writes"], cache["decode_reads"]) == (13, 41), cache
    # 201 writes less 50 that rose; 301
    assert (cache["offloads_cpu"], cache["offloads_storage"]) == (151, 301), cache
    assert (cache["read_iops"], cache["write_iops"]) == (100 + 200 + 300, 101 + 201 + 301), cache
    assert (cache["total_read_gb"], cache["total_write_gb"], cache["read_write_ratio"]) == (90, 30, 3), cache
    assert cache["storage_tokens_processed"] == 7000 * 60, cache
    assert cache["tier_storage_kv_bytes_read_gb"] == 18 and cache["tier_storage_kv_bytes_written_gb"] == 30, cache
    assert cache["tier_storage_read_bandwidth_gbps"] == 0.3 and cache["tier_cpu_write_bandwidth_gbps"] == 0.4, cache
    assert cache["gpu_read_p50_ms"] == 1001 and cache["cpu_write_p9999_ms"] == 2105, cache
    assert cache["storage_read_p95_ms"] == 3002 and cache["storage_read_device_p95_ms"] == 3012, cache
    assert cache["storage_write_host_p999_ms"] == 3124, cache
    assert summary["prefix_cache_stats"] == {"prefix_hits": 30, "prefix_misses": 5, "system_prompt_reuse": 30,
                                             "common_phrase_reuse": None, "bytes_saved": 123456}, summary
    assert got["kvfall"]["emulated_tiers"] == ["gpu"] and got["kvfall"]["sla_latency"] == "ttft", got["kvfall"]


@case("what was assessed, promised and decided is told as there")
def _():
    whole_run()
    got = export()
    summary = got["summary"]
    health = summary["cache_stats"]["storage_health"]
    assert (health["overall_status"], health["passed_count"], health["total_count"]) == ("FAIL", 1, 2), health  # one is of a tier that was not needed
    assert got["overall_passed"] is False
    assert health["criteria"][1] == {"name": "hit ratio", "target": 0.25, "actual": 0.7, "unit": "ratio",
                                     "passed": True}, health
    assert len(health["criteria"]) == 2, health
    gold, lead = summary["qos_metrics"]["gold"], summary["qos_metrics"]["lead"]
    assert lead == {"no_data": True}, lead
    assert gold["total_requests"] == 100 and gold["latency_ms"] == {k: 70 + n for n, k in enumerate(STATISTICS)}, gold
    assert gold["sla"] == {"target_p95_ms": 50, "actual_p95_ms": 61.5, "compliance": 0.93, "met": False, "not_judged": None}, gold
    story = summary["autoscaling_stats"]
    assert [(s["action"], s["users"]) for s in story] == [("hold", 50), ("scale_up", 90), ("scale_down", 70),
                                                          ("stop", 70), ("stop", 70)], story
    # the run began at 03:04:05, its clock 5 s later, the second decision fell 10.5 s after that
    assert story[1]["timestamp"] == "2026-01-02T03:04:20.500000", story
    assert story[1]["reason"] == "because of 1" and story[1]["saturation_level"] == 0.25, story
    for peak in ("peak_throughput_tokens_per_sec", "peak_throughput"):
        assert [s.get(peak) for s in story] == [None, None, None, 512.25, 512.25], story
    assert summary["autoscaling_summary"] == {"initial_users": 50, "final_users": 70, "total_scale_events": 2,
                                              "peak_user_count": 90, "peak_throughput_tokens_per_sec": 512.25}, summary
    # 100 tokens in a second, 400 in two and a half
    assert got["throughput_timeline"] == [{"timestamp": 1, "throughput_tokens_per_sec": 100},
                                          {"timestamp": 2.5, "throughput_tokens_per_sec": 160}], got


@case("a run without results has nothing to submit: status 1 and a sentence")
def _():
    with histories.make() as db:
        histories.add_run(db, status="failed")
    got = run(["export", "--format", "mlperf"])
    assert got.rc == 1 and got.stdout == "" and "run 1 has no results" in got.stderr, got


@case("a run with few figures has no others, and nothing that mlpstorage would stumble over")
def _():
    with histories.make() as db:
        histories.add_run(db, results={"measured_s": 1.5}, status="failed")
    got = export()
    summary = got["summary"]
    cache = summary["cache_stats"]
    assert got["requests_completed"] is None and summary["total_tokens"] is None, got
    for absent in ("avg_throughput_tokens_per_sec", "storage_throughput_tokens_per_sec"):
        assert absent not in summary, summary
    assert summary["storage_io_latency_ms"] == {} and cache["storage_entries"] is None, summary
    for absent in ("tier_storage_read_bandwidth_gbps", "tier_storage_write_bandwidth_gbps",
                   "storage_read_device_p95_ms", "storage_write_device_p95_ms"):
        assert absent not in cache, cache
    assert cache["storage_health"] == {"overall_status": None, "criteria": [], "passed_count": 0, "total_count": 0}
    assert summary["autoscaling_stats"] == [] and summary["autoscaling_summary"] is None, summary

    def zeros(value, at=""):
        if isinstance(value, dict):
            return [one for key, member in value.items() for one in zeros(member, at + "." + key)]
        return [at] if value == 0 and value is not False else []
    assert zeros(got) == [".summary.cache_stats.storage_health.passed_count",
                          ".summary.cache_stats.storage_health.total_count"], zeros(got)


@case("the figures of a real run are those of its summary")
def _():
    # so many contexts of at least 64 KiB leave the 4 MiB of memory for the drive, however long they take
    _, ours = runs.measure({"run.max_requests": 120, "run.duration": "120s"})
    got = export("latest")["summary"]
    value = {name: one["value"] for name, one in ours["results"].items()}
    cache = got["cache_stats"]
    known = listed()
    assert paths(got, "summary") <= known[""] | known["+"] | {"summary.autoscaling_summary", "summary.autoscaling_stats"}
    assert value["requests_done"] > 0 and value["nvme_write_bytes"] > 0, value
    for theirs, mine in (("total_requests", "requests_done"), ("total_tokens", "tokens_generated"),
                         ("avg_throughput_tokens_per_sec", "throughput_tok_s"), ("elapsed_time", "measured_s"),
                         ("storage_throughput_tokens_per_sec", "storage_throughput_tok_s")):
        assert got[theirs] == value[mine], (theirs, got)
    io_s = got["total_storage_io_time"]
    assert abs(io_s * value["storage_throughput_tok_s"] - value["tokens_generated"]) < 1e-6 * value["tokens_generated"], io_s
    # a request may end between the reading of the counts and that of the latencies
    ended = runs.rows("SELECT samples FROM results WHERE metric = 'e2e_mean_ms'")[0]["samples"]
    spent_s = ended * value["e2e_mean_ms"] / 1000
    assert abs(io_s - spent_s * value["storage_io_share"]) < 1e-6 * spent_s, (io_s, spent_s)
    for tier, mine in (("gpu", "gpu"), ("cpu", "cpu"), ("storage", "nvme")):
        for way, past in (("read", "read"), ("write", "written")):
            in_gib = cache["tier_%s_kv_bytes_%s_gb" % (tier, past)]
            assert in_gib * GIB == value["%s_%s_bytes" % (mine, way)], cache
            rate = cache["tier_%s_%s_bandwidth_gbps" % (tier, way)]
            assert abs(rate * got["elapsed_time"] - in_gib) < 1e-9 * (1 + in_gib), cache
            assert cache.get("%s_%s_p95_ms" % (tier, way)) == value["%s_%s_p95_ms" % (mine, way)], cache
    kinds = cache["system_prompt_hits"] + cache["multi_turn_hits"] + cache["user_cache_hits"]
    assert kinds == cache["cache_hits"] == value["hits"], cache
    assert any(klass.get("total_requests") for klass in got["qos_metrics"].values()), got["qos_metrics"]
    for one in ours["qos"]:
        klass = got["qos_metrics"][one["name"]]
        if "no_data" in klass:
            assert one["metrics"]["arrived"] == 0, one
        else:
            assert klass["total_requests"] == one["metrics"]["done"], (klass, one)
            assert klass["sla"]["compliance"] == one["met_ratio"] and klass["sla"]["met"] == one["met"]["p95"], (klass, one)
            assert klass["latency_ms"]["p95"] == one["metrics"]["e2e_p95_ms"], (klass, one)


@case("the load that was offered is told, and the summary warns of a run that did not serve it or left work undone")
def _():
    load = {"requests_arrived": 1000, "offered_requests_per_s": 10, "achieved_requests_per_s": 5, "achieved_ratio": 0.5, "unserved_ratio": 0.4}
    served = {**load, "achieved_requests_per_s": 10, "achieved_ratio": 1, "unserved_ratio": 0}
    paced = {"requests_arrived": 1000, "unserved_ratio": 0.4}
    closed = {"requests_arrived": 1000, "unsettled_ratio": 0.3}
    late = "it did not serve what arrived"
    with histories.make() as db:
        for results in ({}, load, served, paced, {**load, "fell_through": 2}, closed):
            histories.add_run(db, results={"throughput_tok_s": 400.0, **results})
    for ref, (results, why) in enumerate((({}, None), (load, late), (served, None), (paced, late), (load, "2 writes fell through; " + late), (closed, late)), 1):
        got = export(str(ref))
        for name in ("offered_requests_per_s", "achieved_ratio", "unserved_ratio", "unsettled_ratio"):
            assert got["kvfall"][name] == results.get(name), (ref, got["kvfall"])
        assert got["kvfall"]["undone"] == why, (ref, got["kvfall"])
        assert got["summary"]["warning"] == (why and "throughput not comparable: " + why), (ref, got["summary"])


@case("it takes one run at a time")
def _():
    whole_run()
    got = run(["export", "1", "1", "--format", "mlperf"])
    assert got.rc == 2 and got.stderr == "kvfall: --format mlperf takes one run at a time\n", got


main()
