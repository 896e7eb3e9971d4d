# Shows, before the script's first line, that what is written here arrives there and that the socket leads there and back; then it
# becomes the interpreter that runs the script. hermes waits for both before it answers.
import os
import sys

import _socket

MARK = b"@MARK@\n"


def frame(text):
    body = text.encode("utf-8")
    return len(body).to_bytes(4, "big") + body


def prove():
    os.write(1, MARK)
    os.write(2, MARK)
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    s.settimeout(@SECONDS@)
    s.connect(os.environ["HERMES_RPC_SOCKET"])
    s.sendall(frame('{"v":1,"token":"%s"}' % os.environ["HERMES_RPC_COOKIE"]) + frame('{"id":1,"tool":"@TOOL@","args":{}}'))
    answer = b""
    while not answer.endswith(b"}"):
        more = s.recv(4096)
        if not more:
            raise OSError("closed by Hermes")
        answer += more
    s.close()
    if b'"error"' in answer:
        raise OSError(answer[4:].decode("utf-8", "replace"))


try:
    os.unlink(sys.argv[0])
    prove()
    os.execv(sys.argv[1], sys.argv[1:])
except OSError as e:
    os.write(2, ("the way to Hermes and back: %s\n" % e).encode("utf-8", "backslashreplace"))
    os._exit(1)
