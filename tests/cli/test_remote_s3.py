#!/usr/bin/env python3
"""The remote tier in a bucket of a server that speaks S3."""
import re

from played_s3 import CLOSE, SECRET, SILENCE, Cut, PlayedS3, error
from runs import kept_and_read, last_run, measure, refused, result, write
from servers import certificate
from tap import case, finish, home, main, spawn

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}


def on(server, **more):
    return {**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "s3", "url": server.url, "chunk_tokens": 64, **more}}


@case("what falls out of nvme is kept in the bucket and read from there, every request signed; nothing stays")
def _():
    server = PlayedS3()
    _, summary = measure(on(server), env=server.env)
    kept_and_read(summary)
    assert re.match(r"s3: bucket kvcache at 127.0.0.1:\d+ \(Played-S3\)", summary["tiers"]["remote"]["description"])
    assert server.objects == {}, sorted(server.objects)
    assert server.count("DELETE") == server.count("PUT") > 0, server.requests[-10:]


OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def operations(server, *options, rc=0, **more):
    """A write and two reads of an entry of four objects."""
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,200\nread,1/1,200\nread,1/1,200\n")
    return measure({**on(server, **more), **OPS}, *options, rc=rc, env=server.env)


def played(method, fault, times=None):
    """A server that answers requests of a method by fault(usual), all of them or the first `times`."""
    left = [times]

    def answer(said, name, usual):
        if said != method or not name.startswith("kvfall:") or left[0] == 0:
            return usual
        if left[0]:
            left[0] -= 1
        return fault(usual)
    return PlayedS3(answer)


def failed(server, *words, **more):
    """The run fails with one sentence that has these words; with --keep-going it goes on, counts, and has no hit."""
    got, _ = operations(server, rc=1, **more)
    assert all(word in got.stderr for word in words), (words, got)
    _, summary = operations(server, "--keep-going", **more)
    assert result(summary, "operation_errors") == 1 and result(summary, "hits") == 0, summary["results"]


@case("an entry is as many objects as its tokens need, asked for by HEAD, read and deleted at the end")
def _():
    server = PlayedS3()
    _, summary = operations(server)
    kept_and_read(summary)
    assert [server.count(one) for one in ("PUT", "DELETE")] == [4, 4], server.requests
    heads = [name for method, name in server.requests if method == "HEAD" and name]
    assert len(heads) == 8 and result(summary, "remote_lookup_mean_ms") > 0, heads
    server = PlayedS3()
    _, summary = operations(server, lookup="get")
    assert not [name for method, name in server.requests if method == "HEAD" and name], server.requests
    assert result(summary, "remote_lookup_mean_ms") is None, summary["results"]


@case("objects may be larger or smaller than chunks, and no multiple of them")
def _():
    server = PlayedS3()
    for tokens, io_size in ((1000, "4KiB"), (3, "64KiB"), (256, "64KiB"), (7, "4KiB")):
        _, summary = measure({**on(server, chunk_tokens=tokens), "tiers.nvme.io_size": io_size, "run.max_requests": 60},
                             env=server.env)
        kept_and_read(summary)
        assert server.objects == {}


@case("a prefix, a region, a session and the bucket in the host's name")
def _():
    server = PlayedS3(region="eu-central-7", token="session/Token+with==signs")
    names = []
    server.answer = lambda method, name, usual: (names.append((method, name)), usual)[1]
    _, summary = operations(server, url=server.url + "/some folder/of%40mine/", region="eu-central-7")
    kept_and_read(summary)
    assert all(name.startswith("some folder/of@mine/kvfall:") for method, name in names if method == "PUT"), names
    server = PlayedS3()
    host = "http://localhost:%d/kvcache/below?style=virtual" % server.port
    _, summary = operations(server, url=host)
    kept_and_read(summary)
    assert "kvcache.localhost" in summary["tiers"]["remote"]["description"], summary["tiers"]


@case("over TLS: trusted, not trusted, and taken all the same")
def _():
    pair = certificate()
    server = PlayedS3(tls=pair)
    _, summary = measure(on(server), env={**server.env, "SSL_CERT_FILE": str(pair[0])})
    kept_and_read(summary)
    refused(["run", "--headless", write(on(server))], "the certificate of the server at", "is not trusted", "SSL_CERT_FILE",
            "--insecure", env=server.env)
    _, summary = measure(on(server), "--insecure", env=server.env)
    kept_and_read(summary)
    assert "TLS without a check of its certificate (--insecure)" in summary["tiers"]["remote"]["description"]
    assert any("--insecure" in event["message"] for event in summary["events"]), summary["events"]


@case("a reset in the middle of an object: it is sent or asked for again; always, and the operation fails")
def _():
    for method, fault in (("GET", lambda usual: Cut(5000)), ("PUT", lambda usual: CLOSE), ("GET", lambda usual: CLOSE),
                          ("HEAD", lambda usual: CLOSE)):
        _, summary = operations(played(method, fault, times=2))
        kept_and_read(summary)
    failed(played("GET", lambda usual: Cut(5000)), "remote read of entry 1/1", "the connection to")


@case("silence and an object that stops in the middle are given up after the timeout")
def _():
    for fault in (lambda usual: SILENCE, lambda usual: Cut(5000, stall=True)):
        server = played("GET", fault)
        failed(server, "has not answered within tiers.remote.timeout", timeout="1s")
        server.close()


@case("an object of another size is no hit, and one with other bytes is found by verification")
def _():
    failed(played("GET", lambda usual: (200, b"abc")), "has an object of 3 bytes where ")
    failed(played("GET", lambda usual: (200, b"")), "has an object of 0 bytes where")
    other = played("GET", lambda usual: (200, usual[1][:-2000] + bytes(2000)))
    got, summary = operations(other, "--keep-going")
    assert result(summary, "verify_mismatched") > 0 and result(summary, "hits") == 0, got


@case("SlowDown is asked again, a bounded number of times")
def _():
    slow = lambda usual: error(503, "SlowDown", "Reduce your request rate.")
    for method in ("PUT", "GET", "HEAD", "DELETE"):
        _, summary = operations(played(method, slow, times=3))
        kept_and_read(summary)
    failed(played("PUT", slow), "remote write of entry 1/1", "lower tiers.remote.connections", "503 SlowDown")


@case("refusals have a sentence each")
def _():
    for fault, words in ((error(403, "AccessDenied"), "does not let these credentials do that"),
                         (error(507, "InsufficientStorage"), "has no room left"),
                         (error(400, "EntityTooLarge", "\x1b[31mred"), "refused a request")):
        server = played("PUT", lambda usual, fault=fault: fault)
        got, _ = operations(server, rc=1)
        assert "remote write of entry 1/1" in got.stderr and words in got.stderr and "\x1b" not in got.stderr, got


@case("an object that is gone is a miss, counted, and no error")
def _():
    for lookup, method in (("exists", "HEAD"), ("get", "GET")):
        _, summary = operations(played(method, lambda usual: error(404, "NoSuchKey"), times=1), lookup=lookup)
        assert result(summary, "remote_lost") >= 1 and result(summary, "operation_errors") == 0, summary["results"]


@case("evicted by the server: nothing is deleted before the end, and what the bucket has lost is a miss, counted")
def _():
    def lifecycle(method, name, usual):
        if method == "PUT" and server.count("PUT") % 8 == 0:
            with server.lock:
                for one in list(server.objects)[:4]:
                    del server.objects[one]
        return usual
    server = PlayedS3(lifecycle)
    _, summary = measure({**on(server, evicted_by="server"), "tiers.remote.chunk_tokens": 64}, env=server.env)
    assert result(summary, "remote_lost") > 0 == result(summary, "operation_errors"), summary["results"]
    asked = [method for method, name in server.requests if name]
    assert "DELETE" in asked and set(asked[asked.index("DELETE"):]) == {"DELETE"}, "deleted during the run"
    assert server.objects == {}, sorted(server.objects)


PROMPTS = "op,key,tokens\nwrite,prompt-1,96\nread,prompt-1,96\n"


@case("of two runs that write a prompt at the same moment the first one owns it: the other's PUT leaves it")
def _():
    kept = {}

    def sooner(method, name, usual):
        if method == "PUT":
            kept.setdefault(name, server.objects.get(name))
        if method == "HEAD" and ":shared:" in name and again:
            with server.lock:
                again.append(name)
                if len(again) == 4:
                    server.objects.update(kept)  # between our lookup and our write
        return usual
    server, again = PlayedS3(), []
    server.answer = sooner
    (home() / "work/ops.csv").write_text(PROMPTS)
    changes = {**on(server, chunk_tokens=32, share_prompts=True), **OPS}
    _, summary = measure(changes, env=server.env)
    assert len(kept) == 3 == server.count("PUT") and not server.objects, sorted(server.objects)
    assert len(server.claims) == 1, server.claims
    again.append(True)
    _, summary = measure(changes, env=server.env)
    assert server.count("PUT") == 4 and len(server.claims) == 2 and server.objects == kept, server.requests
    assert result(summary, "remote_found") == 1 == result(summary, "remote_hits"), summary["results"]
    assert result(summary, "remote_write_bytes") == 0 == result(summary, "verify_mismatched"), summary["results"]


@case("a server that knows no condition for a PUT is asked once: the prompt is written all the same")
def _():
    server = PlayedS3()
    server.knows_claims = False
    (home() / "work/ops.csv").write_text(PROMPTS + PROMPTS.partition("\n")[2].replace("prompt-1", "prompt-2"))
    _, summary = measure({**on(server, chunk_tokens=32, share_prompts=True), **OPS}, env=server.env)
    kept_and_read(summary)
    assert len(server.claims) == 1 and server.count("PUT") == 7 and server.objects == {}, server.requests


@case("a PUT that is carried out after it was given up, and after its entry was deleted, leaves nothing")
def _():
    late, deleted = {}, []

    def slow(method, name, usual):
        if method == "PUT" and name.endswith(":2"):
            with server.lock:
                late[name] = server.objects.pop(name)
            return SILENCE
        if method == "DELETE" and name in late:
            deleted.append(name)
            with server.lock:
                server.objects[name] = late.pop(name)
        return usual
    server = PlayedS3(slow)
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,200\nread,1/1,200\n" + "write,2/1,64\nread,2/1,64\n" * 20)
    _, summary = measure({**on(server, timeout="2s"), **OPS}, "--keep-going", env=server.env)
    assert result(summary, "operation_errors") == 1 == result(summary, "misses"), summary["results"]
    assert len(deleted) == 1 and server.objects == {}, (deleted, sorted(server.objects))
    server.close()


@case("without a server, a bucket or the right to it a run ends with one sentence, and nothing is made")
def _():
    server = PlayedS3()
    path = write(on(server))
    refused(["run", "--headless", path], "credentials for the server at", "AWS_SECRET_ACCESS_KEY",
            env={**server.env, "AWS_ACCESS_KEY_ID": None})
    got = refused(["run", "--headless", path], "does not accept the secret key", env={**server.env, "AWS_SECRET_ACCESS_KEY": "wrong-1"})
    assert "wrong-1" not in got.stderr, got
    refused(["run", "--headless", path], "does not know the access key", env={**server.env, "AWS_ACCESS_KEY_ID": "nobody"})
    refused(["run", "--headless", write(on(server, url="http://%s/other" % server.host))], "has no such bucket", env=server.env)
    refused(["run", "--headless", write(on(server, region="mars-1"))], "tiers.remote.region", env=server.env)
    server.close()
    got = refused(["run", "--headless", path], "no server answers at", "Connection refused", "weed mini", env=server.env)
    assert len(got.stderr.splitlines()) == 1, got


@case("credentials in the address are in no file, no output and no message")
def _():
    server = PlayedS3()
    coded = SECRET.replace("/", "%2F").replace("+", "%2B").replace("&", "%26")
    url = server.url.replace("://", "://%s:%s@" % (server.key, coded))
    path = write({**on(server, url=url), "run.max_requests": 30})
    bare = {**server.env, "AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
    got = finish(spawn(["run", "--headless", path, "--json", home() / "work/s.json"], env=bare))
    assert got.rc == 0, got
    seen = [got.stdout, got.stderr]
    path.unlink()
    seen += [file.read_bytes().decode("latin-1") for file in home().rglob("*") if file.is_file()]
    assert not [text for text in seen for secret in (SECRET, coded) if secret in text], last_run()


@case("an address that is none is a scenario error")
def _():
    for url, words in (("redis://a", "must be s3, https or http"), ("http://a", "names no bucket"), ("http:///b", "names no host"),
                       ("s3://", "needs a bucket"), ("http://a/b?x=1", "must be style=virtual")):
        refused(["check", write({"tiers.remote": {"capacity": "64MiB", "backend": "s3", "url": url}})],
                "tiers.remote.url: is not the address of a bucket: ", words)
    refused(["check", write({"tiers.remote": {"capacity": "64MiB", "backend": "s3"}})], "missing; backend s3 needs a bucket")


main()
