#!/usr/bin/env python3
"""What can go wrong with a server behind the remote tier: each has an outcome, is counted and named, and is no hit."""

import re
import time

from played_redis import CLOSE, SILENCE, Played, Proxy
from runs import measure, result, stop, write
from servers import Redis, Refused, remote
from tap import case, finish, home, main, spawn, wait_until

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 60}
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def on(server, base=None, **more):
    return {**(base or SMALL), "tiers.remote": remote(server, chunk_tokens=64, **more)}


def operations(server, *options, rc=0, **more):
    """A write and two reads of an entry of four values."""
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,200\nread,1/1,200\nread,1/1,200\n")
    return measure(on(server, OPS, **more), *options, rc=rc)


def failed(server, *words, **more):
    """The run fails with one sentence that has these words; with --keep-going it goes on and counts: the second read
    finds nothing any more."""
    got, _ = operations(server, rc=1, **more)
    assert all(word in got.stderr for word in words), (words, got)
    return operations(server, "--keep-going", **more)[1]


@case("a connection that breaks in the middle of a value: the value is sent or asked for again")
def _():
    for cut in ({"to_server": 150000}, {"to_client": 150000}, {"to_client": 40}, {"to_server": 40}):
        proxy = Proxy(Redis(), times=2, **cut)  # the third time a value is given up
        _, summary = measure({**on(proxy), "tiers.nvme.io_size": "256KiB"})
        assert proxy.cuts == 2, (cut, proxy.cuts)
        assert result(summary, "operation_errors") == 0 == result(summary, "verify_mismatched"), (cut, summary["results"])
        assert result(summary, "remote_read_bytes") > 0, summary["results"]


@case("a connection that always breaks: the operation fails, and is no hit")
def _():
    broken = Played(lambda words, usual: (usual[:1000],) if words[0] == b"GET" else usual)
    summary = failed(broken, "remote read of entry 1/1", "the connection to", "was lost: the server has closed it")
    assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]


@case("a server that falls silent: the operation is given up after the timeout")
def _():
    silent = Played(lambda words, usual: SILENCE if words[0] == b"GET" else usual)
    summary = failed(silent, "has not answered within tiers.remote.timeout", timeout="1s")
    assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]
    got, _ = operations(silent, rc=1, timeout="2s")  # three times: longer than what is said to hang
    assert "nothing has come back for" in got.stderr and "has not answered within tiers.remote.timeout" in got.stderr.splitlines()[-1], got


@case("a value that the server stores after its write was given up, and after its entry was deleted, leaves nothing")
def _():
    def slow(words, usual):
        if words[0] == b"SET" and words[1].endswith(b":2"):
            late[words[1]] = server.values.pop(words[1])
            return SILENCE
        if words[0] == b"UNLINK" and words[1] in late and len(deleted) < times:
            deleted.append(words[1])
            server.values[words[1]] = late[words[1]]
        return usual
    for times in (1, 2):  # after its entry was deleted; and once more after what was in doubt was deleted at the end
        late, deleted = {}, []
        server = Played(slow)
        got, summary = operations(server, "--keep-going", timeout="2s")  # that a busy machine serves all others in
        assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]
        assert len(deleted) == times and server.values == {}, (times, deleted, list(server.values), got.stderr)


@case("of a shared prompt it stays, as other runs may use it, and a warning counts what may be there")
def _():
    unanswered = []

    def first_silent(words, usual):
        if words[0] != b"SET" or not words[1].endswith(b":2"):
            return usual
        if words[1] in unanswered or not unanswered:
            unanswered.append(words[1])
            return SILENCE
        time.sleep(0.3)  # the run goes on until it has deleted what it had given up: what it deletes at its end is in no doubt
        return usual
    server = Played(first_silent)
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,prompt-1,200\nread,prompt-1,200\nwrite,prompt-2,200\n")
    got, _ = measure(on(server, OPS, share_prompts=True, timeout="2s"), "--keep-going")
    assert "up to 4 values of shared prompts may stay on the server at" in got.stderr, got


@case("a server that stops in the middle of a value")
def _():
    half = Played(lambda words, usual: usual[:5000] if words[0] == b"GET" else usual)
    summary = failed(half, "has not answered within tiers.remote.timeout", timeout="1s")
    assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]


@case("a value of another size is no hit")
def _():
    short = Played(lambda words, usual: b"$3\r\nabc\r\n" if words[0] == b"GET" else usual)
    summary = failed(short, "has a value of 3 bytes where")
    assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]


@case("a value with other bytes is found by verification and is no hit")
def _():
    def other(words, usual):
        return usual[:-2000] + bytes(1998) + b"\r\n" if words[0] == b"GET" else usual
    got, summary = operations(Played(other), "--keep-going")
    assert result(summary, "verify_mismatched") > 0 and result(summary, "hits") == 0, got
    assert re.search(r"\d+ blocks? failed verification", summary["run"]["undone"]), summary["run"]
    assert {one["metric"]: one["passed"] for one in summary["criteria"]}["verify_mismatched"] is False, summary["criteria"]


@case("errors of the server have a sentence each")
def _():
    for answer, words in ((b"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "has no memory left"),
                          (b"-READONLY You can't write against a read only replica.\r\n", "is a replica"),
                          (b"-MOVED 3999 127.0.0.1:6381\r\n", "is a member of a cluster"),
                          (b"-ASK 3999 127.0.0.1:6381\r\n", "is a member of a cluster"),
                          (b"-MISCONF Errors writing\r\n", "cannot save"),
                          (b"-ERR \x1b[31mred\x07\r\n", "refused a command")):
        server = Played(lambda said, usual, answer=answer: answer if said[0] == b"SET" else usual)
        got, _ = operations(server, rc=1)
        assert "remote write of entry 1/1" in got.stderr and words in got.stderr, got
        assert "\x1b" not in got.stderr and "\x07" not in got.stderr, got
        _, summary = operations(server, "--keep-going")
        assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]


@case("a real server without room refuses writes: the run fails, or goes on and counts")
def _():
    full = Redis(tcp=True, maxmemory="2mb")
    got, _ = measure(on(full), rc=1)
    assert "has no memory left" in got.stderr and "maxmemory" in got.stderr, got
    got, summary = measure(on(full), "--keep-going")
    assert result(summary, "operation_errors") > 0 == result(summary, "verify_mismatched"), summary["results"]
    assert full.keys() == []
    # what was lost is not read back: less work, and no success
    assert summary["run"]["status"] == "completed" and "operations failed" in summary["run"]["undone"], summary["run"]
    assert "throughput not comparable: " in " ".join(got.stdout.split()), got
    assert {"failed operations": False}.items() <= {one["name"]: one["passed"] for one in summary["criteria"]}.items(), summary["criteria"]
    got, summary = measure({**on(full), "assess.profile": "latency"}, "--keep-going", "--assert", rc=3)
    assert {"failed operations": False}.items() <= {one["name"]: one["passed"] for one in summary["criteria"]}.items(), summary["criteria"]


@case("a real replica takes no writes")
def _():
    replica = Redis(more=["--replicaof", "127.0.0.1", "1"])
    got, _ = operations(replica, rc=1)
    assert "is a replica that takes no writes" in got.stderr, got


@case("answers that are none end in one sentence")
def _():
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-7\r\n", b"$9223372036854775808\r\n", b"*70000\r\n", b":1\r\n",
                   b"+OK\r\n", b"*1\r\n*1\r\n*1\r\n*1\r\n", b"$5\r\nab\r\n\r\n", b"\0\0\0\0\r\n", b"+" + b"x" * 5000):
        hostile = Played(lambda words, usual, answer=answer: answer if words[0] == b"GET" else usual)
        got, _ = operations(hostile, rc=1, timeout="1s")
        assert "remote read of entry 1/1" in got.stderr, (answer, got)
        assert len([line for line in got.stderr.splitlines() if line.startswith("kvfall: ")]) == 1, (answer, got)


@case("answers that are none, before the run: nothing is created")
def _():
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-7\r\n", b"*70000\r\n", b"+" + b"x" * 5000, CLOSE, SILENCE):
        hostile = Played(lambda words, usual, answer=answer: answer)
        path = write(on(hostile, timeout="1s"))
        got = finish(spawn(["run", "--headless", path]))
        assert got.rc == 2 and "the remote tier cannot be used: " in got.stderr, (answer, got)
        assert len(got.stderr.splitlines()) == 1, (answer, got)


@case("a server that is killed and comes back: errors are counted, the run goes on with what is written anew")
def _():
    server = Redis()
    path = write({**on(server, timeout="1s"), "run.max_requests": 0})
    summary_path = home() / "work/summary.json"
    run = spawn(["run", "--headless", path, "--keep-going", "--json", summary_path])
    wait_until(lambda: commands(server) > 20, 60, "commands at the server")
    server.kill()
    wait_until(lambda: run.poll() is None, 1)
    server.start()
    wait_until(lambda: commands(server) > 20 or run.poll() is not None, 60, "commands at the server that came back")
    _, summary = stop(run, summary_path)
    assert result(summary, "requests_done") > 0 == result(summary, "verify_mismatched"), summary["results"]
    assert server.keys() == []


def commands(server):
    """SETs and GETs so far; 0 while the server is not there."""
    try:
        client = server.client()
        lines = client.call("INFO", "commandstats").decode().splitlines()
        client.close()
    except (OSError, Refused):
        return 0
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines
               if line.startswith(("cmdstat_set:", "cmdstat_get:")))


@case("a password is in no file, no output and no message")
def _():
    secret, user = "tell-nobody-7", "default"
    server = Redis(tcp=True, password=secret)
    with_user = server.url.replace("://", "://%s:%s@" % (user, secret))
    for env, url in (({}, with_user), ({"KVFALL_REMOTE_PASSWORD": secret}, server.url)):
        path = write(on(server, url=url))
        outputs = [home() / "work" / name for name in ("s.json", "trace.csv", "requests.log", "report.html")]
        got = finish(spawn(["run", "--headless", path, "--json", outputs[0], "--io-trace", outputs[1], "--request-log",
                            outputs[2]], env=env))
        assert got.rc == 0, got
        seen = [got.stdout, got.stderr]
        for args in (["report", "last", "-o", outputs[3]], ["show", "last"], ["show", "last", "--yaml"], ["check", path],
                     ["export", "last", "--format", "json"], ["sql", "SELECT * FROM runs"], ["history"]):
            one = finish(spawn(args, env=env))
            seen += [one.stdout, one.stderr]
        path.unlink()
        for file in home().rglob("*"):
            if file.is_file():
                seen.append(file.read_bytes().decode("latin-1"))
        assert not [text for text in seen if secret in text], [text[:300] for text in seen if secret in text]
    wrong = finish(spawn(["run", "--headless", write(on(server, url=server.url.replace("://", "://:wrong-%s@" % secret)))]))
    assert wrong.rc == 2 and "does not accept" in wrong.stderr and secret not in wrong.stderr, wrong
    bad = finish(spawn(["check", write(on(server, url="redis://:%s@host:0" % secret))]))
    assert bad.rc == 2 and secret not in bad.stderr + bad.stdout, bad


main()
