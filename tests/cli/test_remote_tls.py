#!/usr/bin/env python3
"""The remote tier through TLS: whose certificate is taken, and that bytes arrive as in the clear."""
import json
import socket
import threading

from played_redis import Proxy
from runs import kept_and_read, last_run, measure, refused, result, rows, write
from servers import Redis, certificate, remote
from tap import case, main, run

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 80}


def on(server, **more):
    return {**SMALL, "tiers.remote": remote(server, **{"chunk_tokens": 64, **more})}


def trust(pair):
    return {"SSL_CERT_FILE": str(pair[0])}


@case("values of many sizes go there and back, with a password, another database and the server's figures")
def _():
    pair = certificate()
    server = Redis(tls=pair, password="hush-hush")
    for tokens, io_size in ((1000, "4KiB"), (3, "64KiB"), (256, "64KiB")):
        changes = {**on(server, url=server.url + "/3", chunk_tokens=tokens), "tiers.nvme.io_size": io_size}
        _, summary = measure(changes, env={"KVFALL_REMOTE_PASSWORD": "hush-hush", **trust(pair)})
        kept_and_read(summary)
        assert summary["tiers"]["remote"]["description"].endswith("; TLS"), summary["tiers"]
    assert result(summary, "remote_server_used_bytes") > 0, summary["results"]
    assert server.keys() == [], "values are left behind"


@case("LMCache's layouts go through TLS, too")
def _():
    pair = certificate()
    server = Redis(tls=pair)
    for layout in ("lmcache-resp", "lmcache-redis"):
        _, summary = measure(on(server, layout=layout), env=trust(pair))
        kept_and_read(summary)


@case("a certificate that nobody vouches for, or of another name, is refused before anything is said")
def _():
    other = certificate("DNS:other.example")
    for pair, env, words in ((certificate(), {}, "self"), (other, trust(other), "mismatch")):
        server = Redis(tls=pair, password="hush-hush")
        got = refused(["run", "--headless", write(on(server))], "the certificate of the server at", "is not trusted", words,
                      "SSL_CERT_FILE", "--insecure",
                      env={"KVFALL_REMOTE_PASSWORD": "hush-hush", **env})
        assert "hush" not in got.stderr, got
        client = server.client()
        said = client.call("INFO", "commandstats").decode()
        client.close()
        assert "cmdstat_ping:calls=1," in said or "cmdstat_ping" not in said, said


@case("--insecure takes it, and every output says so")
def _():
    server = Redis(tls=certificate("DNS:other.example"))
    got, summary = measure(on(server), "--insecure")
    kept_and_read(summary)
    words = "TLS without a check of its certificate (--insecure)"
    assert words in " ".join(got.stdout.split()), got
    assert words in summary["tiers"]["remote"]["description"], summary["tiers"]
    assert any("--insecure" in event["message"] for event in summary["events"]), summary["events"]
    assert json.loads(last_run()["effective_json"])["tiers"]["remote"]["insecure"] is True, last_run()
    assert rows("SELECT description FROM run_tiers WHERE tier = 'remote'")[0]["description"].endswith(words)
    report = run(["report", "1", "--format", "md"])
    assert report.rc == 0 and "--insecure" in report.stdout, report


@case("a connection that breaks in the middle of a value: the value is sent or asked for again")
def _():
    pair = certificate()
    for cut in ({"to_server": 150000}, {"to_client": 150000}):
        proxy = Proxy(Redis(tls=pair), times=2, **cut)
        _, summary = measure({**on(proxy), "tiers.nvme.io_size": "256KiB"}, env=trust(pair))
        assert proxy.cuts == 2, (cut, proxy.cuts)
        kept_and_read(summary)


@case("a server in the clear is told apart")
def _():
    server = Redis(tcp=True)
    path = write(on(server, url=server.url.replace("redis:", "rediss:"), timeout="1s"))
    refused(["run", "--headless", path], "does not answer to TLS within tiers.remote.timeout; for a server without TLS use redis://")
    closing = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: closing.accept()[0].close(), daemon=True).start()
    path = write(on(server, url="rediss://127.0.0.1:%d" % closing.getsockname()[1]))
    refused(["run", "--headless", path], "failed to speak TLS", "for a server without TLS use redis://")


main()
