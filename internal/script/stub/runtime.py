# What follows needs nothing but interpreter internals until the first call: a project's own json.py, socket.py or types.py,
# first on the path for the script, must not come between a script and its tools.
import os as _os
import sys as _sys
from _thread import allocate_lock as _allocate_lock

_SOCKET = _os.environ.get("HERMES_RPC_SOCKET", "")
_COOKIE = _os.environ.get("HERMES_RPC_COOKIE", "")
_SCRIPT = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "script.py")
_IDLE_MAX = 8  # connections kept for the next call; a busy thread opens one more and closes it again


class HermesToolError(RuntimeError):
    """A tool call that failed: `tool` is its name, `result` the dict it returned, `type` the kind of failure."""

    def __init__(self, message="", tool="", result=None, type=""):
        super().__init__(message)
        self.tool = tool
        self.result = result if result is not None else {}
        self.type = type

    def __reduce__(self):
        return (HermesToolError, (str(self), self.tool, self.result, self.type))


class _Failure(dict):
    """The dict of a failed call; it also knows which tool failed and how, for check and retry."""

    __slots__ = ("tool", "type")

    def __reduce__(self):
        return (_failure, (dict(self), self.tool, self.type))


def _failure(result, tool, type):
    f = _Failure(result)
    f.tool, f.type = tool, type
    return f


# --- JSON ---

# Where modules are found ahead of the standard library: beside this file, in the session's directory, in a PYTHONPATH of old.
_AHEAD = {_os.path.dirname(_os.path.abspath(__file__)), *_os.environ.get("PYTHONPATH", "").split(_os.pathsep)}


def _standard_json():
    """The standard library's json with its decoder, past a json.py or re.py of the project. Which json the script has, or is going
    to get, is none of our business: that follows Python's own rule."""
    path, theirs = _sys.path[:], _sys.modules.pop("json", None)
    _sys.path[:] = [p for p in path if p not in _AHEAD]
    try:
        import json.decoder

        return json
    finally:
        _sys.path[:] = path
        if theirs is not None:
            _sys.modules["json"] = theirs
        elif any(_os.path.exists(_os.path.join(p, "json" + end)) for p in _AHEAD if p for end in ("", ".py")):
            _sys.modules.pop("json", None)


def _plain(o):
    path = getattr(o, "__fspath__", None)
    if path is not None:
        return _os.fspath(o)
    raise TypeError("an argument of a tool must be text, number, bool, list or dict, not " + type(o).__name__)


class _Scan:
    """What the scanner wants to know."""

    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float
    memo = {}

    def __init__(self, strict):
        self.strict = strict


def _accelerated():
    import _json

    quote = _json.encode_basestring
    enc = _json.make_encoder(None, _plain, quote, None, ":", ",", False, False, False)
    scan = _json.make_scanner(_Scan(True))
    lax = _json.make_scanner(_Scan(False))
    if "".join(enc({"a": [1, "x"]}, 0)) != '{"a":[1,"x"]}' or scan('{"a":[1.5]}', 0) != ({"a": [1.5]}, 11):
        raise ImportError("the JSON accelerator differs")
    return (lambda o: "".join(enc(o, 0))), (lambda s: scan(s, 0)[0]), lax


def _portable():
    json = _standard_json()
    lax = json.JSONDecoder(strict=False).scan_once
    return (
        lambda o: json.dumps(o, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        json.loads,
        lax,
    )


try:
    _dumps, _loads, _scan_lax = _accelerated()
except Exception:
    _dumps, _loads, _scan_lax = _portable()


class _TooLong(Exception):
    """A message beyond the limit; its argument is the size in bytes."""


def _frame(message):
    try:
        body = _dumps(message).encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates, as os.fsdecode makes them: sent as they are printed
        body = _dumps(message).encode("utf-8", "backslashreplace")
    if len(body) > _MAX_MESSAGE:
        raise _TooLong(len(body))
    return len(body).to_bytes(4, "big") + body


# --- one call ---


def _line():
    f = _sys._getframe(3)
    for _ in range(64):
        if f is None:
            break
        if f.f_code.co_filename == _SCRIPT:
            return f.f_lineno
        f = f.f_back
    return 0


def _request(tool, args):
    args = {k: v for k, v in args.items() if v is not None}
    return {"tool": tool, "args": args, "line": _line()}


def _too_long(tool, size):
    return _finish(
        tool,
        {
            "result": {
                "error": "The arguments are %d bytes long; one message holds at most %d (code_execution.max_message_bytes). "
                "Pass less at a time, or write it to a file and pass the path." % (size, _MAX_MESSAGE)
            },
            "type": "message_too_long",
        },
    )


def _lost(tool, why):
    text = "the channel to Hermes is lost: " + why
    return HermesToolError(text, tool, {"error": text}, "channel")


def _finish(tool, answer):
    if "fault" in answer:
        raise _lost(tool, str(answer["fault"]))
    result = answer.get("result")
    if not isinstance(result, dict):
        return result
    for k in [k for k, v in result.items() if v is None]:
        del result[k]
    if result.get("error"):
        result = _failure(result, tool, answer.get("type", "tool_error"))
        if _raising():
            raise HermesToolError(_text(result), tool, result, result.type)
    return result


def _text(result):
    e = result["error"]
    return e if isinstance(e, str) else str(e)


# --- sync ---


class _Conn:
    """One connection, used by one call at a time."""

    __slots__ = ("sock", "id", "left", "__weakref__")

    def __init__(self):
        import _socket

        if not _SOCKET:
            raise HermesToolError(_OUTSIDE, type="channel")
        self.id = 0
        self.left = b""
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self.sock.settimeout(None)
            self.sock.connect(_SOCKET)
        except BaseException:
            self.sock.close()
            raise
        _open.add(self)

    def close(self):
        _open.discard(self)
        self.sock.close()

    def exchange(self, request):
        """Returns the answer, or None if the parent had let go of the connection before it read the request."""
        self.id += 1
        request["id"] = self.id
        data = _frame(request)
        if self.id == 1:
            data = _frame({"v": 1, "token": _COOKIE, "serial": True}) + data
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            if self.id == 1:
                raise
        answer = self.receive()
        while answer is not None and answer.get("id") != self.id:
            answer = self.receive()
        return answer

    def receive(self):
        buf = self.left or self.sock.recv(65536)
        while 0 < len(buf) < 4:
            more = self.sock.recv(65536)
            buf = buf + more if more else b""
        if not buf:
            raise ConnectionResetError("closed by Hermes")
        n = int.from_bytes(buf[:4], "big")
        if len(buf) >= n + 4:
            text = str(memoryview(buf)[4 : n + 4], "utf-8")
            self.left = buf[n + 4 :]
        else:
            whole = bytearray(n)
            have = len(buf) - 4
            whole[:have] = memoryview(buf)[4:]
            view = memoryview(whole)
            while have < n:
                k = self.sock.recv_into(view[have:])
                if k == 0:
                    raise ConnectionResetError("closed by Hermes")
                have += k
            text = str(whole, "utf-8")
            self.left = b""
        answer = _loads(text)
        return None if "bye" in answer else answer


_idle = []
_open = set()


def _call(tool, args):
    request = _request(tool, args)
    while True:
        try:
            conn = _idle.pop()
        except IndexError:
            try:
                conn = _Conn()
            except OSError as e:
                raise _lost(tool, str(e)) from None
        try:
            answer = conn.exchange(request)
        except _TooLong as e:
            conn.close()
            return _too_long(tool, e.args[0])
        except OSError as e:
            conn.close()
            raise _lost(tool, str(e)) from None
        except BaseException:
            conn.close()
            raise
        if answer is None:  # nothing was read of the request: ask again on a new connection
            conn.close()
            continue
        if len(_idle) < _IDLE_MAX and not conn.left:
            _idle.append(conn)
        else:
            conn.close()
        return _finish(tool, answer)


def _forget():
    """In a forked child: the parent's connections are the parent's."""
    global _idle, _open, _aio_conns
    old, _idle, _open, _aio_conns = _open, [], set(), {}
    for c in list(old):
        try:
            c.sock.close()
        except Exception:
            pass


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_forget)


# --- raise_errors, helpers ---

_raise_always = False
_raise_here = None


def _raising():
    if _raise_always:
        return True
    return _raise_here is not None and _raise_here.get(False)


class _RaiseErrors:
    def __init__(self):
        global _raise_always, _raise_here
        if _raise_here is None:
            from _contextvars import ContextVar

            _raise_here = ContextVar("hermes_raise_errors")
        self.before = _raise_always
        _raise_always = True

    def __enter__(self):
        global _raise_always
        _raise_always = self.before
        self.token = _raise_here.set(True)
        return self

    def __exit__(self, *exc):
        _raise_here.reset(self.token)


def raise_errors():
    """From now on a failed call raises HermesToolError; `with raise_errors():` does so inside the block only."""
    return _RaiseErrors()


def check(result):
    """Returns result, or raises HermesToolError if it is that of a failed call."""
    if isinstance(result, dict) and result.get("error"):
        raise HermesToolError(
            _text(result), getattr(result, "tool", ""), result, getattr(result, "type", "tool_error")
        )
    return result


def json_parse(text):
    """Parses JSON, raw line breaks and other control characters in strings allowed. A dict or list comes back as it is."""
    if isinstance(text, (dict, list)):
        return text
    if isinstance(text, (bytes, bytearray)):
        text = text.decode("utf-8")
    if not isinstance(text, str):
        raise TypeError("json_parse wants text, not " + type(text).__name__)
    blank = " \t\n\r\ufeff"
    start = len(text) - len(text.lstrip(blank))
    if "json.decoder" not in _sys.modules:  # the scanner takes its exception from there
        try:
            _standard_json()
        except Exception:
            pass
    try:
        value, end = _scan_lax(text, start)
    except StopIteration as e:
        raise ValueError("no JSON value at character %d" % e.value) from None
    except (SystemError, ImportError, AttributeError):  # there is none: modules that it needs are the project's
        raise ValueError("not JSON") from None
    if text[end:].strip(blank):
        raise ValueError("text after the JSON value, from character %d" % end)
    return value


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def shell_quote(s):
    """Quotes s so that a shell reads it as one word."""
    s = _os.fspath(s) if hasattr(s, "__fspath__") else str(s)
    if s and _SAFE.issuperset(s):
        return s
    return "'" + s.replace("'", "'\"'\"'") + "'"


_FINAL = ("approval_denied", "invalid_arguments", "call_limit", "unknown_tool", "tool_scope_block", "terminal_only")


def _again(type, result):
    return type not in _FINAL and not (isinstance(result, dict) and result.get("denied"))


def _retry_wants(value):
    return isinstance(value, dict) and bool(value.get("error")) and _again(getattr(value, "type", ""), value)


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it neither raises nor returns a failed call's result; the delay in seconds doubles each time."""
    from time import sleep

    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(1, max_attempts + 1):
        try:
            value = fn()
        except HermesToolError as e:
            if attempt == max_attempts or not _again(e.type, e.result):
                raise
        except Exception:
            if attempt == max_attempts:
                raise
        else:
            if attempt == max_attempts or not _retry_wants(value):
                return value
        sleep(delay)
        delay *= 2


# --- aio: one connection for each event loop, no thread ---


class _AioConn:
    def __init__(self, loop):
        self.loop = loop
        self.id = 0
        self.pending = {}
        self.buf = bytearray()
        self.want = -1
        self.broken = None
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        transport.write(_frame({"v": 1, "token": _COOKIE}))

    def data_received(self, data):
        buf = self.buf
        buf += data
        pos = 0
        while True:
            if self.want < 0:
                if len(buf) - pos < 4:
                    break
                self.want = int.from_bytes(buf[pos : pos + 4], "big")
                pos += 4
            if len(buf) - pos < self.want:
                break
            with memoryview(buf) as whole:
                text = str(whole[pos : pos + self.want], "utf-8")
            pos += self.want
            self.want = -1
            self.answered(_loads(text))
        if pos:
            del buf[:pos]

    def answered(self, answer):
        if "bye" in answer:
            self.fail(None)
            return
        f = self.pending.pop(answer.get("id"), None)
        if f is not None and not f.done():
            f.set_result(answer)

    def fail(self, why):
        """why None: the parent read none of what is pending, so it is asked again."""
        self.broken = why or "closed"
        pending, self.pending = self.pending, {}
        for f in pending.values():
            if not f.done():
                f.set_result(None if why is None else {"fault": why})
        if self.transport is not None:
            self.transport.close()

    def eof_received(self):
        return False

    def connection_lost(self, exc):
        self.fail(str(exc) if exc else "closed by Hermes")

    def pause_writing(self):
        pass

    def resume_writing(self):
        pass


_aio_conns = {}


async def _aio_connect(loop):
    if not _SOCKET:
        raise HermesToolError(_OUTSIDE, type="channel")
    _, conn = await loop.create_unix_connection(lambda: _AioConn(loop), _SOCKET)
    return conn


async def _aio_conn(asyncio):
    loop = asyncio.get_running_loop()
    task = _aio_conns.get(id(loop))
    if task is None or task[0] is not loop or (task[1].done() and _aio_dead(task[1])):
        for key in [k for k, (old, _) in _aio_conns.items() if old.is_closed()]:
            del _aio_conns[key]
        task = _aio_conns[id(loop)] = (loop, loop.create_task(_aio_connect(loop)))
    return await asyncio.shield(task[1])


def _aio_dead(task):
    return task.cancelled() or task.exception() is not None or task.result().broken is not None


async def _acall(tool, args):
    import asyncio

    request = _request(tool, args)
    while True:
        try:
            conn = await _aio_conn(asyncio)
        except OSError as e:
            raise _lost(tool, str(e)) from None
        conn.id += 1
        id = request["id"] = conn.id
        try:
            data = _frame(request)
        except _TooLong as e:
            return _too_long(tool, e.args[0])
        if conn.broken is not None:
            continue
        future = conn.pending[id] = conn.loop.create_future()
        conn.transport.write(data)
        try:
            answer = await future
        except BaseException:
            if conn.pending.pop(id, None) is not None and conn.broken is None:
                conn.transport.write(_frame({"cancel": id}))
            raise
        if answer is not None:
            return _finish(tool, answer)


async def _aretry(fn, max_attempts=3, delay=2):
    """Awaits fn() until it neither raises nor gives a failed call's result; the delay in seconds doubles each time."""
    import asyncio

    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(1, max_attempts + 1):
        try:
            value = await fn()
        except HermesToolError as e:
            if attempt == max_attempts or not _again(e.type, e.result):
                raise
        except Exception:
            if attempt == max_attempts:
                raise
        else:
            if attempt == max_attempts or not _retry_wants(value):
                return value
        await asyncio.sleep(delay)
        delay *= 2


# --- names ---

_HELPERS = ("json_parse", "shell_quote", "retry", "check", "raise_errors", "HermesToolError")


def _missing(name, module="hermes_tools"):
    if name[:2] == "__":
        raise AttributeError("module %r has no attribute %r" % (module, name))
    why = _REASONS.get(name, "there is no such tool or helper")
    raise ImportError(
        "cannot import %r from %s: %s. What can be imported: %s"
        % (name, module, why, ", ".join(__all__)),
        name=module,
    )


def __getattr__(name):
    _missing(name)
