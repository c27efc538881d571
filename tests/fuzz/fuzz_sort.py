# SPDX-License-Identifier: Apache-2.0
"""Runs gpusort and sort(1) with the same options on the same lines, and compares what they say.

  fuzz_sort.py --rounds N [--seed S]     N rounds; the same seed gives the same rounds
  fuzz_sort.py --forever [--seed S]      until it is stopped
  fuzz_sort.py --seed S --first K --rounds 1    round K again

A round is a set of options and some inputs (fuzz_case.py), made by a generator of random numbers that is
seeded with S and the number of the round, so that a round is the same whatever ran before it.
Standard output, the file of -o, the exit status and the line of -c must be those of sort(1) in the
C locale. Of a mismatch, the smallest input and the fewest options that still show it are looked
for, and printed as commands of the shell.

Left out is what is known to differ, between versions of sort(1) as well: more than one NaN; the
suffixes R and Q of -h where the local sort(1) does not know them; and the byte 0x80 where it is
skipped within the numbers of -n, as before version 9.5: sort(1) said that there is no separator of
thousands by a value that is out of the range of char, but not of unsigned char.

$GPUSORT is the program under test, by default build/gpusort.
"""

import argparse
import collections
import contextlib
import dataclasses
import multiprocessing
import os
import random
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import wait

sys.dont_write_bytecode = True  # nothing is left in tests/fuzz/
from fuzz_case import (SORT, cut_headers, expected_output, is_action, is_order_of_sort,
                       known_paths, lines_of, make_case, stdin_of, vary_ends, vary_for_device, vary_lines,
                       words_of, words_of_gpusort, words_of_sort)  # fmt: skip
from zstd_frames import compress_oddly

PIPE_BYTES = 60000  # what a pipe takes before anyone reads it
TIME_LIMIT_S = 20  # of sort(1)
OWN_LIMIT_S = 240  # of gpusort, as a stand-in for a GPU is slow
MISMATCH = 3  # the status of a process that found one
SHRINK_TIME_S = 30

# ---- running it ----------------------------------------------------------------------------------

Result = collections.namedtuple("Result", "status output said")


class Server:
    """A process that runs gpusort again and again (tests/many_runs.c), so that CUDA starts once."""

    def __init__(self, program, environment):
        self.program = program
        self.environment = environment
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program], env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip

    def stop(self):
        """What it ended with; it is started again when it is wanted."""
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return status

    def run(self, words, stdin):
        """The status of a run, or how the server ended in it."""
        if self.process is None:
            self.start()
        request = [stdin, b"stdout", b"stderr", b"%d" % (len(words) + 1), b"gpusort", *words]
        try:
            self.process.stdin.write(b"".join(word + b"\0" for word in request))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died, and its output is at its end
        if not select.select([self.process.stdout], [], [], OWN_LIMIT_S)[0]:
            self.stop()
            return "none after %d s" % OWN_LIMIT_S
        answer = self.process.stdout.readline()
        if answer:
            return int(answer)
        self.process.wait()
        return "none: the server died (%d)" % self.stop()


class Runner:
    """Runs cases in a directory of its own, which becomes the current one."""

    def __init__(self, gpusort, server, gpusort_options, directory):
        self.gpusort = gpusort
        self.gpusort_options = gpusort_options
        # Active waiting is slow if there are more threads than processors.
        self.environment = {**os.environ, "LC_ALL": "C", "TMPDIR": "temporary"}
        self.environment.setdefault("OMP_WAIT_POLICY", "passive")
        self.server = Server(server, self.environment) if server else None
        self.unanswered = 0  # comparisons for which sort(1) took too long
        os.mkdir(directory)
        os.chdir(directory)
        os.mkdir("temporary")

    def spawn(self, program, words, stdin):
        """Runs a program with the file or, as bytes, what is in a pipe on its standard input."""
        limit_s = TIME_LIMIT_S if program == SORT else OWN_LIMIT_S
        with contextlib.ExitStack() as files:
            streams = {"stdout": files.enter_context(open("stdout", "wb")), "stderr": files.enter_context(open("stderr", "wb"))}
            if isinstance(stdin, bytes):
                streams["input"] = stdin
            else:
                streams["stdin"] = files.enter_context(open(stdin, "rb"))
            try:
                status = subprocess.run([os.path.basename(program), *words], executable=program, env=self.environment,
                                        timeout=limit_s, check=False, **streams).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                status = "none after %d s" % limit_s
        return self.result(status)

    def serve(self, words, stdin):
        """As spawn, by the server if there is one."""
        if self.server is None or (isinstance(stdin, bytes) and len(stdin) > PIPE_BYTES):
            return self.spawn(self.gpusort, words, stdin)
        if isinstance(stdin, bytes):
            write_file("piped", stdin)
            stdin = "|piped"
        return self.result(self.server.run(words, stdin.encode()))

    def result(self, status):
        """The status is a text if the program left temporary files."""
        left = os.listdir("temporary") + [name for name in os.listdir() if name.startswith(".gpusort-")]
        for name in left:
            status = "%s, but %s is left" % (status, name)
            os.remove(os.path.join("temporary", name) if name[0] != "." else name)
        return Result(status, read_file("stdout"), read_file("stderr"))

    def prepared_inputs(self, case):
        """The inputs as the programs get them."""
        if not case.is_presorted:
            return case.inputs
        prepared = []
        for text in case.inputs:
            write_file("in0", text)
            words = [word for unit in case.units for word in unit.words if not is_action(unit)]
            text = self.spawn(SORT, words + [b"in0"], "/dev/null").output
            lines = text.split(case.terminator)[:-1]
            if case.disturbed_at is not None and len(lines) > 1:
                at = int(case.disturbed_at * (len(lines) - 1))
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
                text = b"".join(line + case.terminator for line in lines)
            prepared.append(text)
        return prepared

    def run_one(self, program, options, case, inputs):
        """What the program makes of it, or the server where there is none; what it writes with -o
        counts as standard output."""
        for i, text in enumerate(inputs):
            write_file("in%d" % i, text)
        if case.output == "out":
            write_file("out", b"the old output")
        words, stdin = options + words_of(case, len(inputs)), stdin_of(case, inputs)
        result = self.spawn(program, words, stdin) if program else self.serve(words, stdin)
        if case.output:
            result = result._replace(output=result.output + b"|" + read_file(case.output))
        return result

    def compare(self, case):
        """None, or what the two programs say where it differs, and the inputs."""
        inputs = self.prepared_inputs(case)
        if case.delivery == "names":
            write_file("names", b"".join(b"in%d\0" % i for i in range(len(inputs))))
        header, data = cut_headers(case, inputs)
        if case.header:
            inputs = [header + text for text in data]
        expected = self.run_one(SORT, words_of_sort(case), case, data)
        if not isinstance(expected.status, int):  # strtold(3) takes minutes for some lines
            self.unanswered += 1
            return None
        expected = expected._replace(output=expected_output(case, header, data, expected.output))
        if case.packing:
            inputs = [compress_oddly(random.Random(case.packing + i), text) for i, text in enumerate(inputs)]
        options = [] if case.action else self.gpusort_options + case.device_words
        # Invalid words may end the process that reads them, so such a job gets its own process.
        program = None if self.server and expected.status != 2 else self.gpusort
        got = self.run_one(program, options + words_of_gpusort(case), case, inputs)
        if agree(expected, got):
            return None
        return expected, got, inputs


def as_shown(said):
    """A line that sort(1) shows with -c, as gpusort shows it: controls and what is no UTF-8 are ?s."""
    text, end = said[:-1].decode("utf-8", "surrogateescape"), said[-1:]
    shown = ("?" if c not in "\t\0" and (c < " " or "\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000") else c for c in text)
    return "".join(shown).encode() + end


def agree(expected, got):
    if expected.status == 2:  # the words of an error are one's own
        said = got.said.partition(b"\nTry ")[0].rstrip(b"\n")  # getopt_long(3) adds a second line
        return got.status == 2 and said.startswith(b"gpusort: ") and b"\n" not in said
    if got.status != expected.status or got.output != expected.output:
        return False
    said = expected.said
    return got.said == (b"gpu" + as_shown(said) if said.startswith(b"sort: ") else said)


def write_file(name, text):
    with open(name, "wb", buffering=0) as file:
        file.write(text)


def read_file(name):
    with open(name, "rb", buffering=0) as file:
        return file.read()


# ---- a mismatch ----------------------------------------------------------------------------------


def without_some(parts):
    """The parts without half of them, without a quarter, and so on, down to one."""
    size = len(parts) // 2 or 1
    while size and parts:
        yield from (parts[:at] + parts[at + size :] for at in range(0, len(parts), size))
        size //= 2


def smaller_cases(case):
    """Cases with less of it, those with the least first."""
    for name in "inputs", "units":
        for parts in without_some(getattr(case, name)):
            yield dataclasses.replace(case, **{name: parts})
    for change in ({"packing": 0}, {"repeated": None}, {"argsort": b""}, {"output": ""}, {"delivery": "files"},
                   {"header": 0}, {"top": 0}, {"device_words": []}, {"is_presorted": False, "action": ""}):  # fmt: skip
        yield dataclasses.replace(case, **change)
    for parts_of in (lambda text: lines_of(text, case.terminator)), (lambda text: [text[k : k + 1] for k in range(len(text))]):
        for i, text in enumerate(case.inputs):
            for parts in without_some(parts_of(text)):
                yield dataclasses.replace(case, inputs=case.inputs[:i] + [b"".join(parts)] + case.inputs[i + 1 :])


def shrink(runner, case):
    """The case with less that still shows a mismatch: parts are left out for as long as that goes."""
    end = time.monotonic() + SHRINK_TIME_S
    fewer = case
    while fewer is not None:
        case = fewer
        fewer = next((other for other in smaller_cases(case) if time.monotonic() < end and other != case and
                      other.in_domain() and runner.compare(other) is not None), None)  # fmt: skip
    return case


def in_printf(text):
    """As a format of printf(1), in quotes."""
    said = [chr(byte) if 32 <= byte < 127 and byte not in b"\\%'" else "\\n" if byte == 10 else "\\%03o" % byte
            for byte in text]  # fmt: skip
    return "'" + "".join(said) + "'"


def in_shell(word):
    if all(32 <= byte < 127 for byte in word):
        return shlex.quote(word.decode())
    return "$" + in_printf(word)


def in_report(text):
    said = in_printf(text)
    return said if len(said) < 2000 else said[:2000] + "... (%d bytes)" % len(text)


def report(number, seed, arguments, case, found):
    """What to do to see it, what was expected, and what came."""
    expected, got, inputs = found
    lines = ["mismatch in round %d of seed %d; again with" % (number, seed)]
    lines.append("  tests/fuzz/fuzz_sort.py --seed %d --first %d --rounds 1%s" % (seed, number, arguments))
    for i, text in enumerate(inputs):
        lines.append("printf %s >in%d" % (in_report(text), i))
    words = " ".join(in_shell(word) for word in words_of(case, len(inputs)))
    if case.delivery == "names":
        lines.append("printf '%s' >names" % "".join("in%d\\0" % i for i in range(len(inputs))))
    feed = {"input": " <in0", "pipe": " < <(cat in0)"}.get(case.delivery, "")
    options = "".join(" " + word.decode() for word in words_of_sort(case))
    beside = " # the header, --top and --argsort beside it" if case.header or case.top or case.argsort else ""
    beside += " # of what zstd -dc makes of each input" if case.packing else ""
    lines.append("LC_ALL=C sort%s %s%s%s" % (options, words, feed, beside))
    lines.append("  status %s, %s" % (expected.status, in_report(expected.output)))
    if expected.said:
        lines.append("  says %s" % in_report(expected.said))
    options = "".join(" " + word.decode() for word in case.device_words + words_of_gpusort(case))
    lines.append("gpusort%s%s %s%s" % (arguments, options, words, feed))
    lines.append("  status %s, %s" % (got.status, in_report(got.output)))
    if got.said:
        lines.append("  says %s" % in_report(got.said))
    return "\n".join(lines) + "\n"


# ---- all of it -----------------------------------------------------------------------------------


def work(settings, which, directory, counts):
    """One of several processes: every --jobs-th round, in a directory of its own, up to a mismatch."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()
    gpusort_options = [option.encode() for option in settings.gpusort_options]
    runner = Runner(settings.gpusort, settings.server, gpusort_options, os.path.join(directory, str(which)))
    number = settings.first + which
    while number < settings.first + settings.rounds and os.getppid() == parent:
        text = settings.try_round(settings, runner, number)
        with counts.get_lock():
            counts[0] += 1
            counts[1] += runner.unanswered
        runner.unanswered = 0
        if text:
            print(text, flush=True)
            sys.exit(MISMATCH)
        number += settings.jobs


def try_round(settings, runner, number):
    """None, or what there is to say of a mismatch."""
    rng = random.Random(settings.seed << 40 | number)
    case = make_case(rng, settings)
    if settings.paths:
        vary_for_device(rng, case, settings.paths)
    vary_ends(rng, case)
    vary_lines(rng, case)
    found = runner.compare(case)
    if found is None:
        return None
    case = shrink(runner, case)
    arguments = "".join(" " + option for option in settings.gpusort_options)
    return report(number, settings.seed, arguments, case, runner.compare(case) or found)


def run_workers(settings, directory):
    """Returns how many rounds there were, whether one was a mismatch, and in how many sort(1) took too
    long to compare with."""
    counts = multiprocessing.Array("q", 2)
    workers = [multiprocessing.Process(target=work, args=(settings, i, directory, counts), daemon=True)
               for i in range(settings.jobs)]  # fmt: skip
    start = time.monotonic()
    try:
        for worker in workers:
            worker.start()
        # An empty list would wait for the whole time.
        while (alive := [worker.sentinel for worker in workers if worker.is_alive()]) and \
                not any(worker.exitcode for worker in workers):
            wait(alive, timeout=60)
            if settings.forever:
                print("%d rounds, %.0f rounds/s" % (counts[0], counts[0] / (time.monotonic() - start)), flush=True)
        statuses = {worker.exitcode for worker in workers if worker.exitcode}
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    if statuses - {MISMATCH}:
        sys.exit("fuzz_sort.py: it died after %d rounds" % counts[0])
    return counts[0], len(statuses), counts[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares gpusort with sort(1) on random lines and options.")
    parser.add_argument("--rounds", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first round (0)")
    parser.add_argument("--forever", action="store_true", help="until stopped, --rounds or not")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one for each processor)")
    parser.add_argument("--server", help="runs gpusort many times in one process: build/tests/many_runs")
    parser.add_argument("--numbers", action="store_true", help="arrays, compared with NumPy, instead of lines")
    parser.add_argument("--largest", type=float, help="arrays up to that many bytes, for --numbers")
    parser.add_argument("--device", help="for gpusort: auto, cpu, gpu, gpu:0,1")
    return parser.parse_args()


def main():
    settings = parse_arguments()
    here = os.path.dirname(os.path.abspath(__file__))
    settings.gpusort = os.path.abspath(os.environ.get("GPUSORT") or os.path.join(here, "../../build/gpusort"))
    if SORT is None or not os.access(settings.gpusort, os.X_OK):
        sys.exit("fuzz_sort.py: no %s" % (settings.gpusort if SORT else "sort(1)"))
    settings.server = os.path.abspath(settings.server) if settings.server else None
    settings.gpusort_options = ["--device=" + settings.device] if settings.device else []
    settings.paths = known_paths(settings.gpusort) if settings.device == "gpu" else []
    settings.knows_ronna = is_order_of_sort("-h", b"2Y\n1R\n")
    settings.parts_at_0x80 = is_order_of_sort("-n", b"2\n\x8011\n")
    settings.try_round = try_round
    if settings.numbers:
        from fuzz_numbers import try_round as try_numbers  # NumPy is needed for these alone

        settings.try_round = try_numbers
    settings.jobs = max(1, settings.jobs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("fuzz_sort.py: terminated"))
    start = time.monotonic()
    if settings.forever:
        settings.rounds = float("inf")
    try:
        with tempfile.TemporaryDirectory(prefix="gpusort-fuzz.") as directory:
            rounds, mismatches, unanswered = run_workers(settings, directory)
    except KeyboardInterrupt:
        sys.exit("fuzz_sort.py: stopped")
    speed = rounds / (time.monotonic() - start)
    said = ", %d not compared, as sort(1) took more than %d s" % (unanswered, TIME_LIMIT_S) if unanswered else ""
    print("seed %d: %d rounds, %d mismatches%s, %.0f rounds/s" % (settings.seed, rounds, mismatches, said, speed))
    if mismatches:
        sys.exit(1)


if __name__ == "__main__":
    main()
