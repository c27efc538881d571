"""on_terminal.py COMMAND...: runs a command whose standard output is a terminal, passes on what it
wrote there, and ends with its status. Standard error is not the terminal's."""

import os
import pty
import subprocess
import sys

terminal, end_of_command = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=end_of_command)
os.close(end_of_command)
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:  # what Linux says when the other end is closed
        break
    if not data:
        break
    os.write(1, data)
sys.exit(process.wait())
