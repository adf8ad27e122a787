"""A server that speaks RESP and does what a test wants it to: refuses, lies, falls silent, or closes in the middle of
a value. And a proxy in front of a real one that cuts connections."""
import queue
import socket
import threading
import time

from tap import scratch

SILENCE = object()  # no answer, the connection stays
CLOSE = object()    # the connection ends


class Listener:
    """A socket that is listened to, of TCP with the beginning of its URL, and a thread that serves it once the rest is
    there."""

    def __init__(self, name, url=None):
        self.kind = socket.AF_INET if url else socket.AF_UNIX
        self.listener = socket.socket(self.kind)
        if self.kind == socket.AF_INET:
            self.listener.bind(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
            self.url = "%s:%d" % (url, self.port)
        else:
            self.path = str(scratch(name) / "s")
            self.url = "unix://" + self.path
            self.listener.bind(self.path)
        self.listener.listen(64)

    def close(self):
        """Nobody can connect any more; connections stay."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def begin(self):
        threading.Thread(target=self._accept, daemon=True).start()


class Played(Listener):
    """Threads behind a socket. `answer(words, usual)` gives the bytes to send for a command, SILENCE or CLOSE; `usual` is
    what a good server would say. With `members`, a list that it adds itself to, it is one of a cluster and has `slots`."""

    def __init__(self, answer=lambda words, usual: usual, members=None, slots=(0, 16383)):
        super().__init__("played", "redis://127.0.0.1" if members is not None else None)
        self.answer, self.values, self.lock = answer, {}, threading.Lock()
        self.members, self.slots = members, slots
        if members is not None:
            members.append(self)
        self.begin()

    def _accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _usual(self, words):
        name, key = words[0].upper(), words[1] if len(words) > 1 else None
        with self.lock:
            if name == b"PING":
                return b"+PONG\r\n"
            if name == b"INFO":
                text = b"redis_version:7.0.0\r\ncluster_enabled:%d\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n" % (
                    self.members is not None)
                return b"$%d\r\n%s\r\n" % (len(text), text)
            if name == b"CLUSTER":
                return b"*%d\r\n" % len(self.members) + b"".join(
                    b"*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % (*one.slots, one.port)
                    for one in self.members)
            if name == b"SET":
                self.values[key] = words[2]
                return b"+OK\r\n"
            if name == b"GET":
                value = self.values.get(key)
                return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
            if name == b"EXISTS":
                return b":%d\r\n" % (key in self.values)
            if name == b"UNLINK":
                return b":%d\r\n" % sum(self.values.pop(one, None) is not None for one in words[1:])
        return b"-ERR unknown command\r\n"

    def _serve(self, one):
        with one, one.makefile("rb") as file:
            try:
                while True:
                    line = file.readline()
                    if not line:
                        return
                    words = []
                    for _ in range(int(line[1:])):
                        length = int(file.readline()[1:])
                        words.append(file.read(length))
                        file.read(2)
                    sent = self.answer(words, self._usual(words))
                    if sent is CLOSE:
                        return
                    if isinstance(sent, tuple):  # the beginning of an answer, then the end
                        one.sendall(sent[0])
                        return
                    if sent is not SILENCE:
                        one.sendall(sent)
            except (OSError, ValueError, IndexError):
                return


class Proxy(Listener):
    """In front of a server on a socket: after `cuts` bytes of an answer or of what is sent a connection is reset, as often
    as `times` says. Bytes before are passed on as they are."""

    def __init__(self, server, to_server=None, to_client=None, times=1):
        super().__init__("proxy", server.url.rpartition(":")[0] if server.tcp else None)
        self.server, self.times, self.lock, self.cuts = server, times, threading.Lock(), 0
        self.limit = {"up": to_server, "down": to_client}
        self.begin()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.socket(self.kind)
                far.connect(self.server.address)
            except OSError:
                return
            for way, source, target in (("up", near, far), ("down", far, near)):
                threading.Thread(target=self._pipe, args=(way, source, target, near, far), daemon=True).start()

    def _cut(self, way, passed):
        with self.lock:
            if self.limit[way] is None or passed < self.limit[way] or self.cuts >= self.times:
                return False
            self.cuts += 1
            return True

    def _pipe(self, way, source, target, near, far):
        passed = 0
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                target.sendall(data)
                passed += len(data)
                if self._cut(way, passed):
                    break
        except OSError:
            pass
        for one in (near, far):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Distant(Proxy):
    """In front of a server on a socket: what goes either way comes so many seconds later, in order."""

    def __init__(self, server, delay):
        self.delay = delay
        super().__init__(server)

    def _pipe(self, way, source, target, near, far):
        under_way = queue.SimpleQueue()
        threading.Thread(target=self._arrive, args=(under_way, target), daemon=True).start()
        data = b"."
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            under_way.put((time.monotonic() + self.delay, data))

    @staticmethod
    def _arrive(under_way, target):
        data = b"."
        while data:
            at, data = under_way.get()
            time.sleep(max(at - time.monotonic(), 0))
            try:
                if data:
                    target.sendall(data)
                else:
                    target.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
