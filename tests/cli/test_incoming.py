#!/usr/bin/env python3
"""Files of the user's: large ones take little memory, pipes are read and never waited for without end, and a byte-order
mark in front is no part of the text."""
import json
import os
import threading

from runs import measure, result, scenario, trace, write
from tap import case, finish, home, main, run, spawn

MARK = b"\xef\xbb\xbf"
SIMULATED = {"mode": "simulate", "tiers.nvme": None, "run.max_requests": 20, "run.duration": "60s"}


def pipe(name="pipe"):
    path = home() / "work" / name
    os.mkfifo(path)
    return path


def fill(path, text):
    """Writes into a pipe as another program would: the open waits for the reader."""
    def body():
        with open(path, "wb") as out:
            out.write(text)
    one = threading.Thread(target=body, daemon=True)
    one.start()
    return one


@case("a report of 120 MB from a serving engine is read past in little memory")
def _():
    measure(SIMULATED)
    text = json.dumps({"prompt": "x" * 1000, "latency": [0.5] * 40, "nested": {"a": [1, {"b": None}]}})
    path = home() / "work/guide.json"
    with open(path, "w") as out:
        out.write('{"metadata": {}, "benchmarks": [{"requests": {"successful": [')
        for _ in range(120_000_000 // len(text)):
            out.write(text + ", ")
        out.write(text + ']}, "metrics": {"tokens_per_second": {"successful": {"mean": 12.5}}, '
                  '"time_to_first_token_ms": {"successful": {"mean": 3.25}}}}]}')
    assert path.stat().st_size > 119_000_000
    process = spawn(["validate", "--against", path, "--within", "1000000%"])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    out = process.stdout.read().decode()
    assert process.returncode in (0, 3) and "GuideLLM" in out and "12.5" in out and "3.25" in out, (process.returncode, out)
    assert used.ru_maxrss < 256 * 1024, used.ru_maxrss
    path.unlink()


@case("a pipe that nobody writes into ends every command that reads one, with a sentence")
def _():
    measure(SIMULATED)
    silent, good = pipe(), write(SIMULATED)
    including = home() / "work/including.yaml"
    including.write_text('{"include": "pipe", ' + good.read_text().lstrip()[1:])
    traced = write({**SIMULATED, "workload.source": "ops", "workload.path": "pipe", "workload.personas": None,
                    "workload.users": None}, "traced.yaml")
    commands = [["check", silent], ["run", "--headless", silent], ["run", "--headless", good, "--include", silent],
                ["check", good, "--include", silent], ["check", including], ["run", "--headless", traced],
                ["validate", "--against", silent], ["suite", silent], ["sweep", silent], ["probe", "--calibrate", silent],
                ["history", "--db", silent], ["merge", silent]]
    started = [(words, spawn(words)) for words in commands]
    for words, process in started:
        got = finish(process, timeout=60)
        assert got.rc == 2 and "pipe" in got.stderr, (words, got)
    # what completes a command line asks nothing of a pipe
    assert run(["complete", "--", "run", str(silent), ""], timeout=30).rc in (0, 2)


@case("a pipe that somebody writes into is a scenario, or a report, like any file")
def _():
    path = pipe()
    writing = fill(path, json.dumps(scenario(SIMULATED)).encode())
    got = run(["check", path])
    writing.join(10)
    assert got.rc == 0 and "tiny-1b" in got.stdout, got
    measure(SIMULATED)
    writing = fill(path, b'{"elapsed_time": 1, "total_num_tokens": 5}')
    got = run(["validate", "--against", path])
    writing.join(10)
    assert got.rc == 3 and "vllm bench throughput" in got.stdout, got


@case("a scenario with a byte-order mark is the same scenario, as a file, included and on standard input")
def _():
    text = json.dumps(scenario(SIMULATED)).encode()
    plain, marked = home() / "work/plain.yaml", home() / "work/marked.yaml"
    plain.write_bytes(text)
    marked.write_bytes(MARK + text)
    want = run(["check", plain])
    assert want.rc == 0, want
    for got in (run(["check", marked]), run(["check", "-"], input=(MARK + text).decode())):
        assert (got.rc, got.stdout, got.stderr) == (0, want.stdout, ""), got
    lower = home() / "work/lower.yaml"
    lower.write_bytes(MARK + b"seed: 77\n")
    got = run(["check", marked, "--include", lower])
    assert got.rc == 0 and "seed: 77" in got.stdout, got
    broken = home() / "work/broken.yaml"
    broken.write_bytes(MARK + b"nonsense: 1\n")
    got = run(["check", broken])
    assert got.rc == 2 and "broken.yaml:1:1" in got.stderr, got


@case("rows of a trace are the same behind a byte-order mark, in every format")
def _():
    rows = {"mooncake": b'{"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]}\n' * 2,
            "azure": b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01.5000000,601,4\n",
            "ops": b"write,1-1,60\nread,1-1,60\n",
            "sharegpt": json.dumps([{"id": "a", "conversations": [{"from": "human", "value": "one two"},
                                                                  {"from": "gpt", "value": "three"}]}]).encode()}
    for name, text in rows.items():
        path = home() / "work" / (name + ".trace")
        changes = {**SIMULATED, "workload.source": name, "workload.path": path.name, "workload.personas": None,
                   "workload.users": None, "workload.prefix": {"probability": 0}, "run.max_requests": None,
                   **({"cache.granularity": "block", "cache.block_tokens": 512} if name == "mooncake" else {})}
        read = []
        for content in (text, MARK + text):
            path.write_bytes(content)
            _, summary = measure(changes)
            read.append([result(summary, "rows_" + kind) for kind in ("read", "emitted", "rejected")])
        assert read[0] == read[1] and read[0][1] > 0 and read[0][2] == 0, (name, read)


main()
