"""kvfall report: stored runs as a page, as Markdown and as text."""
import json
import os
import re
import sqlite3

import histories
import runs
from pages import HOSTILE, RESULTS, SVG, XHTML, add_intervals, add_run, charts, page, sections, table, words
from tap import case, database, finish, home, main, run, spawn

def report(*args):
    got = run(["report", *args])
    assert got.rc == 0 and got.stderr == "", got
    return got.stdout


@case("a run as a page: verdict, figures, charts over time, what it ran on")
def _():
    with histories.make() as db:
        run_id = add_run(db, bottleneck="nvme reads, 70 % of storage time", name="nightly",
                         environment='{"cpu": {"model": "Testium 9", "online": 8, "usable": 4}, "kernel": "Linux 6.1"}')
        histories.insert(db, "criteria", run_id=run_id, n=0, name="hit ratio", metric="hit_ratio", op=">", target=0.3,
                         actual=0.75, unit="", passed=1)
        histories.insert(db, "criteria", run_id=run_id, n=1, name="P95", metric="e2e_p95_ms", op="<", target=10,
                         actual=20, unit="ms", passed=0)
        histories.insert(db, "events", run_id=run_id, n=0, t_s=3.0, level="warning", message="something is odd")
        histories.insert(db, "events", run_id=run_id, n=1, t_s=4.0, level="mark", message="noted here")
    root = page(report())
    text = words(root)
    assert "COMPLETED 20.0 s measured. 1 of 2 criteria passed." in text
    assert "Bottleneck: nvme reads, 70 % of storage time." in text
    assert "Emulated: gpu." in text and "Warning at 3.00 s: something is odd" in text
    assert "Testium 9, 4 of 8 CPUs usable" in text and "Linux 6.1" in text
    assert [row[:1] + row[2:] for row in table(root, "Assessment")[1:]] == [["hit ratio", "75.0 %", ">", "30.0 %", "PASS"],
                                                                            ["P95", "20.0 ms", "<", "10.0 ms", "FAIL"]]
    assert sections(root)[:3] == ["Verdict", "Over time", "Latency"], sections(root)
    assert {"Throughput", "Tier occupancy", "Tier fill", "Read bandwidth", "End-to-end latency", "Hit ratio",
            "Hits and misses by cause"} <= set(charts(root)), charts(root)
    assert "GPU utilisation" not in charts(root), "no GPU, no box for one"
    latency = table(root, "Of a request")
    assert latency[0] == ["latency", "mean", "P50", "P95", "P99", "P99.9", "P99.99", "max", "samples"]
    assert latency[1] == ["end-to-end", "12.0 ms", "10.0 ms", "20.0 ms", "30.0 ms", "--", "--", "40.0 ms", "--"]
    assert table(root, "Lookups by cause")[1] == ["conversation", "8", "6", "2", "75.0 %"]
    titles = [words(node) for node in root.iter(SVG + "title")]
    assert "noted here" in titles and any("gpu (emulated): 1.00 MiB" in title for title in titles), titles[:9]


def facts(root, name):
    """What stands beside a name in the lists of facts of a page."""
    return [words(pair[1]) for pair in root.iter(XHTML + "div") if len(pair) == 2 and pair[0].tag == XHTML + "dt" and
            words(pair[0]) == name]


@case("what limits a run, and what would help, stand on the page, in Markdown and in the text, each once")
def _():
    remedies = (("2 x nvme bandwidth (one more drive)", "throughput_tok_s", 1000, 1500),
                ("4 x cpu capacity", "e2e_mean_ms", 80, 60))
    with histories.make() as db:
        small, idle, old = add_run(db, name="small"), add_run(db, name="idle"), add_run(db, name="old")
        histories.insert(db, "verdicts", run_id=small, limited_by="cpu", share=0.8, cause="capacity",
                         sentence="cpu capacity: the working set takes 8.00 GiB")
        histories.insert(db, "verdicts", run_id=idle, limited_by="none", sentence="none: all targets met")
        for n, (change, metric, now, estimate) in enumerate(remedies):
            histories.insert(db, "remedies", run_id=small, n=n, change=change, metric=metric, now=now, estimate=estimate)
        histories.insert(db, "verdict_warnings", run_id=small, n=0, message="3 writes were refused")
    helps = ("Would help: 2 x nvme bandwidth (one more drive): tokens/s 1.00k to 1.50k (estimate).",
             "Would help: 4 x cpu capacity: end-to-end mean 80.0 ms to 60.0 ms (estimate).")
    root = page(report(str(small)))
    assert facts(root, "Limited by") == ["cpu, capacity"], facts(root, "Limited by")
    text = words(root)
    assert "Bottleneck: cpu capacity: the working set takes 8.00 GiB." in text, text
    assert all(text.count(one) == 1 for one in helps), text
    assert "Warning: 3 writes were refused." in text, text
    markdown = report(str(small), "--format", "md")
    assert markdown.count("\n- **Limited by:** cpu, capacity\n") == 1, markdown
    assert all(one in markdown.replace("\\", "") for one in helps), markdown
    plain = report(str(small), "--format", "txt")
    assert len(re.findall(r"^ *Limited by:? +cpu, capacity$", plain, re.M)) == 1, plain
    assert facts(page(report(str(idle))), "Limited by") == ["none"]
    assert "- **Limited by:** none\n" in report(str(idle), "--format", "md")
    for form in ("html", "md", "txt"):  # nobody has judged it
        assert "Limited by" not in report(str(old), "--format", form)
    several = page(report(str(small), str(idle)))
    assert "run 1: cpu, capacity; run 2: none" in facts(several, "Limited by"), facts(several, "Limited by")
    assert "- **Limited by:** run 1: cpu, capacity; run 2: none\n" in report(str(small), str(idle), "--format", "md")


@case("the summary's facts stand on the page too, item by item")
def _():
    results = dict(RESULTS, requests_failed=2, requests_dropped=1, tokens_generated=24690, lateness_p99_ms=1.5,
                   offered_requests_per_s=6, achieved_requests_per_s=5, achieved_ratio=5 / 6, decode_lookups=2, decode_hits=1,
                   reuse_hit_ratio=5 / 6, total_read_bytes=3 << 30, total_write_bytes=1 << 30, read_write_ratio=3, amplification=1.5,
                   entry_bytes_mean=1 << 20, entry_bytes_min=4096, entry_bytes_p95=2 << 20, entry_bytes_max=4 << 20,
                   operation_errors=1, fell_through=3, refused=0, cpu_user_s=2, cpu_sys_s=1, rss_peak_bytes=1 << 28, prepare_s=0.5,
                   device_read_bytes=11 << 20, nvme_read_bytes=10 << 20, nvme_break_even_tokens=512, nvme_read_gib_s=1.5,
                   nvme_read_peak_share=0.5, prefix_seen=4, prefix_found=3, prefix_rebuilt=1, prefix_bytes_saved=1 << 30)
    with histories.make() as db:
        add_run(db, results=results)
    root = page(report())
    shown, label = {}, None
    for line in run(["show", "1"], env={"COLUMNS": "80"}).stdout.splitlines():
        if not line.startswith("  ") or line.startswith(" " * 12):
            label = line[:12].strip() or label
            shown.setdefault(label, []).extend(re.split("  +", line[12:].strip()))
    both = ["Load", "Requests", "Bandwidth", "Break-even", "Hits", "Prefixes", "Moved", "Entries", "Kernel", "Errors", "Process"]
    for label in both:
        items = [item for item in shown[label] if not re.match(r"conversation |decode |\d+k tokens: ", item)]  # tables on the page
        assert facts(root, label) == ["; ".join(items).replace(":;", ":")], (label, items, facts(root, label))
    assert shown["Moved"] == ["read 3.00 GiB", "written 1.00 GiB", "ratio 3.00", "amplification 1.50"], shown


@case("names, reasons, tags and scenarios from anywhere are texts and nothing else")
def _():
    with histories.make() as db:
        run_id = add_run(db, name=HOSTILE[:60], description=HOSTILE, status="failed", status_reason=HOSTILE, tags=HOSTILE[:90],
                         note=HOSTILE * 50, bottleneck=HOSTILE, host="<h>", model="<m>", version="<v>", scenario_yaml="# ```\n````\n" + HOSTILE,
                         environment='{"host": "<script>x</script>", "cpu": {"model": "a|b<i>"}}',
                         effective_json='{"name": "<u>", "run": {"duration": "<s>"}}', uuid="<b>x</b>")
        histories.insert(db, "run_classes", run_id=run_id, n=0, **{"class": "<c>|x"}, share=1, p95_ms=5)
        histories.insert(db, "qos_intervals", run_id=run_id, seq=3, **{"class": "<c>|x"}, met_ratio=0.5, ttft_p95_ms=7.5)
        for n, level in enumerate(("error", "mark", "<l>")):
            histories.insert(db, "events", run_id=run_id, n=n, t_s=3.0, level=level, message=HOSTILE)
        histories.insert(db, "criteria", run_id=run_id, n=0, name=HOSTILE[:60], metric="m", op="<", target=1, actual=2,
                         unit="<u>", passed=0)
        histories.insert(db, "decisions", run_id=run_id, seq=3, n=0, t_s=4.0, mode="qos", action="<a>", users_before=1,
                         users_after=2, reason=HOSTILE)
        histories.insert(db, "results", run_id=run_id, n=99, metric="<script>|x", value=1, unit="<x>")
        db.execute("UPDATE runs SET name = CAST(x'fffe3c' || CAST(name AS BLOB) AS TEXT)")
    text = report()
    root = page(text)
    assert "<script>alert(1)</script>" in words(root) and "\ufffd\ufffd<" in words(root)
    assert not set(text) & ({chr(c) for c in range(32)} - {"\n", "\t"} | {"\u202e", "\u200f", "\x7f"})
    markdown = report("--format", "md")
    assert "<script" not in markdown and "<b>" not in markdown, markdown
    body = re.sub(r"^<pre>\n.*?^</pre>$", "", markdown, flags=re.M | re.S)
    assert not re.search(r"<[A-Za-z/!?]", body), body
    assert "[x](" not in body and "`c`" not in body.replace("\\`", ""), body
    assert "http://" not in body and "<pre>\n# ```\n````\n" in markdown, markdown
    bars = 0
    for line in body.splitlines():
        here = len(re.findall(r"(?<!\\)\|", line))
        assert here == bars or not bars or not here, "a row has the columns of its table: " + line
        bars = here
    plain = report("--format", "txt")
    for other in (markdown, plain):
        assert not set(other) & ({chr(c) for c in range(32)} - {"\n", "\t"} | {"\u202e", "\u200f", "\x7f"})


@case("a run without intervals and results, an interrupted, a crashed and a running one say so, without empty boxes")
def _():
    with histories.make() as db:
        histories.add_run(db, name="empty")
        histories.add_run(db, name="interrupted", status="interrupted", status_reason="stopped by a key")
        histories.add_run(db, name="crashed", status="crashed", ended_at=None)
        running = add_run(db, name="going on", status="running", results={}, intervals=3)
        db.execute("UPDATE runs SET ended_at = NULL, host = 'elsewhere', boot_id = 'x' WHERE run_id = ?", (running,))
    for ref, said in (("1", "COMPLETED Nothing measured."), ("2", "INTERRUPTED stopped by a key. Nothing measured."),
                      ("3", "CRASHED No results.")):
        root = page(report(ref))
        assert said in words(root), (said, words(root)[-3000:])
        assert "The database has no interval of this run" in words(root) and charts(root) == []
        assert not list(root.iter(SVG + "svg"))
        assert "Bottleneck" not in words(root) and "Latency" not in sections(root)
    root = page(report("4"))
    assert "RUNNING No results yet. The results below are those stored so far." in words(root)
    assert "Throughput" in charts(root) and "Cache and tiers" not in sections(root)
    for form in ("md", "txt"):
        for ref in "1234":
            assert "Verdict" in report(ref, "--format", form)


@case("missing values are gaps; a run of them, without tiers, with one or with four, is a report all the same")
def _():
    nothing = dict.fromkeys(("users", "queue_depth", "in_service", "throughput_tok_s", "e2e_p50_ms", "e2e_p95_ms", "hit_ratio"))
    with histories.make() as db:
        for tiers in ((), ("cpu",), ("gpu", "cpu", "nvme", "remote")):
            add_run(db, tiers=tiers, name="tiers %d" % len(tiers))
        hollow = add_run(db, name="hollow", intervals=0, results=dict.fromkeys(RESULTS))
        add_intervals(db, hollow, 5, (), **nothing)
        gaps = add_run(db, name="gaps", intervals=0)
        add_intervals(db, gaps, 9, ())
        db.execute("UPDATE intervals SET throughput_tok_s = NULL WHERE run_id = ? AND seq IN (3, 4, 6)", (gaps,))
    root = page(report("tiers 0"))
    assert "Tier occupancy" not in charts(root) and "Cache and tiers" not in sections(root)
    assert "nvme read" not in words(page(report("tiers 1")))
    four = page(report("tiers 4"))
    legend = {words(node) for node in four.iter(SVG + "text")}
    assert {"gpu (emulated)", "cpu", "nvme", "remote"} <= legend, legend
    assert "Throughput" not in charts(page(report("hollow")))
    lines = [node.get("d") for node in page(report("gaps")).iter(SVG + "path") if node.get("class") == "l k0 d0"]
    assert [lines[0].count(letter) for letter in "ML"] == [3, 3], lines[0]  # 0 to 2, 5 alone, 7 to 8
    assert [path.get("d").count("h.01") for path in page(report("gaps")).iter(SVG + "path") if path.get("class", "").startswith("q ")][0] == 1


@case("GPUs, classes and the autoscaler have their chapters where a run has them")
def _():
    with histories.make() as db:
        run_id = add_run(db, results=dict(RESULTS, slo_gold_met_ratio=0.5, slo_gold_p95_ms=12.5, slo_gold_p95_met=0,
                                          class_gold_arrived=40, class_gold_done=37, class_gold_failed=2,
                                          class_gold_queued_at_end=1, class_gold_in_service_at_end=3))
        histories.insert(db, "run_classes", run_id=run_id, n=0, share=1, p95_ms=10.0, **{"class": "gold"})
        for seq in range(10):
            histories.insert(db, "qos_intervals", run_id=run_id, seq=seq, met_ratio=0.5, ttft_p95_ms=11.0, queued=seq,
                             **{"class": "gold"})
            for device in (0, 3):
                histories.insert(db, "gpu_intervals", run_id=run_id, seq=seq, device=device, utilisation=0.25,
                                 memory_used_bytes=1 << 30, power_w=300.0 + device)
        for n, (action, before, after) in enumerate((("grow", 10, 20), ("found", 20, 15))):
            histories.insert(db, "decisions", run_id=run_id, seq=n + 2, n=n, t_s=n + 3.0, mode="qos", action=action,
                             users_before=before, users_after=after, saturation=0.4, p95_ms=8.0, reason="because of " + action)
    root = page(report())
    assert {"GPU utilisation", "GPU memory", "GPU power", "Users", "TTFT P95 by class"} <= set(charts(root)), charts(root)
    assert "GPU temperature" not in charts(root)
    texts = [words(node) for node in root.iter(SVG + "text")]
    assert "GPU 0" in texts and "GPU 3" in texts and "target gold 10.0 ms" in texts, texts
    assert table(root, "Classes")[1] == ["gold", "50.0 %", "12.5 ms", "10.0 ms", "missed", "43", "37", "2", "4", "--"]
    assert table(root, "Decisions")[1:] == [["3.00 s", "qos", "grow", "10 -> 20", "40.0 %", "--", "8.00 ms", "because of grow"],
                                            ["4.00 s", "qos", "found", "20 -> 15", "40.0 %", "--", "8.00 ms", "because of found"]]
    marks = [words(node.find(SVG + "title")) for node in root.iter(SVG + "g") if node.get("class") == "e"]
    assert marks == ["grow 10 -> 20: because of grow", "found 20 -> 15: because of found"], marks


@case("several runs are compared first; each has its own part after that")
def _():
    with histories.make() as db:
        add_run(db, name="one")
        add_run(db, name="two", results=dict(RESULTS, throughput_tok_s=2469.0))
    root = page(report("1", "2"))
    heads = [words(section[0]) for section in root.iter(XHTML + "section") if section.get("class") == "level1"]
    assert heads[0] == "Comparison" and len(heads) == 3, heads
    assert "one" in heads[1] and "two" in heads[2], heads
    overlay = next(figure for figure in root.iter(XHTML + "figure") if words(figure[0]) == "Throughput")
    names = [words(node) for node in overlay.iter(SVG + "text")]
    assert "run 1 one" in names and "run 2 two" in names, names
    rows = {row[0]: row[1:] for row in table(root, "Metrics and their change")}
    assert rows["metric"] == ["run 1", "run 2", "change", "relative", "", "noise", "95 % interval"], rows
    assert rows["tokens/s"][:5] == ["1.23k", "2.47k", "+1.23k", "+100.0 %", "better"], rows
    assert rows["end-to-end P95"][:5] == ["20.0 ms", "20.0 ms", "0 ms", "0.0 %", "same"], rows
    assert run(["report", "1", "2", "1"]).rc == 2


@case("each line of a chart of percentiles ends at the highest value measured")
def _():
    _, summary = runs.measure({"mode": "simulate", "run": {"duration": "20s", "warmup": "0s"}})
    text = report("latest", "--format", "txt")
    for label, scope in (("end-to-end", "e2e"), ("TTFT", "ttft")):
        line = re.search(r"Latencies of requests, percentiles.*?^ *%s .*? to ([0-9.]+) (us|ms|s)$" % label, text, re.S | re.M)
        told = float(line[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[line[2]]
        most = runs.result(summary, scope + "_max_ms")
        assert abs(told - most) <= 0.005 * most, (label, told, most)


@case("of many runs each has its verdict behind the comparison")
def _():
    with histories.make() as db:
        for number in range(10):
            add_run(db, name="run-%d" % number, results=dict(RESULTS, throughput_tok_s=100.0 + number))
    root = page(report(*map(str, range(1, 11))))
    assert sections(root).count("Verdict") == 10 and "Latency" not in sections(root)
    assert table(root, "Metrics and their change")[1][:3] == ["tokens/s", "100", "101 (+1.0 %, better?)"]


@case("a trial is shown with its group")
def _():
    with histories.make() as db:
        first = None
        for trial, value in enumerate((10.0, 20.0, 60.0), 1):
            one = add_run(db, name="nightly", parent_id=first, trial=trial, effective_json='{"run": {"trials": 3}}',
                          results=dict(RESULTS, throughput_tok_s=value))
            first = first or one
            db.execute("UPDATE runs SET parent_id = ? WHERE run_id = ?", (first, one))
    root = page(report("3"))
    assert "Trial 3 of 3; the first of them is run 1." in words(root)
    uuid = [row["uuid"][:8] for row in runs.rows("SELECT uuid FROM runs ORDER BY run_id")]
    assert "Repeat all trialskvfall show %s --effective > run-1.yaml && kvfall run run-1.yaml" % uuid[0] in words(root)
    assert "Repeat this trialkvfall show %s --effective > run-3.yaml && kvfall run run-3.yaml --trials 1" % uuid[2] in words(root)
    assert [row[3] for row in table(root, "Each trial")[1:]] == ["10 tok/s", "20 tok/s", "60 tok/s"], table(root, "Each trial")
    # 10, 20, 60: mean 30, sample deviation sqrt(700) = 26.46, t(0.975, 2) = 4.303, so 30 -+ 65.7, and none below zero
    assert table(root, "Over complete trials")[1] == ["tokens/s", "3", "20", "30", "26.5", "88.2 %", "0", "95.7"]
    assert "Throughput of each trial" in charts(root)
    dots = [path.get("d") for path in root.iter(SVG + "path") if path.get("class") == "q k0" and path.get("d").count("h.01") == 3]
    heights = [float(y) for y in re.findall(r"M[0-9.]+ ([0-9.]+)h", dots[0])]
    assert abs((heights[0] - heights[1]) * 4 - (heights[1] - heights[2])) < 0.5, heights  # 10, 20, 60


@case("the command that it names repeats the run exactly")
def _():
    assert run(["run", "--headless", "--set", "mode=simulate", "--set", "workload.users=7", "--seed", "11", "--duration", "5s",
                "--request-log", "log.jsonl"]).rc == 0
    told = re.search("kvfall show ([0-9a-f]{8}) --effective > run-1.yaml && kvfall run run-1.yaml", words(page(report("1"))))
    assert told
    file = home() / "work/run-1.yaml"
    file.write_text(run(["show", told.group(1), "--effective"]).stdout)
    assert run(["run", "run-1.yaml", "--headless", "--request-log", "log.jsonl"]).rc == 0
    # a log that the second one wrote over is not the first one's any more
    assert [row["request_log"].rpartition("/")[2] for row in runs.rows("SELECT request_log FROM runs ORDER BY run_id")] == ["", "log.jsonl"]
    first, again = ({row["metric"]: row["value"] for row in runs.rows("SELECT metric, value FROM results WHERE run_id = %d" % n)}
                    for n in (1, 2))
    first.pop("real_s"), again.pop("real_s")
    assert first == again and first["requests_done"] > 0, (first, again)


@case("a file is written whole, over one that is there only with --overwrite; its ending decides the form")
def _():
    with histories.make() as db:
        add_run(db, name="one")
    work = home() / "work"
    for name, start in (("a.html", "<!DOCTYPE html>"), ("a.md", "# one, run 1"), ("a.txt", "one, run 1\n=========="), ("a", "<!DOCTYPE html>")):
        assert run(["report", "1", "-o", name]).rc == 0
        assert (work / name).read_text().startswith(start), name
    assert run(["report", "1", "-o", "b.txt", "--format", "md"]).rc == 0
    assert (work / "b.txt").read_text().startswith("# one")
    got = run(["report", "1", "-o", "a.pdf"])
    assert got.rc == 2 and "the ending of a.pdf is of no report" in got.stderr, got
    got = run(["report", "1", "-o", "a.html"])
    assert got.rc == 2 and "a.html is there already" in got.stderr, got
    assert run(["report", "1", "-o", "a.html", "--overwrite"]).rc == 0
    got = run(["report", "1", "--format", "pdf"])
    assert got.rc == 2 and '--format is html, md or txt, not "pdf"' in got.stderr and got.stdout == "", got
    assert sorted(os.listdir(work)) == ["a", "a.html", "a.md", "a.txt", "b.txt"]


@case("a page is nothing for a terminal; text is")
def _():
    with histories.make() as db:
        add_run(db, name="one")
    ours, theirs = os.openpty()
    try:
        got = finish(spawn(["report", "1"], stdout=theirs))
        assert got.rc == 2 and "cannot be shown on a terminal; name a file with --output" in got.stderr, got
        assert run(["report", "1"]).stdout.startswith("<!DOCTYPE html>"), "into a pipe it is written"
        shown = spawn(["report", "1", "--format", "txt"], stdout=theirs)
        assert b"one, run 1" in os.read(ours, 4000)
    finally:
        os.close(theirs)
        os.close(ours)
    shown.wait(20)


@case("text fits 80 columns, and ASCII is ASCII")
def _():
    with histories.make() as db:
        run_id = add_run(db, name="one", note="word " * 60 + "é" * 200, results=dict(RESULTS, **{"x" * 60: 1}))
        histories.insert(db, "events", run_id=run_id, n=0, t_s=3.0, level="warning", message="long " * 70)
    text = report("--format", "txt")
    wide = [line for line in text.splitlines() if len(line) > 80]
    assert not wide, wide
    assert "▁" in text and "Throughput" in text
    assert report("--format", "txt", "--ascii").isascii()


@case("tables of text break no word to fit 80 columns")
def _():
    entries = {"nvme_read_%s_ms" % part: 1234.5 for part in ("mean", "p50", "p95", "p99", "p999", "p9999", "max")}
    with histories.make() as db:
        for n in range(4):
            run_id = add_run(db, name="run%d" % n, results=dict(RESULTS, **dict(entries, e2e_p95_ms=0.1 * 9 ** n),
                                                                slo_interactive_met_ratio=0.5))
            histories.insert(db, "run_classes", run_id=run_id, n=0, **{"class": "interactive"}, share=1, p95_ms=1234.5)
    for refs in (("1",), ("1", "2"), ("1", "2", "3", "4")):
        got = run(["report", *refs, "--format", "txt"])
        assert got.rc == 0 and max(map(len, got.stdout.splitlines())) <= 80, got
        rows = got.stdout.splitlines()
        heading = next(n for n, row in enumerate(rows) if row.startswith("class "))
        assert [row.split()[0] for row in rows[heading + 1:heading + 4] if row[:1].isalpha()] == ["interactive"], got


@case("many intervals are thinned out, with their spikes, into a file of reasonable size")
def _():
    with histories.make() as db:
        run_id = add_run(db, name="long", intervals=0)
        db.execute("BEGIN")
        for seq in range(3600):
            histories.insert(db, "intervals", run_id=run_id, seq=seq, t_s=seq + 1.0, length_s=1.0, phase="measured", users=1,
                             throughput_tok_s=100000.0 if seq == 1234 else 5.0 + seq % 7, e2e_p95_ms=1.0 + seq % 11)
        db.execute("COMMIT")
    text = report()
    root = page(text)
    assert len(text) < 1500000, len(text)
    figure = next(figure for figure in root.iter(XHTML + "figure") if words(figure[0]) == "Throughput")
    assert "3600 points in 560 parts: the mean of each, in a band from the least to the most" in words(figure)
    band, line = (next(node.get("d") for node in figure.iter(SVG + "path") if node.get("class") == name)
                  for name in ("w k0", "l k0 d0"))
    edges, means = ([float(y) for y in re.findall(r"[ML][0-9.]+ ([0-9.]+)", path)] for path in (band, line))
    assert len(edges) == 1120 and len(means) == 560, (len(edges), len(means))
    assert min(edges) < 30 and sorted(edges)[1] > 200, "one spike, at the top"
    assert 30 < min(means) < 220, "which the mean of its twelve intervals is not"
    assert any("100k tok/s" in words(node) for node in figure.iter(SVG + "title"))


def log_line(n, **changed):
    """A line of a request log: two classes in turn."""
    row = {"id": n, "class": "ab"[n % 2], "arrival_s": n / 100, "e2e_ms": 10.0 + n % 10, "failed": False}
    return json.dumps({**row, **changed})


@case("the requests of a log are dots by class over their arrival; what is no log is refused with its line")
def _():
    with histories.make() as db:
        add_run(db)
        add_run(db)
    log = home() / "work/log.jsonl"
    log.write_text("".join(log_line(n, failed=n == 7) + "\n" for n in reversed(range(20000))))
    text = report("1", "--request-log", log)
    drawn = next(figure for figure in page(text).iter(XHTML + "figure") if words(figure[0]) == "Every request by its arrival")
    names = {words(group): group.get("data-k") for group in drawn.iter(SVG + "g") if group.get("data-k") and words(group)}
    assert set(names) == {"a", "b", "failed"} and "20000 requests of the log" in words(drawn), (names, words(drawn))
    dots = {k: sum(path.get("d").count("h.01") for group in drawn.iter(SVG + "g") if group.get("data-k") == k and not words(group)
                   for path in group.iter(SVG + "path")) for k in names.values()}
    assert dots[names["failed"]] == 1 and all(1000 < dots[names[k]] < 2500 for k in "ab"), dots
    assert "Every request by its arrival" not in report("1")
    with sqlite3.connect(database()) as db:  # the run's own, while it is as the run has left it
        db.execute("UPDATE runs SET request_log = ? WHERE run_id = 1", (str(log.resolve()),))
        begun, ended = db.execute("SELECT started_at, ended_at FROM runs WHERE run_id = 1").fetchone()
    for when, drawn in ((begun - 60, False), (ended, True), (ended + 60, False)):
        os.utime(log, (when, when))
        assert ("Every request by its arrival" in report("1")) == drawn, when
    assert "Every request by its arrival" not in report("2")
    assert "failed" in report("1", "--request-log", log, "--format", "txt")
    log.write_text(log_line(1) + "\n{\n")
    for path, refs, sentence in ((log, ["1"], "line 2 of %s is no request" % log), ("none.jsonl", ["1"], "cannot read the request log none.jsonl"),
                                 (log, ["1", "2"], "--request-log is of one run, and these are 2")):
        got = run(["report", *refs, "--request-log", path])
        assert (got.rc, got.stdout) == (2, "") and sentence in got.stderr, got


main()
