"""How a SeaweedFS of one machine starts: its arguments, its bucket, and whether it serves."""
import socket
import urllib.error
import urllib.request

PARTS = ("master", "volume", "filer", "s3", "admin")
KEYS = {"AWS_ACCESS_KEY_ID": "kvfall", "AWS_SECRET_ACCESS_KEY": "hush-hush-hush"}


def free_ports():
    """{name of a part: a port that was free a moment ago}; of each part there is another one, for gRPC."""
    names = [name for one in PARTS for name in (one, one + " grpc")]
    chosen = [socket.socket() for _ in names]
    for one in chosen:
        one.bind(("127.0.0.1", 0))
    ports = {name: one.getsockname()[1] for name, one in zip(names, chosen)}
    for one in chosen:
        one.close()
    return ports


def arguments(ports, folder):
    """What follows the program's name; the environment has KEYS."""
    words = [word for one in PARTS for word in ("-%s.port" % one, ports[one], "-%s.port.grpc" % one, ports[one + " grpc"])]
    return [str(word) for word in ("mini", "-dir", folder, "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", *words,
                                   "-s3.port.iceberg", 0, "-s3.port.lance", 0, "-webdav=false", "-master.telemetry=false",
                                   "-bucket", "kvcache")]


def bucket(ports):
    return "http://127.0.0.1:%d/kvcache" % ports["s3"]


def status(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return None


def ready(ports):
    """The bucket is there, and who has not signed is refused."""
    return status("http://127.0.0.1:%d/buckets/kvcache/" % ports["filer"]) == 200 and status(bucket(ports)) == 403
