# SPDX-License-Identifier: Apache-2.0
"""Runs gpusort again and again, and each time one call that it makes fails.

  faults.py [--all] [--only WORD] calls LIBRARY    calls of the C library, by fault_library.c
  faults.py [--all] [--only WORD] cuda             calls of CUDA, by the stand-in (tests/simt)
  faults.py [--all] [--only WORD] device           the same of a real device, by cuda_faults.cu

A job (fault_jobs.py) is a command, its inputs, and what it must write. It is first run as it is, and
the calls of each function are counted. Then it is run with the first call failing, with the second,
and so on; and with all from the middle one on. Of many calls one is chosen, which differs from
job to job, and of CUDA's also the first; it fails in one way (--all: every call fails in every way).
Where threads race for the call that fails, every call does, several times.
Each run must end in one of two ways, in time and by no signal:

  status 2, with one line on standard error that names the cause, and the old output as it was; of
    a file that is sorted in place, it may be another if the line says so
  the status and the output of the run in which nothing failed

and leave no file behind. A call that was interrupted, or did only a part, is no failure: there, and
where a function does no more than give advice, only the second way will do. Where what was written
may be lost though it can be read now, only the first.

Prints TAP, a claim for each job whose name has WORD in it. $GPUSORT is the program under test.
--keep leaves the directories with the inputs, and names them.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile

import fault_jobs

TIME_LIMIT_S = 60
OLD_OUTPUT = b"the old output\n"
PROBLEMS_SHOWN = 12
WORKERS_MAX = 8

# ---- what fails, and how -------------------------------------------------------------------------

# The errors of each function. Functions that are not listed fail with EIO.
ERRORS = {
    "read": ["EIO", "EINTR", "short"],
    "pread": ["EIO", "EINTR", "short"],
    "write": ["ENOSPC", "EINTR", "short"],
    "pwrite": ["EDQUOT", "EINTR", "short"],
    **dict.fromkeys(("open", "openat", "fopen", "fcntl", "eventfd"), ["EMFILE"]),
    "fallocate": ["ENOSPC", "EOPNOTSUPP", "EINTR"],
    "madvise": ["ENOMEM", "EINVAL"],
    **dict.fromkeys(("mmap", "mremap", "munmap", "mprotect", "malloc", "calloc", "realloc",
                     "reallocarray", "aligned_alloc"), ["ENOMEM"]),
    "pthread_create": ["EAGAIN"],
    "omp_thread": ["EAGAIN"],
}
TRANSIENT = ["EINTR", "short"]
MAY_LOSE = ["close_output", "fdatasync"]
ADVICE = ["close", "posix_fadvise", "getrlimit", "setrlimit", "fstatfs", "statx", "flistxattr",
          "fgetxattr", "fsetxattr", "fremovexattr", "fclose", "syncfs", "getrandom", "splice"]

CUDA_MESSAGES = {
    "cudaErrorMemoryAllocation": re.compile(rb"out of memory"),
    "cudaErrorLaunchFailure": re.compile(rb"unspecified launch failure"),
}


@dataclasses.dataclass(frozen=True)
class Fault:
    """Call number `call` of a function, and maybe all that follow, fail in a way, `how`."""

    function: str
    call: int
    how: str
    is_lasting: bool = False

    def __str__(self):
        return f"{self.function}:{self.call}{'+' if self.is_lasting else ''}:{self.how}"

    def must_do_no_harm(self):
        return self.how in TRANSIENT or self.function in ADVICE


class CallFaults:
    """Faults of the calls of the C library."""

    device = "cpu"

    def __init__(self, library):
        self.library = os.path.abspath(library)

    def environment(self, fault, counts):
        """Without a fault, calls are counted into the file `counts`."""
        added = {"LD_PRELOAD": self.library}
        if fault:
            how = fault.how if fault.how == "short" else getattr(errno, fault.how)
            added["FAULT"] = str(dataclasses.replace(fault, how=how))
        else:
            added["FAULT_CALLS"] = counts
        return added

    def ways(self, function):
        return ERRORS.get(function, ["EIO"])

    def cause(self, fault):
        """What the message says of the cause."""
        if fault.function == "omp_thread":
            return re.compile(rb"ended by OpenMP")
        if fault.how == "ENOMEM":
            return re.compile(rb"memory")
        return re.compile(re.escape(os.strerror(getattr(errno, fault.how)).encode()))

    def can_last(self, how):
        return how != "EINTR"

    def message(self, fault, err):
        """Of standard error, what is ours: the OpenMP library writes as well."""
        return err.split(b"libgomp: Thread creation failed", 1)[-1].split(b"\n", 1)[-1] \
            if fault.function == "omp_thread" else err


class CudaFaults:
    """Faults of the calls of CUDA."""

    device = "gpu"

    def environment(self, fault, counts):
        added = {"SIMT_FAIL": str(fault)} if fault else {"SIMT_CALLS": counts}
        return {"SIMT_DEVICES": "2", **added}

    def ways(self, function):
        return ["cudaErrorLaunchFailure"] if function == "kernel" else list(CUDA_MESSAGES)

    def cause(self, fault):
        return CUDA_MESSAGES[fault.how]

    def can_last(self, _how):
        return False

    def message(self, _fault, err):
        return err


# ---- a run, and what is wrong with it ------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    status: int  # None: it hung
    out: bytes  # standard output
    err: bytes


class Place:
    """A directory for the runs of a job: its inputs, place/ for the output, and tmp/."""

    def __init__(self, job, program, device):
        self.job = job
        self.words = [program, f"--device={device}", *job.words]
        if not job.to_pipe and not job.is_in_place:
            self.words += ["-o", "place/out"]
        self.path = tempfile.mkdtemp(prefix="gpusort-faults.", dir=job.directory)
        self.output = os.path.join(self.path, "place/out")
        for name in ["place", "tmp"]:
            os.mkdir(os.path.join(self.path, name))
        for name, data in job.inputs.items():
            self.write(name, data)
        self.old = None if job.is_new else job.inputs.get("place/out", OLD_OUTPUT)
        self.restore()
        self.files = self.list()

    def write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def read_output(self):
        """The bytes of place/out; None if there is no such file."""
        if not os.path.exists(self.output):
            return None
        with open(self.output, "rb") as file:
            return file.read()

    def restore(self):
        if self.old is not None:
            self.write("place/out", self.old)
        elif os.path.exists(self.output):
            os.unlink(self.output)

    def list(self):
        found = []
        for parent, _, names in os.walk(self.path):
            found += [os.path.relpath(os.path.join(parent, name), self.path) for name in names]
        return sorted(found)

    def run(self, added):
        """With what is added to the environment."""
        options = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        if self.job.is_named:
            options["FAULT_NAMED"] = "yes"
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": "1000",
                       "TMPDIR": os.path.join(self.path, "tmp"), **options, **added}
        with tempfile.TemporaryFile(dir=self.path) as file:
            try:
                done = subprocess.run(
                    self.words, cwd=self.path, env=environment, input=self.job.standard_input,
                    stdout=file if self.job.to_file else subprocess.PIPE, stderr=subprocess.PIPE,
                    timeout=TIME_LIMIT_S, check=False)
            except subprocess.TimeoutExpired as expired:
                return Outcome(None, expired.stdout or b"", expired.stderr or b"")
            file.seek(0)
            return Outcome(done.returncode, done.stdout or file.read(), done.stderr)

    def written(self, outcome):
        """The bytes that came out, decompressed."""
        data = outcome.out if self.job.to_pipe else self.read_output()
        if not self.job.is_zstd:
            return data
        try:
            return fault_jobs.zstd1(["-d"], data)
        except subprocess.CalledProcessError:
            return b"not zstd"


def problems_of_success(place, outcome, fault):
    job = place.job
    if fault and fault.function in MAY_LOSE:
        yield "it goes on though what it wrote may be lost"
    if outcome.err != job.says:
        yield "standard error is not that of a run in which nothing fails"
    if place.written(outcome) != job.expected:
        yield "the output is wrong"
    if not job.to_pipe and outcome.out:
        yield "there is something on standard output"


def problems_of_failure(place, outcome, fault, faults):
    message = faults.message(fault, outcome.err)
    if message.count(b"\n") != 1 or not message.endswith(b"\n"):
        yield "not one line on standard error"
    elif not message.startswith(b"gpusort: ") or not faults.cause(fault).search(message):
        yield "the message does not name the cause"
    if fault.must_do_no_harm():
        yield "it gives up though it need not"
    if not place.job.to_pipe:
        if outcome.out:
            yield "there is something on standard output"
        is_told = place.job.is_in_place and b"has been overwritten" in message
        if place.read_output() != place.old and not is_told:
            yield "the old output was changed"


def problems_of(place, outcome, fault, faults):
    if outcome.status is None:
        yield f"it runs for more than {TIME_LIMIT_S} s"
    elif outcome.status < 0:
        yield f"it is ended by signal {-outcome.status}"
    elif outcome.status == place.job.status:
        yield from problems_of_success(place, outcome, fault)
    elif outcome.status == 2 and fault:
        yield from problems_of_failure(place, outcome, fault, faults)
    else:
        yield f"status {outcome.status}"
    left = set(place.list()) ^ set(place.files)
    if place.job.is_new and outcome.status == place.job.status:
        left ^= {"place/out"}
    if left:
        yield f"left behind, or gone: {' '.join(sorted(left))}"


def shown(outcome):
    return [f"  {line.decode(errors='replace')}" for line in outcome.err.splitlines()[:6]]


def try_fault(place, fault, faults):
    """The status of a run, and what is wrong with it."""
    outcome = place.run(faults.environment(fault, None))
    found = list(problems_of(place, outcome, fault, faults))
    if outcome.status != 2 or found or place.job.is_in_place:
        for name in set(place.list()) - set(place.files):
            os.unlink(os.path.join(place.path, name))
        place.restore()
    if found:
        found = [f"{fault}: {'; '.join(found)}", *shown(outcome)]
    return outcome.status, found


# ---- all faults of a job -------------------------------------------------------------------------


def count_calls(place, faults):
    """The calls of each function when nothing fails, and what is wrong with that run."""
    counts = os.path.join(place.path, "calls")
    outcome = place.run(faults.environment(None, counts))
    if not os.path.exists(counts):
        return {}, ["no calls were counted", *shown(outcome)]
    with open(counts, encoding="ascii") as file:
        calls = {name: int(count) for name, count in map(str.split, file)}
    os.unlink(counts)
    found = list(problems_of(place, outcome, None, faults))
    place.restore()
    return calls, found and [f"nothing fails: {'; '.join(found)}", *shown(outcome)]


def choose_faults(job, number, calls, faults, take_all):
    """`number` is that of the job: other jobs choose other calls, and other ways to fail."""
    for function, count in sorted(calls.items()):
        if job.functions and function not in job.functions:
            continue
        ways = faults.ways(function)
        lasting = [how for how in ways if faults.can_last(how)]
        if take_all:
            chosen = [(call, how) for how in ways for call in range(1, count + 1)]
        else:
            few = sorted({1 + 101 * number % count} if lasting else {1, 1 + 101 * number % count})
            chosen = [(call, ways[(number + i) % len(ways)]) for i, call in enumerate(few)]
            chosen += [((count + 1) // 2, how) for how in ways if how in TRANSIENT and how not in lasting]
        for call, how in chosen:
            yield Fault(function, call, how)
        # The only call of a function fails once in one job, and each time it is called again in the next.
        if take_all or count > 1 or number % 2 == 0:
            for how in lasting:
                for call in range(1, count + 1) if take_all else [(count + 1) // 2]:
                    yield Fault(function, call, how, is_lasting=True)


def try_job(number, job, faults, words):
    """How often each status came, what is wrong, and the directory."""
    place = Place(job, os.environ["GPUSORT"], faults.device)
    statuses = collections.Counter()
    calls, problems = count_calls(place, faults)
    chosen = list(choose_faults(job, number, calls, faults, words.all or job.repeats > 1)) * job.repeats
    for fault in chosen if not problems else []:
        status, found = try_fault(place, fault, faults)
        statuses[status] += 1
        problems += found
        if status is None:
            break  # the others would take as long
    if not statuses[2]:
        problems.append("no call that failed made it fail")
    if problems:
        problems.insert(0, " ".join(["gpusort", *place.words[1:]]))
    if not words.keep:
        shutil.rmtree(place.path)
    return statuses, problems, place.path


def show(number, job, statuses, problems, directory, words):
    runs = ", ".join(f"{count} with {status}" for status, count in sorted(statuses.items(), key=str))
    print(f"{'not ok' if problems else 'ok'} {number} - {job.name}: ended {runs}")
    for problem in problems if words.all else problems[:PROBLEMS_SHOWN]:
        print(f"#   {problem}")
    if words.keep:
        print(f"# {directory}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["calls", "cuda", "device"])
    parser.add_argument("library", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", default="", metavar="WORD")
    words = parser.parse_args()
    if words.kind == "calls":
        faults, jobs = CallFaults(words.library), fault_jobs.call_jobs()
    else:
        faults, jobs = CudaFaults(), fault_jobs.cuda_jobs(several=words.kind == "cuda")
    jobs = [job for job in jobs if words.only in job.name]
    has_failed = False
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count(), WORKERS_MAX)) as pool:
        results = pool.map(lambda number, job: try_job(number, job, faults, words), range(len(jobs)), jobs)
        for number, (job, result) in enumerate(zip(jobs, results), 1):
            show(number, job, *result, words)
            has_failed = has_failed or bool(result[1])
    claims = len(jobs)
    if words.kind == "calls" and not fault_jobs.has_zstd():
        claims += 1
        print(f"ok {claims} - zstd # SKIP no zstd(1)")
    print(f"1..{claims}")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
