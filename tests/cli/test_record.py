#!/usr/bin/env python3
"""record: what becomes of a gateway's log, and that a replay of it is a replay of what the gateway saw."""
import base64
import json
import os
import random
import re
import signal
import subprocess

import runs
from played_events import BLOCK, requests
from tap import case, finish, home, main, run, spawn, wait_until

def logged(made, name="log.jsonl"):
    path = home() / "work" / name
    path.write_text("".join(json.dumps(
        {"created": one["at"], "model": "m", "session_id": one["who"], "prompt_token_ids": one["tokens"],
         "usage": {"prompt_tokens": len(one["tokens"]), "completion_tokens": one["out"]}}) + "\n" for one in made))
    return path


def direct(made):
    """The same requests as a trace made here: a block is known by all tokens up to its end."""
    names, rows = {}, []
    for one in made:
        tokens = one["tokens"]
        ends = range(BLOCK, len(tokens) + BLOCK, BLOCK)
        rows.append({"timestamp": round((one["at"] - made[0]["at"]) * 1000), "input_length": len(tokens),
                     "output_length": one["out"],
                     "hash_ids": [names.setdefault(tuple(tokens[:end]), len(names)) for end in ends], "block_size": BLOCK})
    return rows


def recorded(*args, out="out.jsonl", rc=0, **how):
    path = home() / "work" / out
    got = run(["record", *args, "-o", path, "--overwrite", "--block-tokens", BLOCK], **how)
    assert got.rc == rc, got
    return [json.loads(line) for line in path.read_text().splitlines()], got


@case("a recording has the requests, blocks, sessions and lengths that the gateway saw")
def _():
    made = requests()
    rows, got = recorded(logged(made))
    assert "%d requests" % len(made) in got.stdout, got
    sessions = {}
    for row, wanted, one in zip(rows, direct(made), made):
        assert {key: row[key] for key in wanted} == {**wanted, "timestamp": row["timestamp"]}, (row, wanted)
        assert abs(row["timestamp"] - wanted["timestamp"]) < 0.01
        assert row["session_id"] == sessions.setdefault(one["who"], len(sessions)) and row["model"] == "m"
    assert len(rows) == len(made)


@case("a replay of the recording looks up, hits and moves what a replay of the requests does")
def _():
    made, results = requests(400), []
    plain, out = home() / "work/direct.jsonl", home() / "work/out.jsonl"
    plain.write_text("".join(json.dumps(row) + "\n" for row in direct(made)))
    recorded(logged(made))
    for path in (plain, out):
        _, summary = runs.measure({"model": "tiny-1b", "mode": "simulate", "cache": {"granularity": "block", "block_tokens": BLOCK},
                                   "tiers": {"gpu": {"capacity": "64MiB"}, "cpu": {"capacity": "128MiB"}},
                                   "run": {"duration": "1h", "warmup": "0s"},
                                   "workload": {"source": "mooncake", "path": str(path)}})
        results.append({name: runs.result(summary, name) for name in (
            "lookups", "hits", "misses", "gpu_hits", "cpu_hits", "gpu_write_bytes", "cpu_write_bytes", "total_read_bytes", "requests_done")})
    assert results[0] == results[1] and results[0]["requests_done"] == 400 and results[0]["hits"] > 0, results


@case("text leaves nothing behind but the shape of its blocks")
def _():
    talk, lines = [{"role": "system", "content": "A secret phrase that nobody may read. " * 20}], []
    for turn in range(5):
        talk.append({"role": "user", "content": [{"type": "text", "text": "Question %d, with zebras and ürümqi. " % turn * 9}]})
        lines.append(json.dumps({"timestamp": "2026-03-01T10:00:%02d.5+01:00" % turn, "request": {"body": {"messages": talk, "model": "m"}},
                                 "response": {"usage": {"completion_tokens": 3}}}))
    path = home() / "work/text.jsonl"
    path.write_text("\n".join(lines))
    rows, got = recorded(path)
    text = (home() / "work/out.jsonl").read_text()
    assert not re.search(r"secret|phrase|zebra|Question|user|system", text) and "secret" not in got.stdout + got.stderr, text
    assert [row["timestamp"] for row in rows] == [0, 1000, 2000, 3000, 4000]
    for row, later in zip(rows, rows[1:]):
        whole = row["input_length"] // BLOCK
        assert later["hash_ids"][:whole] == row["hash_ids"][:whole] and later["input_length"] > row["input_length"], (row, later)
    assert len(rows[0]["hash_ids"]) == -(-rows[0]["input_length"] // BLOCK)
    again, _ = recorded(path, out="again.jsonl")
    assert again == rows, "ids are dense whatever the salt"


@case("a kept salt joins recordings, and is the owner's alone")
def _():
    made, salt = requests(), home() / "work/salt"
    half = len(made) // 2
    first, _ = recorded(logged(made[:half]), "--salt", salt, out="a.jsonl")
    assert os.stat(salt).st_mode & 0o777 == 0o600 and os.stat(salt).st_size == 16
    second, _ = recorded(logged(made[half:]), "--salt", salt, out="b.jsonl")
    one = [block for row in direct(made) for block in row["hash_ids"]]
    both = [block for row in first + second for block in row["hash_ids"]]
    names = {}
    assert one == [names.setdefault(block, len(names)) for block in both]
    other, _ = recorded(logged(made[half:]), "--salt", home() / "work/other", out="c.jsonl")
    assert not {block for row in other for block in row["hash_ids"]} & set(both)
    salt.chmod(0o644)
    got = run(["record", logged(made), "-o", home() / "work/d.jsonl", "--salt", salt])
    assert got.rc == 2 and "chmod 600" in got.stderr, got


@case("what is no request is left out and counted with its reason")
def _():
    made = requests(20)
    good = logged(made).read_text().splitlines()
    whole = json.loads(good[3])
    bad = [good[1][:60], "not json", "[1]", json.dumps({**whole, "created": None}), json.dumps({**whole, "created": "soon"}),
           json.dumps({"created": 1.7e9, "usage": {}}), json.dumps({"created": 1.7e9, "prompt_token_ids": []}),
           "x" * (17 << 20), "\x00", json.dumps({**whole, "created": 1.6e9})]
    path = home() / "work/bad.jsonl"
    path.write_text("\n".join([good[0], *bad[:5], "", *good[1:10], *bad[5:], *good[10:]]) + "\n")
    rows, got = recorded(path)
    for said in ("4 of 30 lines no JSON object", "2 of 30 lines without a time", "2 of 30 lines without a prompt",
                 "1 of 30 lines longer than 16 MiB"):
        assert said in got.stdout, (said, got)
    assert len(rows) == len(made) and "1 of 30 lines with a clock that the rows around them deny" in got.stdout, got


@case("a prompt of numbers is tokens, numbers inside messages are neither tokens nor text")
def _():
    path, text = home() / "work/numbers.jsonl", "hello world " * 50
    box = '[{"content": "%s", "input": {"box": %%s}}, {"content": "and more"}]' % text
    prompts = [box % numbers for numbers in ("[]", "[4711,4712]", "[ 1, 2]", "[-1, 2]", "[1.5, 2]")]
    prompts += ['["%s", [4711, 4712]]' % text, "[[1, 2, 3], [4, 5]]", "[ 1, 2]", "[1,2]", "[-1, 2]"]
    path.write_text("".join('{"ts": 17e8, "prompt": %s}\n' % prompt for prompt in prompts))
    rows, _ = recorded(path)
    assert all(row == rows[0] for row in rows[:5]) and rows[0]["input_length"] > len(text) / 4, rows
    assert [row["input_length"] for row in rows[5:]] == [-(-(len(text) + 1) // 4), 5, 2, 2, 1], rows


@case("tokens of any length are read alike, however their list is spaced")
def _():
    numbers, path = [0, *(one for digits in range(18) for one in (10 ** digits, 10 ** (digits + 1) - 1, 987654321987654321 // 10 ** digits))], home() / "work/lengths.jsonl"
    lists = [separator.join(map(str, some)) for separator in (",", ", ", " , ", ",   ") for some in (numbers, numbers[:1:-1])]
    path.write_text("".join('{"ts": 17e8, "prompt": [%s]}\n' % some for some in lists))
    got = run(["record", path, "-o", home() / "work/lengths.out", "--block-tokens", "1"])
    rows = [json.loads(line) for line in (home() / "work/lengths.out").read_text().splitlines()]
    assert rows == rows[:2] * 4 and rows[0]["input_length"] == len(numbers), got
    # a block is known by all before it, so a first block alone tells one number from another
    path.write_text("".join('{"ts": 17e8, "prompt": [%d,7]}\n' % number for number in numbers))
    run(["record", path, "-o", home() / "work/lengths.out", "--overwrite", "--block-tokens", "1"])
    firsts = [json.loads(line)["hash_ids"][0] for line in (home() / "work/lengths.out").read_text().splitlines()]
    assert len(set(firsts)) == len(set(numbers)) and len(firsts) == len(numbers), firsts


@case("fields stand where --map says")
def _():
    path = home() / "work/mapped.jsonl"
    path.write_text(json.dumps({"at": {"ms": 1700000000123}, "q": {"toks": list(range(40))}, "n": 9, "tier": "fast"}) + "\n")
    rows, _ = recorded(path, "--map", "time=at.ms", "--map", "prompt=q.toks", "--map", "output=n", "--map", "class=tier")
    assert [(row["input_length"], row["output_length"], row["class"]) for row in rows] == [(40, 9, "fast")], rows
    for args, words in ((["--map", "colour=x"], ("--map", "FIELD=PATH")), ([home() / "work/none"], ("cannot be read",)),
                        (["--follow"], ("--follow",)), (["--turn-after", "1s"], ("--turn-after", "--events")),
                        (["--events", "tcp://127.0.0.1:9"] * 65, ("65 times", "64 pods")),
                        (["--events", "tcp://127.0.0.1:9", "--map", "time=t"], ("--map is of logs",)),
                        (["--events", "tcp://127.0.0.1:9", "--block-tokens", "16"], ("--block-tokens is of logs",)), ([home() / "work"], ("directory",))):
        got = run(["record", *args, "-o", home() / "work/e.jsonl", "--overwrite"], input="")
        assert got.rc == 2 and all(word in got.stderr for word in words), got
    runs.refused(["record", path], "--output")


@case("standard input, rows out of order and interleaved logs come in the order of their times")
def _():
    made = requests()
    shuffled = logged(made).read_text().splitlines()
    random.Random(1).shuffle(shuffled)
    rows, _ = recorded(input="\n".join(shuffled))
    assert [row["input_length"] for row in rows] == [len(one["tokens"]) for one in made]
    rows, _ = recorded(logged(made[::2], "a.log"), logged(made[1::2], "b.log"))
    assert [row["output_length"] for row in rows] == [one["out"] for one in made]


def short(times, name):
    path = home() / "work" / name
    path.write_text("".join('{"ts":%r,"prompt_token_ids":[1],"usage":{"completion_tokens":%d}}\n' % (at, i) for i, at in enumerate(times)))
    return path


@case("logs of any length are merged by their times, and what comes later than its window is counted")
def _():
    rows, got = recorded(short([1.7e9 + i for i in range(17000, 34000)], "late.log"), short([1.7e9 + i for i in range(17000)], "early.log"))
    assert [row["timestamp"] for row in rows] == [1000 * i for i in range(34000)] and "Later" not in got.stdout, got
    one, many = short([1.7e9 + 10.5], "one.log"), short([1.7e9 + i for i in range(17000)], "many.log")
    for logs in ((one, many), (many, one)):
        rows, got = recorded(*logs)
        assert rows[11]["timestamp"] == 10500 and len(rows) == 17001 and "Later" not in got.stdout, got
    rows, got = recorded(short([*(1.7e9 + i for i in range(17000)), 1.7e9 + 10.5], "one.log"))
    assert "Requests later than their time, as later ones came first: 1, by 604 s" in got.stdout, got
    assert len(rows) == 17001 and all(a["timestamp"] <= b["timestamp"] for a, b in zip(rows, rows[1:]))


@case("a wrong clock takes its own row with it, a clock that was set goes on")
def _():
    day, at = 86400, 1.7e9
    for times, wanted, said in (
            ([at, at + 1, at + 900 * day, at + 2, at + 3], [0, 1, 2, 3], "1 of 5 lines with a clock"),
            ([at + 900 * day, at, at + 1], [0, 1], "1 of 3 lines with a clock"),
            ([at, at + 1, at + 900 * day], [0, 1], "1 of 3 lines with a clock"),
            ([at, at + 1, at + 3 * day, at + 3 * day + 1], [0, 1, 3 * day, 3 * day + 1], None),
            ([at, at + 5, at - 9 * day, at - 9 * day + 2, at - 9 * day + 4], [0, 5, 5, 7, 9], "set back by over a day 1 times"),
            ([at + 3 * day * i for i in range(5)], [3 * day * i for i in range(5)], None),
            ([at, at + 9 * day, at + 2 * day, at + 4 * day], [0, 2 * day, 4 * day], "1 of 4 lines with a clock"),
            ([at, at + 1, at + 3 * day], [0, 1, 3 * day], None),
            ([at - 900 * day, at, at + 1], [0, 1], "1 of 3 lines with a clock"),
            ([at], [0], None)):
        rows, got = recorded(short(times, "clock.log"))
        assert [row["timestamp"] for row in rows] == [1000 * one for one in wanted], (times, rows)
        assert said in got.stdout if said else "Left out" not in got.stdout, got
    # a trace may have no gap of over 30 days, so that one is left out, and all rows can be read
    rows, got = recorded(short([100, 101, at, at + 1, at + 900 * day, at + 900 * day + 2], "gaps.log"))
    assert [row["timestamp"] for row in rows] == [0, 1000, 1000, 2000, 2000, 4000] and "Gaps of over 30 days: 2." in got.stdout, got
    assert json.loads(run(["trace", home() / "work/out.jsonl", "--json", "-"]).stdout)["requests"] == 6


@case("of several fields that would do the first of the list counts, in whatever order they stand")
def _():
    fields = {"created": 1770000000, "prompt_token_ids": [5, 6, 7], "prompt": "some text that has a length of its own", "messages": [],
              "timestamp": "2026-02-02T02:40:00,250+0530", "usage": {"prompt_tokens": 3}, "response": {"usage": {"prompt_tokens": 9}}}
    path = home() / "work/several.jsonl"
    path.write_text("".join(json.dumps(dict(pairs)) + "\n" for pairs in (fields.items(), reversed(fields.items()))))
    rows, got = recorded(path)
    assert [row["input_length"] for row in rows] == [3, 3] and rows[0]["hash_ids"] == rows[1]["hash_ids"], rows
    assert "Tokens of prompts" not in got.stdout, got


@case("text is cut by a file of ranks into the tokens that the log of their ids has")
def _():
    ranks, salt = home() / "work/ranks", home() / "work/rankssalt"
    tokens = [bytes([one]) for one in range(256)] + [b"ab", b"abab", b" c", b" ca"]
    ranks.write_text("".join("%s %d\n" % (base64.b64encode(token).decode(), rank) for rank, token in enumerate(tokens)))
    user, apart = list(b"user"), 2 ** 32 - 1
    logs = [home() / "work" / name for name in ("text.log", "ids.log")]
    logs[0].write_text("".join(json.dumps({"ts": 1.7e9, "messages": [{"role": "user", "content": text}]}) + "\n" for text in ("ab" * 33 + " cab", "ab" * 33 + " cax\u00e9")))
    logs[1].write_text("".join(json.dumps({"ts": 1.7e9, "prompt_token_ids": [*user, apart, *ids, apart]}) + "\n" for ids in (
        [257] * 16 + [256, 258, 256], [257] * 16 + [256, 259, 120, 0xc3, 0xa9])))
    texts, ids = (recorded(log, "--tokenizer", ranks, "--salt", salt)[0] for log in logs)
    assert texts == ids and [row["input_length"] for row in texts] == [25, 27], (texts, ids)
    assert texts[0]["hash_ids"][0] == texts[1]["hash_ids"][0] and texts[0]["hash_ids"][1] != texts[1]["hash_ids"][1], texts
    counts = home() / "work/counts"
    counts.write_text("[12,345]\n")
    refused = run(["record", logs[0], "-o", home() / "work/x.jsonl", "--tokenizer", counts])
    assert refused.rc == 2 and "line 1 is no token in base64, a space and a rank; name a file of ranks in tiktoken's format in --tokenizer" in refused.stderr, refused


@case("dates are read in the forms that logs have")
def _():
    path, times = home() / "work/dates.jsonl", ("2026-03-01T04:30:00Z", "2026-03-01T10:00:00.25+0530", "2026-03-01T10:00:00,500+05:30",
                                                "2026-02-28 20:30:00.75 -08", "2026-03-01 04:30:01")
    path.write_text("".join(json.dumps({"time": at, "prompt": "x"}) + "\n" for at in times))
    rows, _ = recorded(path)
    assert [row["timestamp"] for row in rows] == [0, 250, 500, 750, 1000], rows


@case("a prompt of more blocks than a row holds is left out, one that just fits is read again")
def _():
    path, out = home() / "work/blocks.log", home() / "work/long.jsonl"
    path.write_text("".join(json.dumps({"ts": 1.7e9 + i, "prompt_token_ids": [7] * many}) + "\n" for i, many in enumerate((1 << 19, (1 << 19) + 1))))
    got = run(["record", path, "-o", out, "--block-tokens", "1", "--salt", home() / "work/longsalt"])
    assert got.rc == 0 and "1 of 2 lines of more than 524288 blocks" in got.stdout, got
    assert json.loads(run(["trace", out, "--json", "-"]).stdout)["requests"] == 1


@case("joined recordings of one salt share their blocks and sessions, others none; their gaps are kept")
def _():
    made, salt, joined = requests(), home() / "work/joint", home() / "work/joined.jsonl"
    for name, part, key in (("a", made[:60], salt), ("b", made[60:], salt), ("c", made[60:], home() / "work/apart")):
        recorded(logged(part), "--salt", key, out=name + ".jsonl")
    a, b, c = (home() / "work" / (name + ".jsonl") for name in "abc")
    b.write_text(b.read_text().replace('"salt": ', '"salt":'))  # as other writers of JSON have it
    whole, parts = {id for row in direct(made) for id in row["hash_ids"]}, [len({id for row in direct(part) for id in row["hash_ids"]})
                                                                            for part in (made[:60], made[60:])]
    for files, blocks, sessions in (((a, b), len(whole), len({one["who"] for one in made})),
                                    ((a, c), sum(parts), sum(len({one["who"] for one in part}) for part in (made[:60], made[60:])))):
        told = json.loads(run(["trace", *files, "--json", "-"]).stdout)
        assert (told["sharing"]["blocks"], told["sessions"]) == (blocks, sessions), (told, blocks, sessions)
    lines = b.read_text().splitlines()
    b.write_text("\n".join(['{"lost_in_all": 7, ' + lines[0][1:], *lines[1:]]) + "\n")
    assert run(["trace", a, b, "-o", joined, "--overwrite"]).rc == 0
    assert json.loads(run(["trace", joined, "--json", "-"]).stdout)["lost"] == 7


@case("a growing log is followed through a rotation, and what a kill leaves is whole")
def _():
    made, out = requests(60), home() / "work/live.jsonl"
    path = logged(made[:20], "live.log")
    process = spawn(["record", path, "--follow", "-o", out, "--block-tokens", BLOCK])

    def seen(count):
        wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") == count, what="%d requests" % count)

    seen(20)
    more = logged(made[20:40], "more.log").read_text()
    with open(path, "a") as log:
        log.write(more[:-30])
        log.flush()
        seen(39)
        log.write(more[-30:])
    seen(40)
    os.rename(path, home() / "work/live.log.1")
    logged(made[40:], "live.log")
    seen(60)
    with open(home() / "work/live.log.1", "a") as log:  # a daemon that has not noticed yet
        log.write(logged(made[59:], "last.log").read_text())
    seen(61)
    os.truncate(path, 0)
    with open(path, "a") as log:
        log.write((home() / "work/last.log").read_text())
    seen(62)
    process.send_signal(signal.SIGTERM)
    got = finish(process, 30)
    assert got.rc == 143 and "62 requests" in got.stdout, got
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    wanted = [row["hash_ids"] for row in direct(made)]
    assert [row["hash_ids"] for row in rows] == [*wanted, wanted[-1], wanted[-1]]
    logged(made[40:], "live.log")
    process = spawn(["record", path, "--follow", "-o", out, "--overwrite", "--block-tokens", BLOCK])
    seen(20)
    process.send_signal(signal.SIGKILL)
    finish(process, 30)
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 20


@case("a named pipe waits for its writer and ends with it; a followed one goes on to the next writer")
def _():
    made, out, path = requests(60), home() / "work/live.jsonl", home() / "work/pipe"
    texts = [logged(made[at:at + 20], "part.log").read_bytes() for at in (0, 20, 40)]
    os.mkfifo(path)
    process = spawn(["record", path, "-o", out, "--block-tokens", BLOCK])
    path.write_bytes(texts[0])
    got = finish(process, 30)
    assert got.rc == 0 and "20 requests" in got.stdout, got
    process = spawn(["record", path, "--follow", "-o", out, "--overwrite", "--block-tokens", BLOCK])
    for writers, text in enumerate(texts[:2], 1):
        path.write_bytes(text)
        wait_until(lambda: out.read_bytes().count(b"\n") == 20 * writers, what="%d requests" % (20 * writers))
    path.unlink()
    path.write_bytes(texts[2])
    wait_until(lambda: out.read_bytes().count(b"\n") == 60, what="60 requests")
    process.send_signal(signal.SIGTERM)
    got = finish(process, 30)
    assert got.rc == 143 and "60 requests" in got.stdout, got


@case("into a pipe rows go as they come, and a kill leaves who reads it with whole ones")
def _():
    made, pipe, copy = requests(60), home() / "work/out", home() / "work/copy.jsonl"
    log = logged(made[:20], "grows.log")
    os.mkfifo(pipe)
    with open(copy, "w") as kept:
        reader = spawn([pipe], program="/bin/cat", stdout=kept)
    process = spawn(["record", log, "--follow", "-o", pipe, "--overwrite", "--block-tokens", BLOCK])
    for count in (20, 21, 60):
        with open(log, "a") as grown:
            grown.write(logged(made[copy.read_bytes().count(b"\n"):count], "more.log").read_text() if count > 20 else "")
        wait_until(lambda: copy.read_bytes().count(b"\n") == count, what="%d requests" % count)
    process.send_signal(signal.SIGKILL)
    finish(process, 30)
    assert finish(reader, 30).rc == 0
    assert [json.loads(line)["hash_ids"] for line in copy.read_text().splitlines()] == [row["hash_ids"] for row in direct(made)]


@case("a prompt of a gigabyte is left out with its reason, and memory is bounded")
def _():
    good, out = logged(requests(8)).read_bytes(), home() / "work/huge.jsonl"
    process = spawn(["record", "-", "-o", out, "--block-tokens", BLOCK], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write(good + b'{"created": 1.7e9, "prompt": "')
    for _ in range(1024):
        process.stdin.write(b"many words " * 95325)  # a MiB each
    process.stdin.write(b'"}\n' + good)
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = process.stdout.read().decode()
    assert process.returncode == 0 and "16 requests" in said and "1 of 17 lines longer than 16 MiB" in said, (status, said)
    assert used.ru_maxrss < 160 * 1024, used.ru_maxrss


@case("the first signal ends a recording of standard input that is silent")
def _():
    out = home() / "work/live.jsonl"
    process = spawn(["record", "-", "-o", out, "--block-tokens", BLOCK], stdin=subprocess.PIPE)
    process.stdin.write(logged(requests(8)).read_bytes())
    process.stdin.flush()
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") == 8, what="8 requests")
    process.send_signal(signal.SIGINT)
    rc = process.wait(20)
    said = process.stdout.read().decode()
    assert rc == 130 and "8 requests" in said, (rc, said)


@case("a name that ends in .zst compresses the trace, which is read the same, also behind a kill")
def _():
    log, plain, packed = logged(requests(400)), home() / "work/plain.jsonl", home() / "work/packed.jsonl.zst"
    for out in (plain, packed):
        assert run(["record", log, "-o", out, "--block-tokens", BLOCK]).rc == 0
    assert packed.read_bytes()[:4] == b"\x28\xb5\x2f\xfd" and packed.stat().st_size * 4 < plain.stat().st_size
    told = [json.loads(run(["trace", out, "--json", "-"]).stdout) for out in (plain, packed)]
    assert {**told[0], "trace": 0} == {**told[1], "trace": 0} and told[0]["requests"] == 400
    packed.unlink()
    process = spawn(["record", log, "--follow", "-o", packed, "--block-tokens", BLOCK])

    def there(count):
        got = run(["trace", packed, "--json", "-"])
        return got.rc == 0 and json.loads(got.stdout)["requests"] == count
    wait_until(lambda: there(400), what="400 requests")
    with open(log, "a") as grown:
        grown.write(logged(requests(401)[400:], "more.log").read_text())
    wait_until(lambda: there(401), what="one more")
    process.send_signal(signal.SIGKILL)
    finish(process, 30)
    assert there(401)
    got = run(["trace", plain, "--format", "oracleGeneral", "-o", packed, "--overwrite"])
    assert got.rc == 2 and "compressed" in got.stderr, got


@case("on a terminal a line says how the recording goes, and a signal ends it in good order")
def _():
    log, out, said = logged(requests(60)), home() / "work/live.jsonl", b""
    ours, theirs = os.openpty()
    process = spawn(["record", log, "--follow", "-o", out, "--block-tokens", BLOCK], stderr=theirs)
    os.close(theirs)
    while b"KiB" not in said.rpartition(b"\r")[2] or b"requests/s" not in said.rpartition(b"\r")[2]:
        said += os.read(ours, 4096)
    line = said.rpartition(b"\r")[2].decode()
    assert re.search(r"60 requests, .* tokens in, .* out, .* % of the blocks seen before \| .* requests/s, .* tok/s, .* KiB", line), line
    process.send_signal(signal.SIGINT)
    got = finish(process, 30)
    os.close(ours)
    assert got.rc == 130 and "60 requests" in got.stdout and len(out.read_text().splitlines()) == 60, got


@case("a log is not written over by its recording, and two outputs are two files, which are kept")
def _():
    log, blocks = logged(requests(20), "self.log"), home() / "work/blocks.csv"
    before, events = log.read_bytes(), ["record", "--events", "tcp://127.0.0.1:9", "--blocks"]
    blocks.write_text("kept\n")
    for args in (["record", log, "-o", log, "--overwrite"], [*events, blocks, "-o", blocks, "--overwrite"],
                 [*events, "new.csv", "-o", "./new.csv"], [*events, blocks, "-o", "new.jsonl"]):
        got = run(args, cwd=log.parent)
        assert got.rc == 2 and log.read_bytes() == before and blocks.read_text() == "kept\n", (args, got)
        assert not (log.parent / "new.csv").exists() and not (log.parent / "new.jsonl").exists()


@case("a full disk ends a recording at once and is named, for the trace and for --blocks")
def _():
    log = logged(requests(60))
    for args in (["-o", "/dev/full", log], ["-o", "/dev/full", "--follow", log]):
        got = run(["record", *args, "--headless"] if "--follow" in args else ["record", *args], timeout=20)
        assert got.rc == 1 and re.search(r"/dev/full: No space left", got.stderr), got
    path = home() / "work/after.jsonl"
    got = run(["record", "--events", "tcp://127.0.0.1:9", "--blocks", "/dev/full", "-o", path, "--headless"], timeout=20)
    assert got.rc == 2 and "libzmq" in got.stderr or got.rc == 1 and "/dev/full: No space left" in got.stderr, got


@case("a count of tokens that is none leaves the line out, with the reason")
def _():
    path = home() / "work/counts.jsonl"
    path.write_text("".join(json.dumps({"created": 1770000000 + i, "prompt_token_ids": [1, 2, 3], "usage": {"completion_tokens": count}}) + "\n"
                            for i, count in enumerate((7, -1, "many", 2.5, "", 1e30, 12.0, "9", None))))
    rows, got = recorded(path)
    assert [row["output_length"] for row in rows] == [7, 12, 9, 0], rows
    assert "Left out: 5 of 9 lines with a count of tokens" in got.stdout, got


@case("lines of which none is a request are no recording, and a path of --map is not too long")
def _():
    path = home() / "work/other.jsonl"
    path.write_text(json.dumps({"when": 1.7e9, "question": "hello"}) + "\n")
    _, got = recorded(path, rc=1)
    assert "--map" in got.stderr and "1 are without a time" in got.stderr, got
    got = run(["record", logged(requests(20)), "-o", home() / "work/long.jsonl", "--map", "time=" + "x" * 96])
    assert got.rc == 2 and "too long" in got.stderr and not (home() / "work/long.jsonl").exists(), got
    recorded(logged(requests(20)), "--map", "class=" + "x" * 95)


main()
