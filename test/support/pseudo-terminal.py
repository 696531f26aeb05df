"""Runs a command on a pseudo-terminal: SIZES COMMAND...

SIZES is a list such as 160x40,80x24: the first is the size at the start, and each other one is set when the command has written its next
progress. Everything that the command writes goes to standard output, with a line of JSON after it: its exit code.
"""

import fcntl
import json
import os
import pty
import struct
import sys
import termios

sizes = [tuple(int(n) for n in size.split("x")) for size in sys.argv[1].split(",")]


def resize(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


# The size is set before the command starts.
start, go = os.pipe()
child, terminal = pty.fork()
if child == 0:
    os.read(start, 1)
    os.execvp(sys.argv[2], sys.argv[2:])
resize(terminal, *sizes.pop(0))
os.write(go, b"x")
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        data = b""
    if not data:
        break
    os.write(1, data)
    if sizes and b"\x1b[J" in data:
        columns, rows = sizes.pop(0)
        os.write(1, b"\x00SIZE %d\x00" % columns)
        resize(terminal, columns, rows)
_, status = os.waitpid(child, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)
