"""A server that speaks S3 and does what a test wants it to. It checks every signature (AWS Signature Version 4) with the
raw address and headers as they came, keeps objects in memory, and refuses, lies, falls silent or closes when told to."""
import calendar
import hashlib
import hmac
import http.server
import socket
import ssl
import struct
import threading
import time
import urllib.parse

SILENCE = object()  # no answer, the connection stays
CLOSE = object()    # the connection is reset

KEY, SECRET, BUCKET = "AKIDPLAYED", "played+Secret/Key=with&signs", "kvcache"


class Cut:
    """The answer's first bytes of the body, then a reset; with `stall` silence."""

    def __init__(self, count, stall=False):
        self.count, self.stall = count, stall


def error(status, code, message="played"):
    body = "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>" % (code, message)
    return status, body.encode()


class Bad(Exception):
    """A signature that does not hold; the text is S3's code for it."""


def hmac_sha256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def check_signature(handler, body, server):
    """Raises Bad unless the request is signed as AWS describes it."""
    said = handler.headers.get("Authorization", "")
    if not said.startswith("AWS4-HMAC-SHA256 "):
        raise Bad("AccessDenied")
    parts = dict(part.strip().split("=", 1) for part in said.split(" ", 1)[1].split(","))
    key, day, region, service, end = parts["Credential"].split("/")
    if key != server.key:
        raise Bad("InvalidAccessKeyId")
    if (service, end) != ("s3", "aws4_request"):
        raise Bad("SignatureDoesNotMatch")
    if region != server.region:
        raise Bad("AuthorizationHeaderMalformed")
    when, digest = handler.headers.get("x-amz-date", ""), handler.headers.get("x-amz-content-sha256", "")
    if abs(calendar.timegm(time.strptime(when, "%Y%m%dT%H%M%SZ")) - time.time()) > 900 or when[:8] != day:
        raise Bad("RequestTimeTooSkewed")
    signed = parts["SignedHeaders"].split(";")
    amz = {name.lower() for name in handler.headers if name.lower().startswith("x-amz-")}
    if signed != sorted(signed) or not {"host", "x-amz-date", "x-amz-content-sha256"} | amz <= set(signed):
        raise Bad("SignatureDoesNotMatch")
    if digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(body).hexdigest():
        raise Bad("XAmzContentSHA256Mismatch")
    path, _, query = handler.path.partition("?")
    if path != urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"):
        raise Bad("SignatureDoesNotMatch")
    headers = "".join("%s:%s\n" % (name, " ".join(handler.headers.get(name, "").split())) for name in signed)
    whole = "\n".join((handler.command, path, query, headers, ";".join(signed), digest))
    scope = "/".join((day, region, "s3", "aws4_request"))
    text = "\n".join(("AWS4-HMAC-SHA256", when, scope, hashlib.sha256(whole.encode()).hexdigest()))
    secret = ("AWS4" + server.secret).encode()
    for part in (day, region, "s3", "aws4_request"):
        secret = hmac_sha256(secret, part)
    if not hmac.compare_digest(hmac_sha256(secret, text).hex(), parts["Signature"]):
        raise Bad("SignatureDoesNotMatch")
    if server.token and handler.headers.get("x-amz-security-token") != server.token:
        raise Bad("ExpiredToken")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, server_version, sys_version = "HTTP/1.1", "Played-S3", ""
    disable_nagle_algorithm = True
    rbufsize = 1 << 20

    def log_message(self, *words):
        pass

    def _usual(self, body):
        played = self.server.played
        path = urllib.parse.unquote(self.path.partition("?")[0])[1:]
        host = self.headers.get("Host", "").partition(":")[0]
        if host.startswith(BUCKET + "."):
            path = BUCKET + "/" + path
        bucket, _, name = path.partition("/")
        try:
            check_signature(self, body, played)
        except Bad as bad:
            return name, error(400 if str(bad) == "AuthorizationHeaderMalformed" else 403, str(bad))
        with played.lock:
            if bucket != BUCKET:
                return name, error(404, "NoSuchBucket")
            if self.command == "PUT":
                if self.headers.get("If-None-Match"):
                    assert self.headers["If-None-Match"] == "*", self.headers
                    played.claims.append(name)
                    if played.knows_claims is False:
                        return name, error(501, "NotImplemented", "A header that this server does not know")
                    if name in played.objects:
                        return name, error(412, "PreconditionFailed")
                played.objects[name] = body
                return name, (200, b"")
            if self.command == "DELETE":
                played.objects.pop(name, None)
                return name, (204, b"")
            if not name:
                return name, (200, b"")
            if name not in played.objects:
                return name, error(404, "NoSuchKey")
            return name, (200, played.objects[name])

    def _serve(self):
        played = self.server.played
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name, usual = self._usual(body)
        with played.lock:
            played.requests.append((self.command, name))
        sent = played.answer(self.command, name, usual)
        if sent is SILENCE:
            played.ended.wait()
        if sent in (SILENCE, CLOSE):
            return self._reset()
        part = None
        if isinstance(sent, Cut):
            part, sent = sent, usual
        status, data = sent[:2]
        self.send_response(status)
        for header, value in (sent[2] if len(sent) > 2 else {}).items():
            self.send_header(header, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:part.count] if part else data)
        if part and part.stall:
            played.ended.wait()
        if part:
            self._reset()

    def _reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    do_GET = do_PUT = do_HEAD = do_DELETE = _serve


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class PlayedS3:
    """`answer(method, name, usual)` gives what to send: (status, body[, headers]), a Cut of what is usual, SILENCE or
    CLOSE. With `tls`, a pair of files, it speaks nothing else. `.env` is what a program needs to be let in."""

    def __init__(self, answer=lambda method, name, usual: usual, region="us-east-1", token=None, tls=None, port=0):
        self.answer, self.region, self.token = answer, region, token
        self.key, self.secret = KEY, SECRET
        self.claims, self.knows_claims = [], True  # names of PUTs that leave what is there
        self.objects, self.requests, self.lock, self.ended = {}, [], threading.Lock(), threading.Event()
        self.http = Server(("127.0.0.1", port), Handler)
        self.http.played = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.http.server_address[1]
        self.host = "127.0.0.1:%d" % self.port
        self.url = "%s://%s/%s" % ("https" if tls else "http", self.host, BUCKET)
        self.env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": token,
                    "AWS_REGION": None, "AWS_DEFAULT_REGION": None, "no_proxy": "*"}
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def count(self, method):
        with self.lock:
            return sum(one[0] == method for one in self.requests)

    def close(self):
        """Ends it: nothing listens there any more."""
        self.ended.set()
        self.http.shutdown()
        self.http.server_close()
