#!/usr/bin/env python3
"""validate: a run beside what a serving engine's own benchmark measured."""
import json

from runs import measure, result
from tap import case, home, main, run

MODELLED = {"model": "llama3.1-8b", "mode": "simulate", "tiers": {"gpu": {"capacity": "auto"}},
            "run": {"duration": "10m", "warmup": "0s", "max_requests": 8},
            "workload": {"users": 4, "prefix": {"probability": 0}, "conversation": {"end_probability": 1}, "personas": [
                {"name": "fixed", "context": [1000, 1000], "generate": [100, 100], "think": ["0s", "0s"], "spread": 1}]},
            "compute": {"mode": "roofline", "gpu": "h100"}}


def modelled():
    """A run whose figures are the same everywhere: tokens per second of all, of output, and requests."""
    _, summary = measure(MODELLED)
    total = result(summary, "total_tok_s")
    assert abs(total - 1100 / 100 * result(summary, "throughput_tok_s")) < 1e-6 * total, summary["results"]
    return total


def against(content, *options):
    path = home() / "work/engine.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return run(["validate", "--against", path, *options])


def throughput(total):
    """As vllm bench throughput --output-json writes it."""
    return {"elapsed_time": 10.0, "num_requests": 80, "total_num_tokens": total * 10.0, "requests_per_second": 8.0,
            "tokens_per_second": total}


def serve(total):
    """As vllm bench serve --save-result writes it, in part."""
    return {"date": "20250801-120000", "backend": "vllm", "model_id": "m", "num_prompts": 80, "request_rate": "inf",
            "duration": 10.0, "completed": 80, "total_input_tokens": int(total * 9), "total_output_tokens": int(total),
            "request_throughput": 8.0, "request_goodput": None, "output_throughput": total / 10,
            "total_token_throughput": total, "mean_ttft_ms": 12.5, "mean_tpot_ms": 7.25}


def guide(*totals, nested=True, status="successful"):
    """As GuideLLM writes benchmarks.json, in part."""
    def one(total):
        metrics = {name: {status: {"mean": mean, "median": mean}, "errored": {"mean": 0.0}} for name, mean in (
            ("requests_per_second", 8.0), ("output_tokens_per_second", total / 10), ("tokens_per_second", total),
            ("time_to_first_token_ms", 12.5), ("inter_token_latency_ms", 7.25))}
        return {"type_": "generative_benchmark", "metrics": metrics} if nested else metrics
    return {"metadata": {"version": 1}, "benchmarks": [one(total) for total in totals]}


@case("within 5 % passes, outside is exit status 3")
def _():
    total = modelled()
    for form in (throughput, serve, guide):
        for factor, status in ((1, 0), (1 / 1.049, 0), (1 / 0.951, 0), (1 / 1.051, 3), (1 / 0.949, 3)):
            got = against(form(total * factor))
            assert got.rc == status and not got.stderr, (factor, got)
            assert "total tokens/s is %swithin 5 %% of the engine's" % ("not " if status else "") in got.stdout, got


@case("a run that left work undone agrees with no engine")
def _():
    _, summary = measure({**MODELLED, "run": {"duration": "2s", "warmup": "0s", "max_requests": 8}})
    got = against(throughput(result(summary, "total_tok_s")))
    assert got.rc == 3 and "is within 5 % of the engine's; the run is not comparable: " in got.stdout, got
    assert "requests were left" in got.stdout, got


@case("both stand side by side with their difference")
def _():
    total = modelled()
    got = against(serve(total / 1.1), "--within", "12 %")
    assert got.rc == 0, got
    lines = got.stdout.splitlines()
    assert lines[0] == "run 1, small, against vllm bench serve", got
    assert lines[3].split() == ["total", "tokens/s", "%.1f" % total, "%.1f" % (total / 1.1), "+10.0", "%", "within"], got
    assert lines[5].split()[:1] == ["requests/s"] and "8.000" in lines[5], got
    assert lines[6].startswith("TTFT mean ms") and " 12.500 " in lines[6], got
    got = against(throughput(total))
    assert "run 1, small, against vllm bench throughput" in got.stdout and got.stdout.count("--") == 9, got


def sglang(total):
    """As SGLang's bench_serving --output-file appends a line for each run, in part."""
    return {"backend": "sglang", "duration": 10.0, "completed": 80, "total_input_tokens": int(total * 9),
            "total_output_tokens": int(total), "total_output_tokens_retokenized": int(total) - 3, "request_throughput": 8.0,
            "input_throughput": total * 0.9, "output_throughput": total / 10, "total_throughput": total,
            "mean_ttft_ms": 12.5, "mean_tpot_ms": 7.25}


def trtllm(total):
    """As trtllm-bench --report_json writes it, in part."""
    return {"engine": {"model": "m"}, "request_info": {"num_requests": 80}, "performance": {
        "total_latency_ms": 1e4, "request_throughput_req_s": 8.0, "system_output_throughput_tok_s": total / 10,
        "system_total_throughput_tok_s": total, "request_latency_percentiles_ms": {"average": 1.0}},
            "streaming_metrics": {"avg_ttft_ms": 12.5, "avg_tpot_ms": 7.25, "ttft_percentiles": {"p50": 1.0}}}


def aiperf(total):
    """As aiperf writes profile_export_aiperf.json, in part: total tokens follow from the mean lengths."""
    return {"request_throughput": {"unit": "requests/sec", "avg": 8.0}, "request_count": {"unit": "requests", "avg": 80},
            "output_token_throughput": {"unit": "tokens/sec", "avg": total / 10},
            "input_sequence_length": {"unit": "tokens", "avg": total * 0.9 / 8.0, "p50": 1},
            "output_sequence_length": {"unit": "tokens", "avg": total * 0.1 / 8.0},
            "time_to_first_token": {"unit": "ms", "avg": 12.5, "p99": 80.0}, "inter_token_latency": {"unit": "ms", "avg": 7.25}}


@case("SGLang, TensorRT-LLM and aiperf are read as well, each with all figures")
def _():
    total = modelled()
    for form, what in ((sglang, "SGLang bench_serving"), (trtllm, "TensorRT-LLM trtllm-bench"), (aiperf, "aiperf")):
        got = against(form(total * 1.02))
        assert got.rc == 0 and got.stdout.splitlines()[0] == "run 1, small, against " + what, got
        cells = [line.split()[-5:-3] + line.split()[-3:] for line in got.stdout.splitlines()[3:8]]
        assert [line[1] for line in cells] == ["%.1f" % (total * 1.02), "%.1f" % (total * 0.102) if total * 0.102 >= 100
                                               else "%.3f" % (total * 0.102), "8.000", "12.500", "7.250"], got
        assert cells[0][4] == "within" and cells[3][4] == "outside" and "--" not in got.stdout, got
        assert against(form(total * 1.2)).rc == 3
    lines = "\n".join(json.dumps(sglang(one)) for one in (total / 2, total))
    assert against(lines).rc == 0, "the last line counts"
    assert against({"records": aiperf(total)}).rc == 0
    told = {"total_token_throughput": {"unit": "tokens/sec", "avg": total * 1.2}}
    got = against({**aiperf(total), **told})
    assert got.rc == 3 and got.stdout.splitlines()[3].split()[3] == "%.1f" % (total * 1.2), got


@case("several files at once: against one run, or each against its own")
def _():
    total = modelled()
    modelled()
    for name, factor in (("a", 1), ("b", 1.2)):
        (home() / "work" / (name + ".json")).write_text(json.dumps(trtllm(total * factor)))
    files = ["--against", "a.json", "--against", "b.json"]
    got = run(["validate", *files])
    assert got.rc == 3 and got.stdout.count("run 2, small, against") == 2, got
    assert got.stdout.splitlines()[-1] == "1 of 2 are within 5 % by total tokens/s", got
    got = run(["validate", "1", "2", *files, "--within", "30%"])
    assert got.rc == 0 and "run 1, small" in got.stdout and "run 2, small" in got.stdout, got
    got = run(["validate", "1", "9", *files])
    assert got.rc == 2 and "run 1, small" in got.stdout and "no run '9'" in got.stderr and " of 2 " not in got.stdout, got
    for named in (["9"], ["1", "2", "--db", "none.db"]):
        got = run(["validate", *named, *files])
        assert got.rc == 2 and len(got.stderr.splitlines()) == 1 and not got.stdout, got
    got = run(["validate", "1", "2", "1", *files])
    assert got.rc == 2 and "3 runs and 2 files do not pair" in got.stderr and not got.stdout, got


@case("of several benchmarks of GuideLLM the fastest counts, or the one that is named")
def _():
    total = modelled()
    report = guide(total / 3, total, total / 2)
    got = against(report)
    assert got.rc == 0 and "GuideLLM, benchmark 2 of 3, the fastest" in got.stdout, got
    got = against(report, "--benchmark", "3")
    assert got.rc == 3 and "GuideLLM, benchmark 3 of 3\n" in got.stdout, got
    got = against(report, "--benchmark", "4")
    assert got.rc == 2 and "has 3 benchmarks; --benchmark 4 is none of them" in got.stderr, got
    got = against(trtllm(total), "--benchmark", "1")
    assert got.rc == 2 and "no file here is one" in got.stderr and not got.stdout, got


@case("older forms are known: sums without rates, metrics without their mapping")
def _():
    total = modelled()
    old = {"duration": 10.0, "completed": 80, "total_input_tokens": total * 9, "total_output_tokens": total}
    assert against(old).rc == 0, against(old)
    bare = {"elapsed_time": 10.0, "num_requests": 80, "total_num_tokens": total * 10}
    assert against(bare).rc == 0, against(bare)
    assert against(guide(total, nested=False, status="completed")).rc == 0


@case("what cannot be used is exit status 2 and one sentence")
def _():
    modelled()
    for content, words in (("{", "is no JSON: line 1"), ("[1, 2]", "is not a result of vllm bench throughput"),
                           ('{"tokens": 5}', "is not a result of vllm bench throughput"),
                           ('{"benchmarks": []}', "has no total tokens per second"),
                           (guide(0.0), "has no total tokens per second"),
                           ({"elapsed_time": 0, "num_requests": 1, "total_num_tokens": 5}, "has no total tokens per"),
                           ({"elapsed_time": "x", "total_num_tokens": None}, "has no total tokens per second")):
        got = against(content)
        assert got.rc == 2 and words in got.stderr and len(got.stderr.splitlines()) == 1 and not got.stdout, got
    got = run(["validate", "--against", "missing.json"])
    assert got.rc == 2 and "missing.json cannot be read" in got.stderr and len(got.stderr.splitlines()) == 1, got
    for options, words in ((["--within", "5"], "--within is a percentage such as 5%"),
                           (["--within", "-1%"], "--within is a percentage"), (["nothing"], "nothing")):
        got = against(throughput(1.0), *options)
        assert got.rc == 2 and words in got.stderr, got
    got = run(["validate"])
    assert got.rc == 2 and "--against FILE" in got.stderr, got


main()
