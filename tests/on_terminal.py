# SPDX-License-Identifier: Apache-2.0
"""on_terminal.py [--stdin] [--stderr] COMMAND...: runs a command whose standard output is a terminal,
passes on what it wrote there, and ends with its status. With options, standard input or error is the
terminal instead. With --stdin somebody thinks for a while, and then types a line and its end."""

import os
import pty
import subprocess
import sys
import time

command = sys.argv[1:]
streams = []
while command[0] in ("--stdin", "--stderr"):
    streams.append(command.pop(0)[2:])
terminal, end_of_command = pty.openpty()
process = subprocess.Popen(command, **{name: end_of_command for name in streams or ["stdout"]})
os.close(end_of_command)
if "stdin" in streams:
    time.sleep(1.5)
    os.write(terminal, b"1\n\x04")
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:  # what Linux says when the other end is closed
        break
    if not data:
        break
    os.write(1, data)
sys.exit(process.wait())
