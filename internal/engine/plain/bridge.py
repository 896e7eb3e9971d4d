# Forwards a Unix socket over standard input and output, where hermes itself can't run: the part of its engine that scripts need, in the
# engine's own frames (see the package wire). It ends, with all that it made, when it is told to, or when nobody is there any more.
import base64
import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import time

GREETING = b"\x01hermes-resident "
OPEN, DATA, END, CREDIT, FIN, RESET, PING, PONG, BYE = range(1, 10)
MESSAGES, BYTES = 0, 1
WINDOW, PAYLOAD = 1 << 20, 64 << 10
LOST = 30  # seconds of silence after which the other side is given up
MOST = 512  # connections at a time: more than a script's parent takes, which makes room for one more by closing one that is idle
PAUSE = 0.1  # seconds without accepting after a failure
LONGEST = 56  # characters of a directory below which sockets have room

heard = time.monotonic()
buffered = bytearray()


def send(kind, stream=0, channel=0, payload=b""):
    frame = struct.pack(">IIBB", 6 + len(payload), stream, kind, channel) + payload
    while frame:
        frame = frame[os.write(1, frame) :]


def credit(stream, channel, n):
    send(CREDIT, stream, channel, struct.pack(">I", n))


# How a system tells who is at the other end of a socket: level, option, where the user's number starts, and bytes in all.
CREDENTIALS = None
if sys.platform == "linux":
    CREDENTIALS = socket.SOL_SOCKET, socket.SO_PEERCRED, 4, 12
elif sys.platform == "darwin":  # SOL_LOCAL, LOCAL_PEERCRED and a struct xucred, which Python may not know by name
    CREDENTIALS = 0, 1, 4, 76


def peer(sock):
    """The user at the other end."""
    level, option, at, size = CREDENTIALS
    return struct.unpack_from("I", sock.getsockopt(level, option, size), at)[0]


class Conn:
    """One connection to the socket, and its stream."""

    def __init__(self, sock, stream):
        self.sock, self.stream = sock, stream
        self.room = WINDOW  # bytes that may be sent there
        self.out = bytearray()  # bytes for the socket
        self.reads = True
        self.over = False  # nothing more comes for the socket
        sock.setblocking(False)

    def wants(self):
        return (select.POLLIN if self.reads and self.room > 0 else 0) | (select.POLLOUT if self.out else 0)

    def ready(self, event):
        """Handles an event; an error or the end shows in what is tried."""
        wants = self.wants()
        if wants & select.POLLOUT and event & ~select.POLLIN:
            self.writable()
        if wants & select.POLLIN and event & ~select.POLLOUT:
            self.readable()

    def readable(self):
        try:
            data = self.sock.recv(min(self.room, PAYLOAD))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.room -= len(data)
            send(DATA, self.stream, BYTES, data)
        else:
            self.reads = False
            send(END, self.stream, BYTES)

    def writable(self):
        try:
            n = self.sock.send(self.out)
        except BlockingIOError:
            return
        except OSError:  # whoever was there has gone
            n, self.over = len(self.out), True
        del self.out[:n]
        credit(self.stream, BYTES, n)


class Area:
    """The private directory of this process, and in it that of the run. What dead owners left is removed."""

    def __init__(self):
        home = os.path.expanduser("~")
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        bases = [os.path.join(runtime, "hermes")] if os.path.isdir(runtime) else []
        bases.append(os.path.join(home, ".cache", "hermes", "run"))
        for temp in os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm":
            bases.append(os.path.join(temp, "hermes-run-%d" % os.getuid()))
        why = None
        for base in bases:
            try:
                if os.path.isabs(base) and len(base) + len("/hx12345678/1") <= LONGEST:
                    self.make(base)
                    return
            except OSError as e:
                why = e
        raise OSError("no directory there can be used: %s" % why)

    def make(self, base):
        os.makedirs(base, 0o700, exist_ok=True)
        i = os.lstat(base)
        if i.st_uid != os.getuid() or i.st_mode & 0o170777 != 0o040700:
            raise OSError(errno.EPERM, "not this user's own", base)
        for name in os.listdir(base):
            self.sweep(os.path.join(base, name))
        self.own = os.path.join(base, "hx" + os.urandom(4).hex())
        os.mkdir(self.own, 0o700)
        self.lock = os.open(os.path.join(self.own, "owner.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.dir = os.path.join(self.own, "1")
        self.temp, self.socket = os.path.join(self.dir, "t"), os.path.join(self.dir, "s")
        os.mkdir(self.dir, 0o700)
        os.mkdir(self.temp, 0o700)

    def sweep(self, d):
        try:
            lock = os.open(os.path.join(d, "owner.lock"), os.O_RDWR)
        except OSError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(d, ignore_errors=True)
        except OSError:  # its owner lives
            pass
        finally:
            os.close(lock)

    def remove(self):
        shutil.rmtree(self.own, ignore_errors=True)
        if os.path.exists(self.own):  # also what a script made unreadable
            for d, dirs, _ in os.walk(self.own):
                for name in dirs:
                    os.chmod(os.path.join(d, name), 0o700)
            shutil.rmtree(self.own)


class Bridge:
    def __init__(self):
        self.request = bytearray()
        self.asked = 0  # the stream of the request
        self.number = 0
        self.area = self.listener = None
        self.conns = {}
        self.next = 2
        self.rests = 0.0  # until when nothing is accepted

    def begin(self):
        request = json.loads(self.request.decode("utf-8"))
        self.number = request["id"]
        try:
            if CREDENTIALS is None:
                raise OSError("it can't be found out on %s who connects to a socket" % sys.platform)
            self.area = Area()
            for name, content in (request.get("files") or {}).items():
                fd = os.open(os.path.join(self.area.dir, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                with os.fdopen(fd, "wb") as f:
                    f.write(base64.b64decode(content or ""))
            self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.listener.bind(self.area.socket)
            os.chmod(self.area.socket, 0o600)
            self.listener.listen(256)
            self.listener.setblocking(False)
        except OSError as e:
            self.say({"error": {"text": str(e)}})
            return
        self.say({"dir": self.area.dir, "temp": self.area.temp, "socket": self.area.socket})

    def say(self, answer):
        send(DATA, self.asked, MESSAGES, json.dumps(answer).encode("ascii") + b"\n")

    def end(self):
        """Closes the socket and removes the directory."""
        answer = {}
        for c in list(self.conns.values()):
            self.drop(c)
        if self.listener is not None:
            self.listener.close()
            self.listener = None
        if self.area is not None:
            area, self.area = self.area, None
            try:
                area.remove()
            except OSError as e:
                answer = {"error": {"text": str(e)}}
        return answer

    def accept(self):
        try:
            sock, _ = self.listener.accept()
        except BlockingIOError:
            return
        except OSError:  # out of descriptors: it passes
            self.rests = time.monotonic() + PAUSE
            return
        try:
            user = peer(sock)
        except OSError:  # it has gone
            user = None
        if user != os.geteuid():
            sock.close()
            return
        c = Conn(sock, self.next)
        self.next += 2
        self.conns[c.stream] = c
        send(OPEN, c.stream, 0, b"forwarded %d" % self.number)

    def drop(self, c):
        c.sock.close()
        del self.conns[c.stream]
        try:
            send(RESET, c.stream, 0, b"closed there")
        except OSError:  # nobody is there any more
            pass

    def frame(self, kind, stream, channel, payload):
        """Handles one frame; false is the end."""
        c = self.conns.get(stream)
        if kind == BYE:
            return False
        if kind == PING:
            send(PONG)
        elif kind == OPEN:
            if payload == b"forward" and not self.asked:
                self.asked = stream
            else:
                send(RESET, stream, 0, b"it only forwards one socket")
        elif stream == self.asked and kind == DATA and channel == MESSAGES:
            self.request += payload
            credit(stream, channel, len(payload))
            if self.request.endswith(b"\n") and not self.number:
                self.begin()
        elif stream == self.asked and kind in (END, FIN, RESET) and self.number > 0:
            answer = self.end()
            if kind == END:
                self.say(answer)
                send(FIN, stream)
            self.number = -1
        elif c is None:
            pass
        elif kind == DATA:
            c.out += payload
        elif kind == CREDIT:
            c.room += struct.unpack(">I", payload)[0]
        elif kind in (END, FIN, RESET):
            c.over = True
        return True

    def frames(self):
        while len(buffered) >= 4:
            n = struct.unpack_from(">I", buffered)[0]
            if n < 6 or n > 6 + PAYLOAD:
                raise OSError("a frame of %d bytes" % n)
            if len(buffered) < 4 + n:
                break
            stream, kind, channel = struct.unpack_from(">IBB", buffered, 4)
            payload = bytes(buffered[10 : 4 + n])
            del buffered[: 4 + n]
            if not self.frame(kind, stream, channel, payload):
                return False
        return True

    def run(self):
        global heard
        while self.frames() and time.monotonic() - heard < LOST:
            poll, by = select.poll(), {}
            poll.register(0, select.POLLIN)
            for c in list(self.conns.values()):
                if c.over and not c.out:
                    self.drop(c)
                    continue
                if c.wants():  # else an end that has been seen would be told again and again
                    by[c.sock.fileno()] = c
                    poll.register(c.sock, c.wants())
            wait, listens = 5.0, self.listener is not None and len(self.conns) < MOST
            if listens and self.rests > time.monotonic():
                wait, listens = self.rests - time.monotonic(), False
            if listens:
                poll.register(self.listener, select.POLLIN)
            for fd, event in poll.poll(max(1, int(wait * 1000))):
                if fd == 0:
                    data = os.read(0, 1 << 20)
                    if not data:
                        return
                    heard = time.monotonic()
                    buffered.extend(data)
                elif fd not in by:
                    self.accept()
                else:
                    by[fd].ready(event)


def greet():
    """Says hello and skips that of the other side."""
    os.write(1, GREETING + b'{"version":1,"body":{}}\n')
    while GREETING not in buffered or b"\n" not in buffered[buffered.index(GREETING) :]:
        data = os.read(0, 1 << 16)
        if not data:
            sys.exit(0)
        buffered.extend(data)
    del buffered[: buffered.index(b"\n", buffered.index(GREETING)) + 1]


for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
    signal.signal(number, lambda *_: sys.exit(1))
bridge = Bridge()
try:
    greet()
    bridge.run()
except OSError as e:  # the outputs have gone, most likely
    os.write(2, ("%s\n" % e).encode("utf-8", "backslashreplace"))
finally:
    try:
        bridge.end()
    except OSError:
        pass
