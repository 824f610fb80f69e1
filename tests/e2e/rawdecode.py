# SPDX-License-Identifier: Apache-2.0
"""Reads what --debug-raw-records wrote, by the kernel's description of its records
(perf_event_open(2), linux/perf_event.h) and of nothing in core/."""
import collections
import os
import struct

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
SAMPLE_READ, SAMPLE_CALLCHAIN, SAMPLE_ID, SAMPLE_CPU = 1 << 4, 1 << 5, 1 << 6, 1 << 7
SAMPLE_PERIOD, SAMPLE_STREAM_ID, SAMPLE_IDENTIFIER = 1 << 8, 1 << 9, 1 << 16
SAMPLE_REGS_USER, SAMPLE_STACK_USER, SAMPLE_CGROUP = 1 << 12, 1 << 13, 1 << 21
# All general registers of asm/perf_regs.h.
REGISTERS = {"x86_64": 20, "aarch64": 33}.get(os.uname().machine, 0)
KNOWN = (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR | SAMPLE_CALLCHAIN | SAMPLE_ID
         | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_STREAM_ID | SAMPLE_IDENTIFIER
         | SAMPLE_REGS_USER | SAMPLE_STACK_USER | SAMPLE_CGROUP)

RECORD_LOST, RECORD_COMM, RECORD_EXIT, RECORD_THROTTLE, RECORD_FORK = 2, 3, 4, 5, 7
RECORD_SAMPLE, RECORD_LOST_SAMPLES = 9, 13
MISC_COMM_EXEC = 1 << 13

CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_MAX = -128, -512, -4095

Sample = collections.namedtuple("Sample", "pid tid time cpu ring kernel user")
Other = collections.namedtuple("Other", "type misc ring body")


def records(path):
    """(ring, sample_type, record with its header) of each."""
    head = struct.Struct("=IIQII")
    data = memoryview(path.read_bytes())
    at = 0
    while at < len(data):
        size, ring, kind, _, _ = head.unpack_from(data, at)
        at += head.size
        record = data[at:at + size]
        assert len(record) == size, "the file ends within a record"
        yield ring, kind, record
        at += size


def split_chain(chain):
    """The kernel's and the user's addresses of a callchain."""
    parts, part = {CONTEXT_KERNEL: [], CONTEXT_USER: []}, []
    for address in chain:
        if CONTEXT_MAX <= address < 0:
            part = parts.get(address, [])
        else:
            part.append(address % (1 << 64))
    return parts[CONTEXT_KERNEL], parts[CONTEXT_USER]


def sample(ring, kind, body):
    assert not kind & ~KNOWN, f"the decoder does not know sample_type {kind:#x}"
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("=" + form, body, at)
        at += struct.calcsize("=" + form)
        return values

    pid = tid = time = cpu = None
    chain = ()
    # In the order of perf_event_open(2).
    if kind & SAMPLE_IDENTIFIER:
        take("Q")
    if kind & SAMPLE_IP:
        take("Q")
    if kind & SAMPLE_TID:
        pid, tid = take("ii")
    if kind & SAMPLE_TIME:
        time, = take("Q")
    if kind & SAMPLE_ADDR:
        take("Q")
    if kind & SAMPLE_ID:
        take("Q")
    if kind & SAMPLE_STREAM_ID:
        take("Q")
    if kind & SAMPLE_CPU:
        cpu, _ = take("II")
    if kind & SAMPLE_PERIOD:
        take("Q")
    if kind & SAMPLE_CALLCHAIN:
        length, = take("Q")
        chain = take(f"{length}q")
    if kind & SAMPLE_REGS_USER:
        abi, = take("Q")
        take(f"{REGISTERS if abi else 0}Q")
    if kind & SAMPLE_STACK_USER:
        length, = take("Q")
        take(f"{length}x" + ("Q" if length else ""))
    if kind & SAMPLE_CGROUP:
        take("Q")
    assert at == len(body), "a sample is longer than its fields"
    return Sample(pid, tid, time, cpu, ring, *split_chain(chain))


def read(path):
    """Samples, in the order in which they were counted, and other records."""
    samples, others = [], []
    for ring, kind, record in records(path):
        type_, misc, size = struct.unpack_from("=IHH", record)
        assert size == len(record)
        if type_ == RECORD_SAMPLE:
            samples.append(sample(ring, kind, record[8:]))
        else:
            others.append(Other(type_, misc, ring, bytes(record[8:])))
    return samples, others


def read_perf_data(path):
    """The samples of a file that "perf record" wrote (perf.data-file-format)."""
    data = memoryview(path.read_bytes())
    magic, _, entry, attrs, attrs_size, at, length = struct.unpack_from("=8s6Q", data)
    assert magic == b"PERFILE2"
    # sample_type is the fifth field of an attr, behind 24 bytes.
    kinds = {struct.unpack_from("=Q", data, attrs + i + 24)[0] for i in range(0, attrs_size, entry)}
    assert len(kinds) == 1, "the events of the file differ in their fields"
    kind, samples, end = kinds.pop(), [], at + length
    while at < end:
        type_, _, size = struct.unpack_from("=IHH", data, at)
        if type_ == RECORD_SAMPLE:
            samples.append(sample(0, kind, data[at + 8:at + size]))
        at += size
    return samples
