#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Record a PyTorch training run, tensor by tensor, into a bundle that Forkpoint compares with another one.

    forkpoint_recorder.py --out runs/a [--steps 0:3] train.py ARGS          one process (each rank started separately: the same --out)
    forkpoint_recorder.py --out runs/a [--steps 0:3] -m package.train ARGS  the same for a module
    forkpoint_recorder.py --out runs/a [--steps 0:3] -- torchrun ... train.py ARGS
                                                                            any command: every Python process below it that trains
or, in a script or a notebook:

    from forkpoint_recorder import Recorder
    with Recorder("runs/a", steps="0:3") as recorder:
        train()

and to read it again:

    forkpoint_recorder.open("runs/a.forkpoint")[0, "forward/output/head"]       step, name, rank (if there are several): a tensor

The bundle is the folder runs/a.forkpoint; core/bundle/FORMAT.md is the authority of what is in it.

How it works. Right after `import torch`, a few functions of PyTorch are replaced by wrappers that call the original and tell a Session what
happened: Module.__call__ (a module ran), autograd.backward (a loss is differentiated), Optimizer.step, gradient clipping, GradScaler, the
data loader. Gradients are seen by hooks on parameters and on the autograd nodes of module outputs. The Session keeps track of the step
and the micro-step, gives everything its name, and has the Writer append it to the bundle.

What it promises. It draws no random number, changes no tensor, calls no collective; an error of its own is counted in the bundle and never
reaches the script. Outside the selected steps it only counts steps and writes scalars. While it records, Python's recursion limit is
half as large again, because its wrappers take part of the stack.

Needs Python 3.8 and PyTorch 1.13 or newer, nothing else. PyTorch is imported by the script, never before it: environment variables that the
script sets before its import must have their effect.
"""
import argparse
import atexit
import builtins
import collections
import collections.abc
import concurrent.futures
import contextlib
import ctypes
import datetime
import fnmatch
import functools
import hashlib
import importlib.abc
import importlib.util
import io
import json
import math
import os
import platform
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import types
import uuid
import weakref

VERSION = "1.2.0"
FORMAT_VERSION = [1, 1]
MODULE_NAME = "forkpoint_recorder"
OPTIONS_VARIABLE = "FORKPOINT_RECORDER"

# What wrappers (DistributedDataParallel, torch.compile, FSDP, activation checkpointing) insert into a module's path.
WRAPPER_WORDS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
WRAPPER_CLASSES = ("DistributedDataParallel", "FullyShardedDataParallel", "OptimizedModule", "DataParallel", "CheckpointWrapper")
TORCH_WRAPPERS = WRAPPER_CLASSES + ("AveragedModel", "ActivationWrapper")
OUTER = "outer"                # slot of what a wrapper written by hand makes of its module's output

DTYPES = frozenset(("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16", "int8", "uint8",
                    "bool", "complex64", "complex128"))

PLAN_STEPS = 2                 # steps that --plan looks at: the first has no optimizer state yet
PENDING_BATCHES = 64           # batches fetched and not yet consumed that we keep alive
PENDING_BYTES = 256 << 20
PENDING_FILES = 8              # of the files that the process may have open, they take up to one in so many
MAX_TRIGGERS = 8               # how often the flight recorder writes
BAND_VALUES, BAND_WIDTH = 20, 10
MAX_WALK = 5000                # autograd nodes visited to find the producers of one tensor
PARALLEL_BYTES = 1 << 20       # from here on a tensor is written and hashed at the same time
MAX_NESTING = 8                # levels of tuples and dictionaries searched for tensors; an object of another class counts for two
MAX_INSIDE = 1024              # values looked at in one such object

torch = None                   # set by install(): this file is read before the script imports PyTorch


def say(text):
    sys.stderr.write("forkpoint: %s\n" % text)
    sys.stderr.flush()


# ------------------------------------------------------------------------------------------------ options


class UsageError(ValueError):
    """A message for the user; the command line ends with status 2."""


PHASES = ("start", "data", "forward", "backward", "reduce", "optimizer")
DETAILS = ("full", "sketch", "digest", "fold", "none")            # in the order of how much they write
EVERY_PHASES = ("start", "data", "reduce")                        # what --every looks at unless --phases says otherwise
UNBOUNDED = 1 << 62


def parse_ranges(option, text, example):
    """[(first, end)] of "0:3,100": half-open ranges and single numbers."""
    ranges = []
    for part in str(text).split(","):
        match = re.fullmatch(r"(\d*):(\d*)|(\d+)", part.strip())
        if not match:
            raise UsageError("%s %s: expected numbers and FIRST:END ranges, for example %s" % (option, str(text) or "''", example))
        if match.group(3):
            first, end = int(match.group(3)), int(match.group(3)) + 1
        else:
            first, end = int(match.group(1) or 0), int(match.group(2)) if match.group(2) else UNBOUNDED
        if end <= first:
            raise UsageError("%s %s: %s selects nothing" % (option, text, part.strip()))
        ranges.append((first, end))
    return ranges


def ranges_text(ranges):
    return ",".join(str(first) if end == first + 1 else "%d:%s" % (first, end if end < UNBOUNDED else "") for first, end in ranges)


def parse_size(option, text):
    match = re.fullmatch(r"([0-9.]+)\s*(|[KMGT]i?)B?", str(text).strip(), re.I)
    try:
        unit = match.group(2).lower()
        return int(float(match.group(1)) * (1024 if unit.endswith("i") else 1000) ** (" kmgt".index(unit[0]) if unit else 0))
    except (AttributeError, ValueError):
        raise UsageError("%s %s: expected a size, for example 500MB or 4GiB" % (option, text)) from None


class Selection:
    """What is recorded: which steps, ranks, phases and modules, and how much of each tensor (FORMAT.md, section 6.1)."""

    OPTIONS = ("steps", "modules", "ranks", "phases", "write", "every", "like", "budget", "ring", "band")

    def __init__(self, steps="0:3", modules=None, ranks=None, phases=None, write=(), every=0, like=None, budget=None, ring=0, band=()):
        self.index, self.like = None, os.path.abspath(os.fspath(like)) if like else None
        if self.like:
            if not os.path.isdir(self.like) and os.path.isdir(self.like + ".forkpoint"):
                self.like += ".forkpoint"
            if not os.path.exists(self.like):
                raise UsageError("--like %s does not exist" % like)
            self.index = self.read_index(self.like)
            self.ranges = [(step, step + 1) for step in sorted({key[0] for key in self.index})]
            self.steps = ranges_text(self.ranges)
        else:
            self.ranges = [] if str(steps).strip() == "none" else parse_ranges("--steps", steps, "0:3,100 for the steps 0, 1, 2 and 100")
            self.steps = str(steps).replace(" ", "")
        self.ranks = parse_ranges("--ranks", ranks, "0,3") if ranks is not None else None
        self.phases = None
        if phases:
            self.phases = [phase.strip() for phase in (phases.split(",") if isinstance(phases, str) else phases)]
            for phase in self.phases:
                if phase not in PHASES:
                    raise UsageError("--phases %s: there is no phase %s; phases: %s" % (",".join(self.phases), phase, ", ".join(PHASES)))
        try:
            self.modules = re.compile(modules) if modules else None
        except re.error as error:
            raise UsageError("--modules %s is no regular expression: %s" % (modules, error)) from None
        self.write = [write] if isinstance(write, str) else list(write)
        self.rules = [self.parse_rule(text) for text in self.write]
        self.every, self.ring = self.count("--every", every), self.count("--ring", ring)
        self.bands = dict(self.parse_band(text) for text in ([band] if isinstance(band, str) else band))
        self.band = list(band) if not isinstance(band, str) else [band]
        self.budget = None
        if budget:
            self.budget = parse_size("--budget", budget)
            if not self.ranges or self.ranges[-1][1] >= UNBOUNDED:
                raise UsageError("--budget needs to know how many steps share it: give --steps an end")
        self.known = {}                                           # what detail() has answered
        self.matched = False                                      # whether --modules has selected anything

    @staticmethod
    def count(option, value):
        """`value` of the command line, or a number that is 0 where the option is not given."""
        try:
            number = int(value) if value is not None else 0
        except (TypeError, ValueError):
            number = -1
        if number < 0 or isinstance(value, str) and not number:
            raise UsageError("%s %s: expected a number of steps, 1 or more" % (option, value))
        return number

    @staticmethod
    def parse_rule(text):
        pattern, _, detail = text.rpartition("=")
        if detail not in DETAILS:
            raise UsageError("--write %s: expected [PATTERN=]DETAIL with one of %s, for example 'layers.*=sketch'" % (text, ", ".join(DETAILS)))
        return pattern or "*", detail

    @staticmethod
    def parse_band(text):
        match = re.fullmatch(r"([^=]+)=([^:]*):([^:]*)", text)
        try:
            name, low, high = match.group(1), float(match.group(2) or "-inf"), float(match.group(3) or "inf")
        except (AttributeError, ValueError):
            raise UsageError("--band %s: expected NAME=LOW:HIGH, for example grad_norm=:100" % text) from None
        if not low <= high:
            raise UsageError("--band %s: nothing lies between %s and %s; expected NAME=LOW:HIGH" % (text, low, high))
        return name, (low, high)

    @staticmethod
    def read_index(bundle):
        """{(step, phase, kind, normalised name, slot): detail} of every tensor that a bundle has."""
        index = {}
        for folder in rank_folders(bundle):
            try:
                with io.open(os.path.join(bundle, folder, "tensors.jsonl"), encoding="utf-8") as file:
                    for line in file:
                        with contextlib.suppress(ValueError, KeyError):
                            record = json.loads(line)
                            if record.get("level", "module") == "module":
                                key = (record["step"], record["phase"], record["kind"], normalised(join(record["module"], record.get("param") or "")),
                                       record.get("slot") or "")
                                index[key] = min(index.get(key, "none"), record.get("detail") or "full", key=DETAILS.index)
            except OSError as error:
                raise UsageError("--like %s: %s" % (bundle, error.strerror)) from None
        if not index:
            raise UsageError("--like %s: there is no recorded tensor in it" % bundle)
        return index

    def to_json(self):
        return {"steps": self.steps, "modules": self.modules.pattern if self.modules else None,
                "ranks": ranges_text(self.ranks) if self.ranks else None, "phases": self.phases, "write": self.write, "every": self.every,
                "like": self.like, "budget": self.budget, "ring": self.ring, "band": self.band}

    def fields(self):
        """For rank.json: what was asked for, apart from the steps."""
        values = self.to_json()
        values.pop("steps")
        values["like"] = os.path.basename(self.like) if self.like else None
        if self.budget:
            values["budget"] = {"bytes": self.budget}
        return {name: value for name, value in values.items() if value}

    @staticmethod
    def inside(number, ranges):
        return any(first <= number < end for first, end in ranges)

    def has_rank(self, rank):
        return self.ranks is None or self.inside(rank, self.ranks)

    def mode(self, step):
        """How a step is recorded: "selected", "every", "ring", or None."""
        if self.inside(step, self.ranges):
            return "selected"
        if self.every and step % self.every == 0:
            return "every"
        return "ring" if self.ring else None

    def over(self, step):
        """Whether neither this step nor a later one is recorded."""
        return not self.every and not self.ring and all(end <= step for _, end in self.ranges)

    def detail(self, mode, step, phase, kind, module, param, slot):
        """How much of a tensor is written: one of DETAILS."""
        key = (mode, step if self.index else None, phase, kind, module, param, slot if self.index else None)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.find_detail(mode, step, phase, kind, module, param, slot)
        return found

    def find_detail(self, mode, step, phase, kind, module, param, slot):
        name = join(module, param or "")
        if mode == "selected" and self.index:
            return self.index.get((step, phase, kind, normalised(name), slot or ""), "none")
        if phase not in (self.phases or (EVERY_PHASES if mode == "every" else PHASES)):
            return "none"
        special = kind == "batch" or re.fullmatch(r"loss(#\d+)?", name)
        if self.modules and not special and not any(self.modules.search(path) for path in spellings(module)):
            return "none"
        detail = {"selected": "full", "ring": "sketch", "every": "fold"}[mode]
        if mode != "every":
            for pattern, wanted in self.rules:
                if kind == "batch" and "/" not in pattern:
                    continue                                      # batches are small, and say which rows are which
                names = ["%s/%s/%s" % (phase, kind, n) for n in spellings(name)] if "/" in pattern else spellings(name)
                if any(fnmatch.fnmatchcase(n, pattern) for n in names):
                    detail = wanted if mode == "selected" else max(wanted, "sketch", key=DETAILS.index)
        self.matched = self.matched or not special
        return detail


class Budget:
    """Keeps a recording within a number of bytes. Each rank and step has an equal part of it, and each phase a share of that; what a phase
    leaves is the next one's. A tensor that does not fit is sketched only, or only its digest is written, and so it is in every later step.

    The decision follows from names, sizes and their order alone, so that ranks that train the same network decide alike without a word.
    """

    SHARES = {"start": 0.125, "data": 0.2, "forward": 0.5, "backward": 0.7, "reduce": 0.8, "optimizer": 1.0}

    def __init__(self, limit, steps, world):
        self.per_step = limit // max(1, steps * world)
        self.step, self.used, self.decided, self.dropped = None, 0, {}, {}

    def admit(self, record, detail, full, sketch):
        """The detail that a tensor gets which was to have `detail`; `full`, `sketch`: bytes that it would take."""
        if self.step != record["step"]:
            self.step, self.used = record["step"], 0
        key = tuple(record.get(name) for name in ("micro", "phase", "kind", "module", "param", "call", "slot", "recompute"))
        costs = {"full": full, "sketch": sketch, "digest": 0, "fold": 0}
        wanted = max(detail, self.decided.get(key, detail), key=DETAILS.index)
        room = self.per_step * self.SHARES[record["phase"]] - self.used
        while costs[wanted] > room and wanted in ("full", "sketch"):
            wanted = "sketch" if wanted == "full" and sketch < full else "digest"
        self.decided[key] = wanted
        self.used += costs[wanted]
        if wanted != detail:
            self.dropped["%s/%s/%s" % (record["phase"], record["kind"], join(record["module"], record.get("param") or ""))] = (detail, wanted)
        return wanted

    def fields(self, limit):
        return {"bytes": limit, "per_step": self.per_step,
                "dropped": [{"what": what, "from": before, "to": after} for what, (before, after) in self.dropped.items()]}


class Options:
    """What to record and where; travels to child processes as JSON in an environment variable."""

    def __init__(self, out, steps="0:3", level="module", name=None, overwrite=False, run_id=None, noise=False, plan=False, **selection):
        if level not in ("module", "op"):
            raise UsageError("--level %s: levels are module and op" % level)
        if not os.fspath(out).strip():
            raise UsageError("--out needs the name of a folder")
        out = os.path.abspath(os.fspath(out))
        if not out.endswith(".forkpoint"):
            out += ".forkpoint"
        self.attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)
        if self.attempt:                   # an elastic restart starts again from a checkpoint: a run of its own beside the first
            out = "%s.attempt%d.forkpoint" % (out[:-len(".forkpoint")], self.attempt)
        self.out, self.level, self.overwrite, self.run_id = out, level, overwrite, run_id
        self.noise, self.plan = bool(noise), bool(plan)
        self.launch = None                 # the words of a command that records the same with torch.compile switched off
        self.name = name or os.path.basename(out)[:-len(".forkpoint")]
        self.selection = Selection(steps, **selection)
        if self.plan and self.selection.like:
            raise UsageError("--plan with --like: what that bundle holds is known, forkpoint-cli info shows it")

    @property
    def steps(self):
        return self.selection.steps

    def to_json(self):
        return json.dumps({"out": self.out, "level": self.level, "name": self.name, "run_id": self.run_id, "noise": self.noise, "plan": self.plan,
                           "launch": self.launch, "attempt": self.attempt, "recorder": os.path.abspath(__file__),
                           "selection": self.selection.to_json()})

    @classmethod
    def from_json(cls, text):
        values = json.loads(text)
        selection, launch = values.pop("selection"), values.pop("launch")
        restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0) != values["attempt"]
        if restarted:                      # the launcher's folder name belongs to the attempt that it was made for
            options = cls(**{name: values[name] for name in ("out", "level", "run_id", "noise", "plan")}, **selection)
        else:
            options = cls.__new__(cls)
            options.__dict__.update(values, overwrite=False, selection=Selection(**selection))
        options.launch = launch
        return options


def rank_from_environment():
    """(rank, world size) as launchers announce them, or (None, None)."""
    for rank, world in (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                        ("SLURM_PROCID", "SLURM_NTASKS")):
        try:
            return int(os.environ[rank]), int(os.environ[world])
        except (KeyError, ValueError):
            continue
    return None, None


def agreed_run_id(own):
    """The run id that the first rank of the launch to come here proposed; None if the ranks have not met yet.

    Nodes without a shared disk have nothing in common that no other launch has, but they met at a store. Its compare_set neither waits for
    another rank nor is it a collective: it stores `own` if there is nothing yet, and says what is there.
    """
    try:
        distributed = torch.distributed
        if not distributed.is_available() or not distributed.is_initialized():
            return None
        return distributed.distributed_c10d._get_default_store().compare_set("forkpoint/run_id", "", own).decode() or None
    except Exception:                          # a store that cannot, or is gone
        return None


def rank_folders(out):
    try:
        return sorted(name for name in os.listdir(out) if re.fullmatch(r"rank\d{5,}", name))
    except OSError:
        return []


def claim_output(options):
    """Refuse to record over an existing bundle, or remove it with --overwrite. Called before the training starts.

    Ranks that are launched one by one share the folder, so a rank looks only at its own rank folder; a launcher of unknown ranks looks at all.
    """
    if os.path.exists(options.out) and not os.path.isdir(options.out):
        raise UsageError("%s exists and is no folder; choose another --out" % options.out)
    rank, world = rank_from_environment()
    present = rank_folders(options.out)
    mine = present if rank is None else [name for name in present if int(name[4:]) == rank]
    if mine and not options.overwrite:
        raise UsageError("%s already holds a recording (%s); choose another --out, or give --overwrite to replace it"
                         % (options.out, ", ".join(mine)))
    if options.overwrite and rank is not None:        # a former launch may have had more ranks
        mine += [name for name in present if int(name[4:]) >= world and name not in mine]
    for name in mine:
        shutil.rmtree(os.path.join(options.out, name))
    # Ranks make their folder before bundle.json: one that lies there alone is left over.
    if options.overwrite and not rank or not rank_folders(options.out):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(options.out, "bundle.json"))


# ------------------------------------------------------------------------------------------------ text


class Masker:
    """Keeps secrets out of the bundle: the value of everything whose name says that it is one, wherever the value turns up again."""

    WORDS = r"token|key|secret|passw(?:or)?d|pwd|credential|auth(?!ors?(?![a-z]))"
    SECRET = re.compile(WORDS, re.I)
    OPTION = re.compile(r"--?([\w.-]+)")
    PAIR = re.compile(r"""([\w.\-]*(?:%s)[\w.\-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s&#;,"'})\]]+)""" % WORDS, re.I)
    WELL_KNOWN = re.compile(r"\b(?:hf_|sk-|ghp_|github_pat_|xox[bp]-)[\w-]{8,}")
    USER = re.compile(r"\b([a-z][\w+.-]*://)[^\s/@]+@", re.I)

    def __init__(self):
        self.known = set()

    def learn(self, value):
        """Also mask this value where no name stands beside it, for example in an error message."""
        if isinstance(value, str) and len(value) >= 8:
            self.known.add(value)

    def learn_environment(self):
        for name, value in os.environ.items():
            if self.SECRET.search(name) and name not in ("PWD", "OLDPWD"):
                self.learn(value)

    def arguments(self, argv):
        result, masked = [], False
        for position, argument in enumerate(argv):
            argument = str(argument)
            if masked and not argument.startswith("--"):
                self.learn(argument)
                result.append("***")
                masked = False
                continue
            option = self.OPTION.fullmatch(argument)
            masked = bool(position and option and self.SECRET.search(option.group(1)))
            for match in self.PAIR.finditer(argument):
                self.learn(match.group(2).strip("\"'"))
            result.append(argument)
        return [self.text(argument) for argument in result]

    def text(self, text):
        text = self.PAIR.sub(lambda match: match.group(1) + "***", text)
        text = self.USER.sub(r"\1***@", text)
        text = self.WELL_KNOWN.sub("***", text)
        for value in self.known:
            if value in text:
                text = text.replace(value, "***")
        return text

    def value(self, value, name=""):
        """A plain value for JSON: secrets masked, tensors and objects turned into text."""
        if name and self.SECRET.search(name) and not isinstance(value, bool):
            if isinstance(value, str):
                self.learn(value)
            return "***"
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {str(k): self.value(v, str(k)) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if torch is not None and isinstance(value, torch.Tensor):
            return value.item() if value.numel() == 1 else "tensor%s" % list(value.shape)
        if callable(value):
            return getattr(value, "__qualname__", type(value).__qualname__)
        return self.text(str(value))[:200]


def plain(value):
    """JSON as FORMAT.md wants it: non-finite numbers are strings, integers fit 64 bits, texts are valid UTF-8."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int):
        return value if -1 << 63 <= value < 1 << 63 else float(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {plain(str(k)): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def to_line(value):
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def to_line_of_ours(value):
    """As to_line, for what the recorder has made up itself: only numbers that are not finite and broken names need plain()."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode() + b"\n"
    except (ValueError, TypeError):
        return to_line(value)


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# ------------------------------------------------------------------------------------------------ tensors


def attributes_of(value):
    """What an object of any class has in its __dict__; {} of those that stand for code, a model, or data that is not this value's."""
    if isinstance(value, (torch.nn.Module, torch.optim.Optimizer, torch.utils.data.Dataset, torch.utils.data.DataLoader, torch.Generator, torch.device,
                          type, types.FunctionType, types.ModuleType)):
        return {}
    try:
        return dict(vars(value))
    except TypeError:                                             # it has none
        return {}


def tensors_in(value, slot="", depth=0, objects=True, inside=None):
    """(slot, tensor) of every tensor in nested tuples, lists, dictionaries, dataclasses and, with `objects`, attributes of other objects; slots
    are joined by dots. `inside`: what was seen of such an object, by id: objects may point at each other, or have one tensor by several names."""
    if isinstance(value, torch.Tensor):
        yield slot, value
        return
    if depth >= MAX_NESTING or value is None or isinstance(value, (str, bytes, int, float)):
        return
    if isinstance(value, collections.abc.Mapping):
        items = value.items()
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = zip(value._fields, value)
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif hasattr(value, "__dataclass_fields__"):
        items = ((name, getattr(value, name, None)) for name in value.__dataclass_fields__)
    elif not objects:
        return
    else:
        items = attributes_of(value).items()
        inside, depth = {id(value): value} if inside is None else inside, depth + 1
    for name, item in items:
        if inside is not None:
            if id(item) in inside:
                continue
            if len(inside) == MAX_INSIDE:
                return
            inside[id(item)] = item
        yield from tensors_in(item, "%s.%s" % (slot, name) if slot else str(name), depth + 1, objects, inside)


def class_without_tensors(value, depth=0):
    """Name of the class that hides the tensors of a value in which tensors_in() finds none; None if it can have none, as numbers and texts."""
    if value is None or isinstance(value, (str, bytes, int, float, complex, torch.dtype, torch.device)) or depth == MAX_NESTING:
        return None
    if isinstance(value, (collections.abc.Mapping, list, tuple)):
        items = list(value.values()) if isinstance(value, collections.abc.Mapping) else value
        return next(filter(None, (class_without_tensors(item, depth + 1) for item in items)), None)
    return "%s.%s" % (type(value).__module__, type(value).__qualname__)


def named_slots(value):
    """As tensors_in, with the slot "" where there is one tensor only."""
    return alone_unnamed(list(tensors_in(value)))


def alone_unnamed(found):
    return [("", found[0][1])] if len(found) == 1 else found


def call_slots(args, kwargs, objects=True):
    """Slots of a call's tensors: positions, and keywords by name."""
    found = list(tensors_in(args, objects=objects))
    return alone_unnamed(found + (list(tensors_in(kwargs, objects=objects)) if kwargs else []))


def given_in_objects(args, kwargs):
    """{id: (weak reference, version)} of the tensors that a call is given within objects."""
    plain = {id(tensor) for _, tensor in call_slots(args, kwargs, objects=False)}
    return {id(tensor): (weakref.ref(tensor), version_of(tensor)) for _, tensor in call_slots(args, kwargs) if id(tensor) not in plain}


def returned_slots(value, given):
    """As named_slots(), of what a call returns. Of an object that it was `given` and hands on (a cache, a graph that every layer changes) what is
    new in it: else each layer would have those of all before it."""
    if not given:
        return named_slots(value)
    plain = {id(tensor) for _, tensor in tensors_in(value, objects=False)}
    found = [(slot, tensor, given.get(id(tensor))) for slot, tensor in tensors_in(value)]
    return alone_unnamed([(slot, tensor) for slot, tensor, known in found
                          if id(tensor) in plain or known is None or known[0]() is not tensor or known[1] != version_of(tensor)])


def local_of(tensor):
    """The part of a DTensor that this rank has; the result of a collective that is under way, once it is there; else the tensor itself."""
    local = getattr(tensor, "_local_tensor", None)
    if isinstance(local, torch.Tensor):                           # DTensor
        tensor = local
    if hasattr(tensor, "trigger_wait"):                           # AsyncCollectiveTensor
        tensor = tensor.trigger_wait()
    return tensor


def has_memory(tensor):
    """Whether a strided tensor's elements are there: storages are freed by resize_(0), and tensors remain."""
    if not tensor.numel():
        return True
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    last = tensor.storage_offset() + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return storage.data_ptr() != 0 and (last + 1) * tensor.element_size() <= storage.nbytes()


def on_host(tensor):
    """(contiguous dense CPU tensor with the local values, None), or (None, why that is not possible). May share memory with `tensor`."""
    try:
        tensor = local_of(tensor).detach()
        kind = type(tensor).__name__
        if kind in ("FakeTensor", "FunctionalTensor", "ProxyTorchDispatchMode"):
            return None, kind
        functorch = getattr(torch._C, "_functorch", None)
        if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
            return None, "inside a functorch transform"
        if tensor.device.type == "meta":
            return None, "a meta tensor has no values"
        if tensor.is_quantized or getattr(tensor, "is_nested", False):
            return None, "quantized and nested tensors are not recorded"
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        if not has_memory(tensor):
            return None, "its storage was freed"
        if tensor.is_complex():
            tensor = tensor.resolve_conj()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        return tensor.cpu().contiguous(), None
    except Exception as error:
        return None, "%s: %s" % (type(error).__name__, error)


def bytes_of(host):
    """The memory of a contiguous CPU tensor, without numpy (which has no bfloat16). Valid while `host` lives."""
    size = host.numel() * host.element_size()
    return memoryview((ctypes.c_char * size).from_address(host.data_ptr())).cast("B") if size else memoryview(b"")


def statistics(host):
    """min, max, mean, l2 over the finite elements, and how many are not; None where they mean nothing. In double, and slow."""
    if not host.numel() or host.is_complex():
        return None
    if not host.is_floating_point():
        values = host.to(torch.uint8) if host.dtype == torch.bool else host
        low, high = torch.aminmax(values)
        values = values.double()
        return {"min": low.item(), "max": high.item(), "mean": values.mean().item(), "l2": torch.linalg.vector_norm(values).item(), "nan": 0,
                "inf": 0}
    values = host if host.element_size() >= 4 else host.float()
    nan = inf = 0
    total = values.sum(dtype=torch.float64).item()
    if not math.isfinite(total):               # NaN or infinite elements, or float64 ones whose sum overflows
        nan, inf = torch.isnan(values).sum().item(), torch.isinf(values).sum().item()
        values = values[torch.isfinite(values)]
        if not values.numel():
            return {"nan": nan, "inf": inf}
        total = values.sum(dtype=torch.float64).item()
    low, high = torch.aminmax(values)
    l2 = torch.linalg.vector_norm(values, dtype=torch.float64).item()
    return {"min": low.item(), "max": high.item(), "mean": total / values.numel(), "l2": l2, "nan": nan, "inf": inf}


# Sketches and folds: FORMAT.md, section 6.1.

BLOCK = 1 << 16                # words that share a factor of the fold
SAMPLES = 4096
WORD_BITS = (1 << 64) - 1
# float type -> (integer type of the same size, bits of the mantissa, bits of the exponent, bias)
FLOAT_LAYOUT = {"float64": ("int64", 52, 11, 1023), "float32": ("int32", 23, 8, 127), "float16": ("int16", 10, 5, 15),
                "bfloat16": ("int16", 7, 8, 127)}


def mix(number):
    """SplitMix64."""
    number = (number + 0x9E3779B97F4A7C15) & WORD_BITS
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & WORD_BITS
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & WORD_BITS
    return number ^ (number >> 31)


def mix_all(numbers):
    """mix() of an int64 tensor; PyTorch's 64-bit integers wrap, and its >> keeps the sign, hence the masks."""
    def signed(constant):
        return constant - (1 << 64) if constant >> 63 else constant
    numbers = numbers + signed(0x9E3779B97F4A7C15)
    numbers = (numbers ^ ((numbers >> 30) & ((1 << 34) - 1))) * signed(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ ((numbers >> 27) & ((1 << 37) - 1))) * signed(0x94D049BB133111EB)
    return numbers ^ ((numbers >> 31) & ((1 << 33) - 1))


@functools.lru_cache(None)
def fold_weights():
    """a(j) for j = 0 ... 65535."""
    return mix_all(torch.arange(BLOCK, dtype=torch.int64, device="cpu")) | 1


@functools.lru_cache(64)
def sample_positions(count):
    """Global indices, ascending, of the elements that a sketch of `count` elements keeps."""
    if count <= SAMPLES:
        return torch.arange(count, dtype=torch.int64, device="cpu")
    quotient, rest = divmod(count, SAMPLES)
    k = torch.arange(SAMPLES + 1, dtype=torch.int64, device="cpu")
    begin = k * quotient + torch.div(k * rest, SAMPLES, rounding_mode="floor")
    width = begin[1:] - begin[:-1]
    offsets = [mix(number) % size for number, size in enumerate(width.tolist())]
    return begin[:-1] + torch.tensor(offsets, dtype=torch.int64, device="cpu")


def words_of(flat):
    """The bits of a flat contiguous tensor as signed integers: one for types of up to 4 bytes, else the 32-bit parts, lowest first."""
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    size = flat.element_size()
    return flat.view({1: torch.int8, 2: torch.int16}.get(size, torch.int32))


class Piece:
    """Where a tensor lies in its whole."""

    def __init__(self, shape, whole=None, offset=None):
        self.shape, self.whole = list(shape), list(whole if whole is not None else shape)
        self.offset = list(offset) if offset is not None else [0] * len(self.shape)
        self.count = 1
        for size in self.whole:
            self.count *= size
        self.start = self.contiguous_start()

    def contiguous_start(self):
        """Global index of the first element if the piece is a contiguous run of the whole, else None."""
        stride, start, complete = 1, 0, True
        for size, whole, offset in zip(reversed(self.shape), reversed(self.whole), reversed(self.offset)):
            if not complete and size != 1:
                return None
            complete = complete and size == whole
            start, stride = start + offset * stride, stride * whole
        return start

    def indices(self):
        """Global indices of the piece's elements, flat."""
        index, stride = torch.zeros((), dtype=torch.int64, device="cpu"), 1
        for axis in range(len(self.shape) - 1, -1, -1):
            along = (torch.arange(self.shape[axis], dtype=torch.int64, device="cpu") + self.offset[axis]) * stride
            index = index + along.reshape([-1] + [1] * (len(self.shape) - 1 - axis))
            stride *= self.whole[axis]
        return index.reshape(-1)

    def samples(self):
        """Local flat indices of the sample positions that lie in the piece, ascending by global index."""
        positions = sample_positions(self.count)
        if self.shape == self.whole:
            return positions
        inside, local, rest, strides = torch.ones_like(positions, dtype=torch.bool), torch.zeros_like(positions), positions, []
        stride = 1
        for size in reversed(self.whole):
            strides.insert(0, stride)
            stride *= size
        for axis, step in enumerate(strides):
            place = torch.div(rest, step, rounding_mode="floor") - self.offset[axis]
            rest = rest % step
            inside &= (place >= 0) & (place < self.shape[axis])
            local = local * self.shape[axis] + place
        return local[inside]


def scattered_fold(flat, piece):
    """The fold of a piece that is no contiguous run of its whole."""
    words = words_of(flat)
    per_element = words.numel() // max(1, flat.numel())
    index = piece.indices()
    if per_element > 1:
        index = (index * per_element).reshape(-1, 1) + torch.arange(per_element, dtype=torch.int64, device="cpu")
    index, total = index.reshape(-1), 0
    for begin in range(0, words.numel(), BLOCK):
        n = index[begin:begin + BLOCK]
        weights = fold_weights()[n & (BLOCK - 1)] * (mix_all((n >> 16) + (1 << 32)) | 1)
        total += (words[begin:begin + BLOCK] * weights).sum().item()
    return total


def looked_at(host, piece):
    """One pass over a contiguous CPU tensor: (fold, or None without a piece; statistics). Blocks stay in the cache."""
    flat = host.reshape(-1)
    count, words = flat.numel(), words_of(flat)
    per_element = words.numel() // max(1, count)
    fold = None if piece is None else scattered_fold(flat, piece) if piece.start is None else 0
    folded = piece is not None and piece.start is not None
    floating = str(host.dtype).replace("torch.", "") in FLOAT_LAYOUT and count > SAMPLES     # for few elements double costs nothing
    low, high, total, squares = math.inf, -math.inf, 0.0, 0.0
    weights, wide = fold_weights(), torch.empty(min(BLOCK, words.numel()), dtype=torch.int64, device="cpu") if folded else None
    position, begin = (piece.start if folded else 0) * per_element, 0
    while begin < count and (folded or floating):
        place = position % BLOCK
        length = min(count - begin, (BLOCK - place) // per_element)
        if folded:
            part = wide[:length * per_element].copy_(words[begin * per_element:(begin + length) * per_element])
            fold += torch.dot(part, weights[place:place + length * per_element]).item() * (mix((1 << 32) + position // BLOCK) | 1)
        if floating:
            values = flat[begin:begin + length]
            values = values if values.element_size() >= 4 else values.float()
            smallest, largest = torch.aminmax(values)
            low, high = min(low, smallest.item()), max(high, largest.item())
            total += values.sum().item()
            norm = torch.linalg.vector_norm(values).item()
            if not 1e-15 < norm < 1e15:                           # squares leave float32's range
                norm = torch.linalg.vector_norm(values, dtype=torch.float64).item()
            squares += norm * norm
        begin, position = begin + length, position + length * per_element
    if not floating or not math.isfinite(total + squares):
        stats = statistics(host)
    else:
        stats = {"min": low, "max": high, "mean": total / count, "l2": math.sqrt(squares), "nan": 0, "inf": 0}
    return fold if fold is None else fold & WORD_BITS, stats


def fold_of(host, piece):
    return "%016x" % looked_at(host, piece)[0]


def version_of(tensor):
    try:
        return tensor._version
    except RuntimeError:                       # inference tensors keep none
        return None


def checksum_of(tensor):
    """A hash of a contiguous tensor's bits that costs little; None where the memory cannot be read so.

    Of sums over the rows and over the columns of the bits, laid out in rows of 1024 words: what moves to another place changes one or the other.
    Both of one block and then of the next, because a block stays in the cache.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not tensor.is_contiguous() or tensor.is_complex() or tensor.is_neg() \
            or tensor.is_quantized or not tensor.numel() or not has_memory(tensor):
        return None
    flat = tensor.detach().view(-1)
    aligned = flat.numel() * flat.element_size() % 8 == 0 and flat.storage_offset() * flat.element_size() % 8 == 0
    words = flat.view(torch.int64) if aligned else words_of(flat)
    whole, sums = words.numel() // 1024 * 1024, []
    for block in words[:whole].split(BLOCK) if whole else ():
        rows = block.view(-1, 1024)
        sums += rows.sum(0), rows.sum(1)
    host = (torch.cat(sums + [words[whole:].long()]) if whole else words).cpu()      # bytes_of() needs it to live on
    return hash(bytes(bytes_of(host)))


class Known:
    """What was found out of a tensor's values, until they change: `results` has what is written of it, by (detail, whole, offset)."""

    __slots__ = ("ref", "version", "pointer", "checksum", "results")

    def __init__(self, tensor, checksum):
        self.ref, self.version, self.pointer, self.checksum, self.results = weakref.ref(tensor), version_of(tensor), tensor.data_ptr(), checksum, {}

    def names(self, tensor):
        """Whether autograd takes it for the same tensor, unchanged."""
        return self.ref() is tensor and self.version == version_of(tensor) and self.pointer == tensor.data_ptr()


class Values:
    """Knows tensors again, so that what one module returns and the next one takes is read once, and a parameter once per update.

    It must be the same object with the same version counter, and the hash of its bits must not have changed: code that writes to memory
    behind autograd's back (`.data`, own kernels) counts no version. Those are counted here.
    """

    def __init__(self):
        self.known, self.changed_unseen = {}, 0

    def forget(self):
        for key in [key for key, known in self.known.items() if known.ref() is None]:
            del self.known[key]

    def of(self, tensor):
        """What is known of a tensor, or a new Known; None for tensors that are read each time."""
        try:
            tensor = local_of(tensor)
            checksum = checksum_of(tensor)
        except Exception:                      # tensors without memory, whatever they are
            return None
        if checksum is None or version_of(tensor) is None:
            return None
        known = self.known.get(id(tensor))
        if known is not None and known.names(tensor):
            if known.checksum == checksum:
                return known
            self.changed_unseen += 1
        known = self.known[id(tensor)] = Known(tensor, checksum)
        return known

    def last(self, tensor):
        """What was found out about a tensor that was just looked at."""
        tensor = local_of(tensor)
        known = self.known.get(id(tensor))
        return known if known is not None and known.ref() is tensor else None

    def gradient_kept(self, tensor, gradient):
        """A parameter's .grad, which is mostly the memory that a hook has seen: take over what is known of that. `gradient`: a Known."""
        if gradient is None or gradient.pointer != tensor.data_ptr():
            return
        known = self.of(tensor)
        if known is not None and known.checksum == gradient.checksum and not known.results:
            known.results = gradient.results


class HookNumber(int):
    """Key of a hook in its tensor's dictionary: PyTorch 1.13 looks there for the mark that unserializable_hook() makes at the hook."""

    __torch_unserializable__ = True


def hook_gradient(tensor, hook):
    """As tensor.register_hook(), of a hook that torch.save has no reason to warn of: it is no part of what the script saves."""
    handle = tensor.register_hook(torch.utils.hooks.unserializable_hook(hook))
    tensor._backward_hooks[HookNumber(handle.id)] = tensor._backward_hooks.pop(handle.id)
    return handle


def storage_of(tensor):
    """Identifies the memory behind a tensor, equal for its views; None if it has none."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return (tensor.device, storage.data_ptr()) if storage.data_ptr() else None
    except Exception:
        return None


def keeps_a_file_open(tensor):
    """Whether a tensor lies in memory that another process has sent with a file descriptor, as workers of a loader do where they can."""
    try:
        return tensor.device.type == "cpu" and torch.multiprocessing.get_sharing_strategy() == "file_descriptor" and tensor.is_shared()
    except Exception:                          # of tensors without one memory, whatever they are
        return False


def open_files_limit():
    """How many files this process may have open now: scripts raise it. Infinite where the system does not say."""
    try:
        import resource                        # POSIX only
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return limit if limit != resource.RLIM_INFINITY else math.inf
    except (ImportError, OSError):
        return math.inf


def sharding_of(tensor, of_batch=False):
    """placement, global_shape and global_offset of a DTensor, or not_observed: why its part cannot be placed; {} for every other tensor.

    Each axis of the mesh cuts what those before it left. A strided shard (FSDP2 over tensor parallelism) was cut after the axes behind it, into
    whose `split_factor` parts it reaches: if those are all the parts that they make, what is left is a block; else its rows lie apart.
    `of_batch`: computed from this rank's batch. Ranks outside the mesh then have other batches, and what the mesh makes up is not the whole.
    """
    placements, mesh = getattr(tensor, "placements", None), getattr(tensor, "device_mesh", None)
    if placements is None or mesh is None:
        return {}
    names = mesh.mesh_dim_names or ["mesh%d" % i for i in range(mesh.ndim)]
    place, described, shards = mesh.get_coordinate(), [], []
    if place is None:
        return {"not_observed": "this rank has no part of it"}
    for axis, placement in enumerate(placements):
        if placement.is_replicate():
            described.append({"axis": names[axis], "type": "replicate"})
        elif placement.is_partial():
            op = getattr(placement, "reduce_op", "sum")
            described.append({"axis": names[axis], "type": "partial", "op": "mean" if "avg" in str(op).lower() else str(op)})
        elif isinstance(getattr(placement, "dim", None), int):
            dim = placement.dim % max(1, tensor.dim())            # is_shard() is False of strided ones since they are a class of their own
            shards.append((axis, dim, getattr(placement, "split_factor", 1)))
            described.append({"axis": names[axis], "type": "shard", "dim": dim})
        else:
            return {"not_observed": "its placement %s is unknown to this version" % placement}
    cuts, parts = [], collections.Counter()                       # parts: dimension -> into how many the axes behind cut it
    for axis, dim, factor in reversed(shards):
        if factor == 1:
            cuts.insert(0, (axis, dim))
        elif factor == max(1, parts[dim]):
            cuts.append((axis, dim))
        else:
            return {"not_observed": "its part is no block of the whole: %s" % (tuple(placements),)}
        parts[dim] = max(1, parts[dim]) * mesh.size(axis)
    size, offset = list(tensor.shape), [0] * tensor.dim()
    for axis, dim in cuts:
        chunk = -(-size[dim] // mesh.size(axis))
        start = min(chunk * place[axis], size[dim])
        offset[dim] += start
        size[dim] = min(chunk, size[dim] - start)
    local = getattr(tensor, "_local_tensor", tensor)
    if list(local.shape) != size:
        return {"not_observed": "its part has the shape %s where its placements %s leave %s" % (list(local.shape), tuple(placements), size)}
    if of_batch and mesh.size() < torch.distributed.get_world_size():
        return {"placement": described}
    return {"placement": described, "global_shape": list(tensor.shape), "global_offset": offset}


def same_values(found, record):
    """Whether two results of Writer.examine(), or records, are of equal bits; False if that is not known."""
    for key in ("digest", "fold"):
        if found.get(key) and record.get(key):
            return found[key] == record[key]
    return False


def planned_bytes(record, host):
    """(bytes of the tensor, bytes of its sketch), alike on ranks that hold pieces of one whole."""
    count = host.numel()
    if record.get("global_shape"):
        count = 1
        for local, whole in zip(host.shape, record["global_shape"]):
            count *= -(-whole // max(1, round(whole / local))) if local else 0
    return count * host.element_size(), min(count, SAMPLES) * host.element_size()


# ------------------------------------------------------------------------------------------------ the files


class Writer:
    """The files of one rank, as FORMAT.md describes them. Every line and every tensor goes to the system at once: a killed process leaves
    what it had written."""

    DATA = "tensors-0000.bin"

    def __init__(self, out, rank):
        os.makedirs(out, exist_ok=True)
        self.out, self.folder = out, os.path.join(out, "rank%05d" % rank)
        os.mkdir(self.folder)                                     # exclusive: two processes never share a rank
        self.files = {name: os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
                      for name in ("graph.jsonl", "scalars.jsonl", "tensors.jsonl", self.DATA)}
        self.position = 0
        self.places = {}                                          # digest -> offset: equal bytes are written once
        self.tensors = self.records = self.unique_bytes = self.orders = 0
        self.details = collections.Counter()
        self.captured = None                                      # a list: lines and sketches go there instead (the flight recorder)
        self.helper = concurrent.futures.ThreadPoolExecutor(1, "forkpoint writer")

    def order(self):
        self.orders += 1
        return self.orders - 1

    def graph(self, **line):
        if self.captured is not None and line["type"] not in ("module", "tie"):      # those are said once for all steps
            self.captured.append(("graph", line, None))
        else:
            self.append("graph.jsonl", to_line(line) if line["type"] == "op" else to_line_of_ours(line))

    def scalar(self, **line):
        self.append("scalars.jsonl", to_line(line))

    def tensor(self, fields, result=None, detail="full", missing=None):
        """Append one record; `fields` come first in it, then what examine() returned. Returns the record."""
        record, samples = {"id": self.records, **fields}, None
        self.records += 1
        if missing is not None:
            record["not_observed"] = missing
        else:
            if detail != "full":
                record["detail"] = detail
            found, samples = result
            record.update(found)
        if self.captured is not None:
            self.captured.append(("tensor", record, samples))
        else:
            self.write_tensor(record, samples)
        return record

    def examine(self, host, detail, whole=None, offset=None):
        """(what a record says of a CPU tensor's values, the samples' bytes or None). At detail `full` the bytes are written."""
        if detail == "full":
            return self.written(host), None
        piece = Piece(host.shape, whole, offset)
        fold, stats = looked_at(host, piece)
        found = {"digest": hashlib.sha256(bytes_of(host)).hexdigest()} if detail == "digest" else {}
        found["fold"] = "%016x" % fold
        if stats:
            found["stats"] = stats
        if detail != "sketch":
            return found, None
        samples = host.reshape(-1)[piece.samples()]
        found["sketch"] = {"samples": samples.numel()}
        return found, bytes(bytes_of(samples))

    def written(self, host):
        """Write a tensor's bytes, unless the same ones are there already. Large ones are written while the digest is computed."""
        data, start = bytes_of(host), self.position
        ending = not threading.main_thread().is_alive()           # no thread can be started any more
        writing = self.helper.submit(self.store, data) if len(data) >= PARALLEL_BYTES and not ending else None
        try:
            found, stats = {"digest": hashlib.sha256(data).hexdigest()}, looked_at(host, None)[1]
        finally:
            offset = writing.result() if writing else None
        if stats:
            found["stats"] = stats
        if data:
            if found["digest"] not in self.places:
                self.places[found["digest"]] = self.store(data) if offset is None else offset
            elif writing:                                         # equal bytes of another tensor
                os.ftruncate(self.files[self.DATA], start)
                self.position, self.unique_bytes = start, self.unique_bytes - len(data)
            found["file"], found["offset"] = self.DATA, self.places[found["digest"]]
        return found

    def write_tensor(self, record, samples=None):
        if samples:
            record["sketch"] = dict(record["sketch"], file=self.DATA, offset=self.place(samples, hashlib.sha256(samples).hexdigest()))
        self.append("tensors.jsonl", to_line_of_ours(record))
        self.tensors += 1
        self.details[record.get("detail", "full")] += 1

    def place(self, data, digest):
        """Offset of these bytes in the data file; the same bytes are written once."""
        if digest not in self.places:
            self.places[digest] = self.store(data)
        return self.places[digest]

    def release(self, entries):
        """Write what was captured."""
        for kind, value, samples in entries:
            if kind == "tensor":
                self.write_tensor(value, samples)
            else:
                self.append("graph.jsonl", to_line(value))

    def store(self, data):
        padding = -self.position % 64
        if padding:
            self.append(self.DATA, b"\0" * padding)
        offset = self.position + padding
        self.append(self.DATA, data)
        self.position = offset + len(data)
        self.unique_bytes += len(data)
        return offset

    def append(self, name, data):
        data = memoryview(data)
        while data:
            data = data[os.write(self.files[name], data):]

    def document(self, path, value):
        temporary = os.path.join(self.folder, os.path.basename(path) + ".tmp")   # the rank's own: process numbers repeat on other nodes
        with io.open(temporary, "w", encoding="utf-8") as file:
            json.dump(plain(value), file, indent=1, allow_nan=False)
            file.write("\n")
        return temporary

    def rank_json(self, value):
        path = os.path.join(self.folder, "rank.json")
        os.replace(self.document(path, value), path)

    def bundle_json(self, value):
        """Write bundle.json unless another rank of the launch already has; returns what is there."""
        path = os.path.join(self.out, "bundle.json")
        temporary = self.document(path, value)
        try:
            os.link(temporary, path)                              # as rename, but never replaces
        except FileExistsError:
            pass
        except OSError:                                           # a file system without hard links
            if not os.path.exists(path):
                os.replace(temporary, path)
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        try:
            with io.open(path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return value

    def close(self):
        self.helper.shutdown()
        for descriptor in self.files.values():
            os.close(descriptor)
        self.files = {}


class PlanWriter:
    """Stands in for a Writer under --plan: counts what would be written, and writes nothing."""

    LINE = 400                                                    # bytes of a record in tensors.jsonl, roughly

    def __init__(self):
        self.files, self.captured = {"none": None}, None
        self.tensors = self.position = self.orders = 0
        self.bytes = collections.Counter()                        # (step, phase, kind) -> bytes
        self.details = collections.Counter()

    def order(self):
        self.orders += 1
        return self.orders - 1

    def graph(self, **line):
        pass

    scalar = graph

    def examine(self, host, detail, whole=None, offset=None):
        full, sketch = planned_bytes({"global_shape": whole}, host)
        return {"digest": hashlib.sha256(bytes_of(host)).hexdigest(), "bytes": {"full": full, "sketch": sketch}.get(detail, 0)}, None

    def tensor(self, fields, result=None, detail="full", missing=None):
        self.bytes[fields["step"], fields["phase"], fields["kind"]] += self.LINE + (0 if missing else result[0]["bytes"])
        self.tensors += 1
        return None if missing else dict(fields, digest=result[0]["digest"])

    def rank_json(self, value):
        pass

    def bundle_json(self, value):
        return value

    def close(self):
        self.files = {}


# ------------------------------------------------------------------------------------------------ names


class Sources:
    """Which line of whose code called: the innermost frame outside PyTorch and this file."""

    def __init__(self):
        script = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else os.path.join(os.getcwd(), "-")
        self.folder = os.path.dirname(script)
        self.skipped = (os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, os.path.abspath(__file__), "<")
        self.names = {}                                           # file name of a code object -> name to show, None: not the user's

    def name(self, filename):
        if filename not in self.names:
            path = filename if filename.startswith("<") else os.path.abspath(filename)
            if path.startswith(self.skipped):
                self.names[filename] = None
            else:
                inside = path.startswith(self.folder + os.sep)
                self.names[filename] = os.path.relpath(path, self.folder) if inside else os.path.basename(path)
        return self.names[filename]

    def frames(self):
        """The frames of the user's code, innermost first."""
        frame = sys._getframe(1)
        while frame is not None:
            if self.name(frame.f_code.co_filename) is not None:
                yield frame
            frame = frame.f_back

    def caller(self):
        for frame in self.frames():
            return "%s:%d" % (self.name(frame.f_code.co_filename), frame.f_lineno)
        return None


def being_built():
    """Whether the constructor of a module runs, or PyTorch's parametrization of a weight: the modules that they call are tried out, and no part of a
    training that has begun."""
    parametrize = getattr(sys.modules.get("torch.nn.utils.parametrize"), "__file__", None)
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == parametrize:
            return True
        if code.co_name == "__init__" and code.co_argcount and isinstance(frame.f_locals.get(code.co_varnames[0]), torch.nn.Module):
            return True
        frame = frame.f_back
    return False


def join(path, name):
    return "%s.%s" % (path, name) if path and name else path or name


def normalised(path):
    return ".".join(word for word in path.split(".") if word not in WRAPPER_WORDS)


def script_name(path):
    """A recorded path as the script has it: without the parentheses around real children that are called as a wrapper's."""
    return ".".join(word[1:-1] if word[1:-1] in WRAPPER_WORDS else word for word in path.split(".")) if "(" in path else path


def spellings(path):
    """How a recorded path may be asked for: with and without wrappers, as recorded and as the script has it."""
    return path, normalised(path), script_name(path), script_name(normalised(path))


def wraps_for_torch(module):
    """By name: most of these are in modules that need not be imported."""
    return any(cls.__name__ in TORCH_WRAPPERS and cls.__module__.split(".")[0] == "torch" for cls in type(module).__mro__)


def wraps(module):
    """Whether a module stands for the one in it: PyTorch's wrappers do, and such as have nothing but one child that is called as theirs are."""
    children = [name for name, child in module._modules.items() if child is not None]
    if not any(name in WRAPPER_WORDS for name in children):
        return False
    own = [value for table in (module._parameters, module._buffers) for _, value in table.items() if value is not None]
    return len(children) == 1 and not own or wraps_for_torch(module)


def named_below(module, path):
    """As module.named_modules(remove_duplicate=False), with `path` before; a real child that is called as a wrapper's is in parentheses."""
    yield path, module
    for name, child in module._modules.items():
        if child is not None:
            yield from named_below(child, join(path, "(%s)" % name if name in WRAPPER_WORDS and not wraps(module) else name))


def same_bits(a, b):
    """Whether two tensors are equal bit by bit, NaN included; False if that cannot be seen."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    (a, _), (b, _) = on_host(a), on_host(b)
    return a is not None and b is not None and bytes_of(a) == bytes_of(b)


class Root:
    """A module that was called from outside every other module."""

    def __init__(self, module, name, variable):
        self.ref, self.name, self.variable = weakref.ref(module), name, variable
        self.kind = Root.kind_of(module)
        self.used_in = None                                       # the step of its last call
        self.started_in = None                                    # the step whose start records it has

    @staticmethod
    def kind_of(module):
        """What a rebuilt root has in common with the one that it replaces."""
        return (type(module).__qualname__, tuple((name, None if torch.nn.parameter.is_lazy(p) else tuple(p.shape))
                                                 for name, p in module.named_parameters()))


class Parameter:
    """A parameter (or buffer owner) by its full name: path of the module, and name in it."""

    def __init__(self, tensor, module, name):
        self.ref, self.module, self.name, self.replicated, self.hook = weakref.ref(tensor), module, name, False, None
        self.gradient = None                                      # what is Known of its last gradient
        self.whole = None                                         # its shape, where FSDP1 leaves a flat piece of it (use_orig_params)

    @property
    def full_name(self):
        return join(self.module, self.name)


class Names:
    """Gives modules and parameters their paths.

    The root that owns the optimizer's parameters is "", others carry their variable's name. Objects are known by id with a weak reference:
    tensors compare elementwise, and an id alone is used again after its object died.
    """

    def __init__(self, sources):
        self.sources = sources
        self.write = lambda **line: None                          # appends to graph.jsonl, set once there is one
        self.roots = []
        self.seen = {}                                            # id of a module -> (weak reference, its variable) at the last look()
        self.modules = {}                                         # id -> (weak reference, [paths], Root)
        self.parameters = {}                                      # id -> Parameter
        self.described, self.ties = set(), set()
        self.optimized = set()                                    # ids of all parameters that an optimizer has
        self.settled = False                                      # a backward has begun: names stay
        self.flat = False                                         # FSDP1 was seen: parameters are flat pieces
        self.spread = False                                       # parameters are DTensors (FSDP2, tensor parallel)
        self.ddp = []                                             # weak references of the DistributedDataParallel modules found

    def paths(self, module):
        entry = self.modules.get(id(module))
        return entry[1] if entry and entry[0]() is module else None

    def root_of(self, module):
        return self.modules[id(module)][2]

    def parameter(self, tensor):
        entry = self.parameters.get(id(tensor))
        return entry if entry and entry.ref() is tensor else None

    # -- roots

    def adopt(self, module, step):
        """Make `module`, or the module of the callers that contains it, a root; returns the root that it belongs to."""
        kind = Root.kind_of(module)
        if not kind[1]:                                           # a loss built anew at each call: do not search the callers for it
            for root in self.roots:
                if root.kind == kind and root.ref() is None:
                    return self.replace(root, module)
        loss = None if kind[1] else self.seen_as(module)
        module = module if loss else self.enclosing(module)
        for root in self.roots:
            if root.ref() is module:                              # a known root that got new submodules
                self.walk(module, root.name, root)
                return root
        variable = loss or self.variable(module)
        kind = Root.kind_of(module)
        for root in self.roots:
            if root.kind == kind and (root.ref() is None or root.variable == variable and root.used_in != step):
                return self.replace(root, module)
        if not self.settled:
            self.forget_inside(module)
        root = Root(module, self.root_name(module, variable), variable)
        self.roots.append(root)
        self.walk(module, root.name, root)
        return root

    def forget_inside(self, module):
        """Before the first backward, a root that turns out to be a part of `module` was only tried out: its names are not kept."""
        parts = list(module.modules())
        inside = [root for root in self.roots if any(root.ref() is part for part in parts)]
        self.roots = [root for root in self.roots if root not in inside]
        for part in [part for root in inside for part in root.ref().modules()]:
            self.described -= set(self.paths(part) or ())
            self.modules.pop(id(part), None)
            for tensor in part._parameters.values():
                known = self.parameters.pop(id(tensor), None)
                if known is not None and known.hook is not None:
                    known.hook.remove()

    def replace(self, root, module):
        root.ref, root.started_in = weakref.ref(module), None
        self.walk(module, root.name, root)
        return root

    def root_name(self, module, variable):
        if not any(root.name == "" for root in self.roots):
            parameters = list(module.parameters())
            owned = any(id(p) in self.optimized for p in parameters) if self.optimized else any(p.requires_grad for p in parameters)
            if owned:
                return ""
        name, number = variable or type(module).__name__, 0
        unique = name
        while unique in self.described or any(root.name == unique for root in self.roots):
            number += 1
            unique = "%s#%d" % (name, number)
        return unique

    def enclosing(self, module):
        """The outermost module among the variables of the callers that contains `module` and has parameters of the optimizer (frameworks call
        training_step of the whole, so that the first module called is an inner one)."""
        best, seen = module, set()
        for value in self.visible():
            if id(value) in seen or not issubclass(type(value), torch.nn.Module) or type(value).__name__ in ("ModuleList", "ModuleDict"):
                continue
            seen.add(id(value))
            if value is best or not any(m is best for m in value.modules()):
                continue
            if not self.optimized or any(id(p) in self.optimized for p in value.parameters()):
                best = value
        return best

    def visible(self):
        """Values of the callers' variables, innermost first, and of the attributes of their `self`."""
        known = set()
        for frame in self.sources.frames():
            for scope in (frame.f_locals, frame.f_globals):
                if id(scope) not in known:
                    known.add(id(scope))
                    yield from list(scope.values())
            owner = frame.f_locals.get("self")
            if owner is not None and not isinstance(owner, torch.nn.Module):
                yield from list(getattr(owner, "__dict__", {}).values())

    def variable(self, module):
        """The name that the outermost caller knows the module by: it tells two models apart that are both called `model` further in."""
        self.look()
        return self.seen_as(module)

    def look(self):
        """Note what the callers call the modules that they know.

        Before Python 3.13 a frame keeps what its f_locals have shown, until it returns. So a loss is known from the network's first call, when
        there are no outputs yet, and its callers need not be looked at again.
        """
        self.seen = {}

        def note(variables):
            for name, value in variables:
                if issubclass(type(value), torch.nn.Module):
                    self.seen[id(value)] = (weakref.ref(value), name)

        frames = list(self.sources.frames())
        for frame in reversed(frames):                            # what comes later counts: locals, and the outermost of them
            note(reversed(list(frame.f_globals.items())))
        for frame in frames:
            owner = frame.f_locals.get("self")
            note((name, value) for name, value in list(frame.f_locals.items()) if name != "self")
            note(list(getattr(owner, "__dict__", {}).items()))

    def seen_as(self, module):
        ref, name = self.seen.get(id(module), (lambda: None, None))
        return name if ref() is module else None

    # -- the tree

    def refresh(self):
        """Walk all living roots again: parameters are replaced and submodules added between steps."""
        for table in (self.modules, self.parameters):
            for key in [key for key, entry in table.items() if (entry[0] if isinstance(entry, tuple) else entry.ref)() is None]:
                del table[key]
        for root in self.roots:
            module = root.ref()
            if module is not None:
                self.walk(module, root.name, root)

    def walk(self, top, prefix, root):
        """Name everything below `top`, whose path is `prefix`."""
        names = collections.OrderedDict()                         # id(parameter) -> (parameter, its full names)
        wrappers, flattened = [], []
        for path, module in named_below(top, prefix):
            paths = self.paths(module)
            if paths is None:
                self.modules[id(module)] = (weakref.ref(module), [path], root)
            elif path not in paths:
                paths.append(path)
            self.describe(module, path)
            for name, parameter in module._parameters.items():
                if parameter is not None and not torch.nn.parameter.is_lazy(parameter):
                    if self.parameter(parameter) is None:
                        self.parameters[id(parameter)] = Parameter(parameter, path, name)
                    names.setdefault(id(parameter), (parameter, []))[1].append(join(path, name))
            if isinstance(module, torch.nn.parallel.DistributedDataParallel):
                wrappers.append(module)
            if any(cls.__name__ == "FullyShardedDataParallel" for cls in type(module).__mro__):
                self.flat = True
                handles = getattr(module, "_handles", None) or [getattr(module, "_handle", None)]       # before and since PyTorch 2.1
                flattened += [handle.flat_param for handle in handles if handle is not None]
            if any(hasattr(parameter, "_local_tensor") for parameter in module._parameters.values()):
                self.spread = True
        for wrapper in wrappers:
            self.mark_replicated(wrapper)
        for flat in flattened:
            for parameter, shape in zip(getattr(flat, "_params", None) or (), flat._shapes):            # none without use_orig_params
                if self.parameter(parameter) is not None:
                    self.parameter(parameter).whole = shape
        for parameter, known_by in names.values():
            if len(known_by) > 1 and tuple(known_by) not in self.ties:
                self.ties.add(tuple(known_by))
                first = self.parameter(parameter).full_name       # the one used in records
                self.write(type="tie", names=[first] + [name for name in known_by if name != first])

    def describe(self, module, path):
        if path in self.described:
            return
        self.described.add(path)
        line = {"type": "module", "path": path, "class": type(module).__name__,
                "parameters": [name for name, p in module._parameters.items() if p is not None],
                "buffers": [name for name, b in module._buffers.items() if b is not None]}
        if line["class"] in WRAPPER_CLASSES:
            line["wrapper"] = line["class"]
        self.write(**line)

    def mark_replicated(self, ddp):
        if not any(ref() is ddp for ref in self.ddp):
            self.ddp.append(weakref.ref(ddp))
        ignored = set(getattr(ddp, "parameters_to_ignore", ()))
        for name, parameter in ddp.module.named_parameters():
            if name not in ignored and self.parameter(parameter):
                self.parameter(parameter).replicated = True

    def path_of(self, module, parent):
        """Path of a called module; `parent` is the Frame that it is called in, or None."""
        paths = self.paths(module)
        if paths is None and parent is not None:
            root = self.root_of(parent.module)
            self.walk(parent.module, parent.path, root)           # made after the first walk
            paths = self.paths(module)
            if paths is None:                                     # no submodule: made inside forward, or hidden in a plain list
                path = join(parent.path, "<%s>" % type(module).__name__)
                self.walk(module, path, root)
                return path
        if parent is not None and len(paths) > 1:                 # a shared module: its name below the caller
            for path in paths:
                if path.rpartition(".")[0] == parent.path:
                    return path
        return paths[0]

    def name_by_optimizer(self, tensors, kind, number):
        """Parameters that belong to no module are known by their place in the optimizer: [(group.position, tensor)]."""
        path = "<%s>" % kind if not number else "<%s>#%d" % (kind, number)
        for label, tensor in tensors:
            self.parameters[id(tensor)] = Parameter(tensor, path, label)
        if path not in self.described:
            self.described.add(path)
            self.write(type="module", path=path, **{"class": kind, "parameters": [label for label, _ in tensors], "buffers": []})


# ------------------------------------------------------------------------------------------------ data flow


class Flow:
    """Finds which recorded outputs a tensor comes from.

    Each output labels its autograd node (the label lives in the node's metadata, as long as the graph does); from an input, the graph is
    walked back to the nearest labelled nodes. A node keeps a list of labels: a parent's output is often its last child's. Tensors without a
    graph are known by identity, or by storage, each with the version counter: a changed version means that an operator came between.
    """

    KEY = "forkpoint"

    def __init__(self):
        self.given_up = 0                                         # walks that were too long
        self.clear()

    def clear(self):
        self.epoch = object()                                     # labels of another micro-step do not count
        self.by_tensor, self.by_storage, self.late = {}, {}, []

    def produce(self, tensor, label):
        version = version_of(tensor)
        entry = self.by_tensor.get(id(tensor))
        labels = entry[2] if entry and entry[0]() is tensor and entry[1] == version else []
        if label not in labels:
            labels.append(label)
        self.by_tensor[id(tensor)] = (weakref.ref(tensor), version, labels)
        if tensor.grad_fn is not None:
            self.mark(tensor, label)
        else:
            self.late.append((weakref.ref(tensor), version, label))
            storage = storage_of(tensor)
            if storage:
                self.by_storage.setdefault(storage, []).append((weakref.ref(tensor), version, label))

    def mark(self, tensor, label):
        labels = tensor.grad_fn.metadata.setdefault(self.KEY, [])
        if (self.epoch, tensor.output_nr, label) not in labels:
            labels.append((self.epoch, tensor.output_nr, label))

    def mark_late(self):
        """Reentrant checkpointing gives a module's output its node after the module has returned."""
        waiting = []
        for ref, version, label in self.late:
            tensor = ref()
            if tensor is None:
                continue
            if tensor.grad_fn is None:
                waiting.append((ref, version, label))
            elif version_of(tensor) == version:
                self.mark(tensor, label)
        self.late = waiting

    def sources(self, tensor):
        """[(label, direct)] of the outputs that reach `tensor`; direct: it is that very tensor."""
        if self.late:
            self.mark_late()
        entry = self.by_tensor.get(id(tensor))
        if entry and entry[0]() is tensor and entry[1] == version_of(tensor):
            return [(label, True) for label in entry[2]]
        if tensor.grad_fn is None:
            found = []
            for ref, version, label in self.by_storage.get(storage_of(tensor), ()):
                origin = ref()
                if origin is not None and version_of(origin) == version:
                    found.append((label, False))
            return found
        found, seen, todo = [], set(), [(tensor.grad_fn, tensor.output_nr)]
        while todo:
            if len(seen) == MAX_WALK:
                self.given_up += 1
                break
            node, number = todo.pop()
            if node is None or (node, number) in seen:
                continue
            seen.add((node, number))
            labels = [label for epoch, nr, label in node.metadata.get(self.KEY, ()) if epoch is self.epoch and nr == number]
            if labels:
                found += [(label, len(seen) == 1) for label in labels if all(label != known for known, _ in found)]
            else:
                todo.extend(node.next_functions)
        return found


# ------------------------------------------------------------------------------------------------ data loaders


class Batch:
    """What a loader returned, until the micro-step that consumes it."""

    def __init__(self, loader, tensors, ids, period):
        self.loader, self.ids, self.period = loader, ids, period
        self.evaluated = False                                    # an evaluation seems to have used it
        self.tensors = tensors                                    # [(slot, tensor)], alive while pending
        self.weak = None
        self.storages = {storage_of(tensor) for _, tensor in tensors} - {None}
        self.bytes = sum(tensor.numel() * tensor.element_size() for _, tensor in tensors)
        self.files = len({storage_of(tensor) for _, tensor in tensors if keeps_a_file_open(tensor)})

    def release(self):
        self.weak, self.tensors = [(slot, weakref.ref(tensor)) for slot, tensor in self.tensors], None

    def alive(self):
        """[(slot, tensor)] of what is still there after release()."""
        found = [(slot, ref()) for slot, ref in self.weak]
        return [(slot, tensor) for slot, tensor in found if tensor is not None]


class Batches:
    """Ties batches to the micro-steps that consume them, which need not be the ones in which they were fetched: loaders are read ahead, or into
    a list before the first step. A batch is recognised by its memory in the inputs of a forward; where it was copied (to a device, through
    a transform), the oldest one is taken, unless an evaluation has come by for it."""

    def __init__(self):
        self.pending, self.bytes, self.files = [], 0, 0
        self.recent = collections.deque(maxlen=PENDING_BATCHES)
        self.period = 0                                           # counts micro-steps: what was fetched in this one is fresh
        self.taken = set()                                        # loaders that this micro-step has a batch of
        self.others = {}                                          # micro-step of a pipeline, not this one -> what it has taken

    def epoch(self, loader):
        """What is left of the loader's last epoch will not be consumed any more."""
        for batch in [batch for batch in self.pending if batch.loader == loader]:
            self.remove(batch)

    def fetched(self, loader, tensors, ids):
        """Returns a reason if a batch had to be forgotten."""
        self.pending.append(Batch(loader, tensors, ids, self.period))
        self.bytes += self.pending[-1].bytes
        self.files += self.pending[-1].files
        most_files, dropped = open_files_limit() / PENDING_FILES, None
        while len(self.pending) > PENDING_BATCHES or len(self.pending) > 1 and (self.bytes > PENDING_BYTES or self.files > most_files):
            if not self.pending[0].evaluated:                     # nothing is missing that would be recorded
                dropped = "more batches were fetched ahead than are kept"
            self.remove(self.pending[0])
        return dropped

    def remove(self, batch):
        self.pending = [other for other in self.pending if other is not batch]
        self.bytes -= batch.bytes
        self.files -= batch.files
        batch.release()
        self.recent.append(batch)

    def matching(self, inputs):
        storages = {storage_of(tensor) for tensor in inputs} - {None}
        return storages, [batch for batch in self.pending if batch.storages & storages]

    def evaluated(self, inputs):
        """An evaluation's forward; it may be a teacher's, whose batch the training takes next."""
        _, matched = self.matching(inputs)
        if not matched and self.pending:
            last = self.pending[-1].loader
            matched = [batch for batch in self.pending if batch.loader == last and not batch.evaluated][:1]
        for batch in matched:
            batch.evaluated = True

    def consumed_by(self, inputs):
        """[(batch, [(slot, tensor)])] that a training forward of these input tensors consumes."""
        storages, matched = self.matching(inputs)
        again = [] if matched else [batch for batch in self.recent if batch.storages & storages and self.still(batch, storages)]
        if not matched and not again and not self.taken:
            matched = self.oldest()
        taken = [(batch, batch.tensors) for batch in matched]
        for batch in matched:
            self.remove(batch)
        for batch in again[-1:]:                                  # several passes over the same batch
            if batch.loader not in self.taken:
                taken.append((batch, batch.alive()))
        self.taken |= {batch.loader for batch, _ in taken}
        return taken

    @staticmethod
    def still(batch, storages):
        return any(storage_of(tensor) in storages for _, tensor in batch.alive())

    def oldest(self):
        """The oldest batch of each loader; of those that an evaluation saw, only the very last one."""
        first = {}
        for batch in self.pending:
            if not batch.evaluated:
                first.setdefault(batch.loader, batch)
        return list(first.values()) or self.pending[-1:]

    def consumed_by_loss(self):
        """What no forward has seen: targets of a second loader, or everything when no module was called."""
        taken = []
        for batch in self.oldest():
            fresh = [other for other in self.pending if other.loader == batch.loader and other.period == self.period]
            alone = not self.taken and len({other.loader for other in self.pending}) == 1
            if batch.loader not in self.taken and (fresh == [batch] or alone):
                taken.append((batch, batch.tensors))
        for batch, _ in taken:
            self.remove(batch)
        self.taken |= {batch.loader for batch, _ in taken}
        return taken

    def owed(self, loader):
        """The batch that a pipeline's stage has just fetched, after the forward of this micro-step: for its loss, unless it is fetched ahead."""
        fetched = [batch for batch in self.pending if batch.loader == loader]
        if loader in self.taken or len(fetched) != 1:
            return []
        self.remove(fetched[0])
        self.taken.add(loader)
        return [(fetched[0], fetched[0].alive())]

    def resume(self, left, number):
        """A pipeline's stage leaves a micro-step and goes on with, or begins, another one."""
        self.others[left] = self.taken
        self.taken = self.others.pop(number, set())

    def next_micro(self):
        self.period += 1
        self.taken, self.others = set(), {}
        for batch in [batch for batch in self.pending if batch.evaluated]:
            self.remove(batch)


# ------------------------------------------------------------------------------------------------ the session


class Frame:
    """A module call that is running."""

    __slots__ = ("module", "path", "call", "recorded", "recompute", "parent", "parent_call", "deferred", "skipped", "graded", "original",
                 "training", "source", "spread", "inner", "port", "given", "numbered")

    def __init__(self, module, path=None, recorded=False):
        self.module, self.path, self.recorded = module, path, recorded
        self.call = 0
        self.recompute = self.skipped = False
        self.numbered = False                                     # a forward that Stage knows of
        self.parent = self.parent_call = self.deferred = self.original = self.source = self.spread = None
        self.given = None                                         # given_in_objects()
        self.inner, self.port = None, ""                          # of a wrapper: what its module returned, and the slot of its own outputs
        self.graded = True                                        # autograd was on
        self.training = getattr(module, "training", True)


class Original:
    """A forward call of this micro-step, for the recomputation that may come."""

    __slots__ = ("call", "parent", "parent_call", "inputs", "hooked", "recomputed")

    def __init__(self, call, parent, parent_call):
        self.call, self.parent, self.parent_call = call, parent, parent_call
        self.inputs, self.hooked, self.recomputed = [], False, False


class KnownOptimizer:
    __slots__ = ("ref", "kind", "made", "stepped", "number")

    def __init__(self, optimizer, made):
        self.ref, self.number = weakref.ref(optimizer), None
        self.kind = (type(optimizer), [[tuple(p.shape) for p in group["params"]] for group in optimizer.param_groups])
        self.made, self.stepped = made, 0                         # in steps of all optimizers


class HandUpdates:
    """Sees that a script which uses no torch.optim has updated parameters: they change between the beginning of a backward and the next forward.

    By their version counters; and by the bits of a few small ones, because a change of `.data` counts no version.
    """

    CHECKED = 8

    def __init__(self):
        self.modules = {}                                         # id -> weak reference of a module that was called in training
        self.before = []                                          # (weak reference, version, shape, checksum or None)

    def forward_begins(self, module):
        """What changes from here on is a forward's doing, which may clamp its weights."""
        self.modules[id(module)], self.before = weakref.ref(module), []

    def backward_begins(self):
        self.modules = {key: ref for key, ref in self.modules.items() if ref() is not None}
        tensors = self.parameters()
        small = sorted(tensors, key=lambda key: tensors[key].numel())[:self.CHECKED]
        self.before = [(weakref.ref(p), version_of(p), p.shape, checksum_of(local_of(p)) if key in small else None) for key, p in tensors.items()]

    def parameters(self):
        modules = [ref() for ref in self.modules.values() if ref() is not None]
        return {id(p): p for module in modules for p in module.parameters() if p.requires_grad and not torch.nn.parameter.is_lazy(p)}

    def happened(self):
        """True once after an update."""
        now = self.parameters() if self.before else {}
        for ref, version, shape, checksum in self.before:
            tensor = ref()
            # FSDP puts whole parameters, or other pieces, into its modules for the time of a call.
            if tensor is None or now.get(id(tensor)) is not tensor or tensor.shape != shape:
                continue
            bits = None if checksum is None else checksum_of(local_of(tensor))
            if version_of(tensor) != version or bits is not None and bits != checksum:
                self.before = []
                return True
        return False


class Stage:
    """Finds out whether this process is a stage of a pipeline that the script schedules itself, and which micro-step a tensor is of.

    Such a stage sends to another rank what a module has returned, before it differentiates that, or gives a module what it received, to send the
    gradient back. What ranks exchange inside modules, or after backward (parameters, metrics), says nothing. Copies are sent and received, too:
    so the number of elements must do, unless the memory is the same. Then the k-th forward of a module is micro-step k, or that of the module
    whose output it is given; and what backward starts from is of the micro-step whose output it was computed from.
    """

    def __init__(self):
        self.watched, self.known = True, False
        self.certain = self.refuted = False                       # a module was given the very memory that was received; it is no pipeline
        self.returned = []                                        # by the last forward, until a backward: (weak reference, elements, micro-step)
        self.received = collections.deque(maxlen=64)              # (weak reference, elements)
        self.next_step()

    def next_step(self):
        self.outputs = Flow()                                     # its labels are micro-steps
        self.forwards, self.waiting = {}, []                      # id of a module -> its next micro-step; micro-steps without backward

    def sends(self, tensors):
        sizes = {size for _, size, _ in self.returned}
        memory = {storage_of(ref()) for ref, _, _ in self.returned if ref() is not None} - {None}
        if any(tensor.is_floating_point() and tensor.numel() in sizes or storage_of(tensor) in memory for tensor in tensors):
            self.known = True
            for ref, _, micro in self.returned:
                if ref() is not None:
                    self.outputs.produce(ref(), micro)

    def receives(self, tensors):
        self.received.extend((weakref.ref(tensor), tensor.numel()) for tensor in tensors)

    def look_at(self, inputs):
        """A module is given these: are they what was received? Data is not differentiated."""
        inputs = [tensor for tensor in inputs if tensor.requires_grad]
        if inputs and self.received:
            memory = {storage_of(ref()) for ref, _ in self.received if ref() is not None} - {None}
            sizes = {size for _, size in self.received}
            self.certain = any(storage_of(tensor) in memory for tensor in inputs)
            self.known = self.certain or any(tensor.is_leaf and tensor.numel() in sizes for tensor in inputs)

    def micros(self, tensors):
        """The micro-steps that tensors are of, in order."""
        return sorted({micro for tensor in tensors for micro, _ in self.outputs.sources(tensor)}) if self.known else []

    def begins(self, module, inputs, micro):
        """A forward begins, in micro-step `micro` if this is no pipeline; returns which one it is in."""
        if not self.known:
            self.look_at(inputs)
        if self.known:
            micro = next(iter(self.micros(inputs)), self.forwards.get(id(module), 0))
        self.forwards[id(module)] = micro + 1
        if micro not in self.waiting:
            self.waiting.append(micro)
        return micro

    def has_run(self, micro):
        return any(micro < following for following in self.forwards.values())

    def returns(self, tensors, micro):
        tensors = [tensor for tensor in tensors if tensor.is_floating_point()]
        if self.known:
            for tensor in tensors:
                self.outputs.produce(tensor, micro)
        else:
            self.returned = [(weakref.ref(tensor), tensor.numel(), micro) for tensor in tensors if tensor.numel() > 1]

    def differentiates(self, roots, given):
        """Backward begins; `given`: with a gradient for one of its roots. Returns the micro-step, None if that is not known."""
        found = self.micros(roots) or self.waiting[:1]
        # One loss of several forwards, on a rank that seems to have sent on what they returned: it has only shown that to others.
        self.refuted = self.known and len(found) > 1 and not given and not self.certain
        self.returned, self.waiting = [], [micro for micro in self.waiting if self.known and micro not in found]
        return found[0] if self.known and found else None


class Local(threading.local):
    """State of one thread: autograd runs backward on threads of its own for each device."""

    def __init__(self):
        self.stack = []                                           # Frames
        self.quiet = 0                                            # > 0: inside a loader, whose transforms may be modules
        self.busy = False                                         # inside the recorder
        self.optimizers = []                                      # whose step is running
        self.operators = False                                    # operators are watched


def guarded(method):
    """For everything that is called from a wrapper: one thread at a time, time is added up, and an error stays here."""

    @functools.wraps(method)
    def run(self, *args, **kwargs):
        local = self.local
        if self.dead or local.busy:
            return None
        local.busy, begin = True, time.perf_counter()
        try:
            compiler = swap_compiler(None)
            try:
                with self.lock, torch._C.DisableTorchFunction():
                    return method(self, *args, **kwargs)
            except OSError as error:
                self.give_up("%s: %s" % (type(error).__name__, error))
            except Exception as error:
                self.miss(method.__name__, "error in the recorder: %s: %s" % (type(error).__name__, str(error)[:200]))
            finally:
                swap_compiler(compiler)
        except Exception as error:                                # where the stack is used up, nothing but built-ins can be called
            what = (method.__name__, "error in the recorder: %s" % type(error).__name__)
            self.missed[what] = self.missed.get(what, 0) + 1
        finally:
            local.busy = False
            self.cost += time.perf_counter() - begin
        return None

    return run


def swap_compiler(other):
    """What torch.compile has this thread do with new Python frames is `other` from now on, None for nothing; returns what it was."""
    swap = getattr(eval_frame(), "set_eval_frame", None)
    return swap(other) if swap is not None else None


def inside_compiled_code():
    """Whether what torch.compile has made of a function is running."""
    frame = sys._getframe()
    while frame is not None and "%s_dynamo%s" % (os.sep, os.sep) not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def eval_frame():
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def keep_from_compiler():
    """Below a call that is compiled, torch.compile takes up every Python frame that it could not make part of the graph: it would compile our
    wrappers, split them where they do what it cannot, and make more graphs than the script has. So it is told to run the frames of this file as
    they are; what they call is still compiled."""
    compiler = eval_frame()
    if hasattr(compiler, "set_code_exec_strategy"):
        strategy = compiler._FrameExecStrategy(compiler._FrameAction.SKIP, compiler._FrameAction.DEFAULT)
        def skip(code):
            compiler.set_code_exec_strategy(code, strategy)
    else:
        skip = getattr(compiler, "skip_code", None)

    def walk(code):
        skip(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                walk(constant)

    if skip is not None:
        for member in [member for owner in (Patches, Session) for member in vars(owner).values()] + [guarded, swap_compiler, eval_frame]:
            if isinstance(member, types.FunctionType):
                walk(member.__code__)


class Session:
    """The state of one recorded process: which step and micro-step it is in, and what of it is written.

    A micro-step ends when the outermost backward returns; the next one begins with a batch, a training forward or a backward. A step ends at the
    first of these after an optimizer step, so that several optimizers in a row share it; in a script without torch.optim, at the first after
    parameters have changed. Calls of modules without parameters (metrics) begin
    neither: they belong to what was. In a stage of a pipeline, several micro-steps are under way at once: they are numbered by the schedule of
    torch.distributed.pipelining, else by Stage, and are left and resumed. A process becomes a rank, with a folder, at its first training forward
    or backward.
    """

    def __init__(self, options):
        self.options, self.masker = options, Masker()
        self.masker.learn_environment()
        self.argv = self.masker.arguments(sys.argv)
        if self.argv:
            self.argv[0] = os.path.basename(self.argv[0])
        self.created = utc_now()
        self.selection, self.mode, self.budget = options.selection, None, None
        self.noise = Noise() if options.noise else None
        self.step_began, self.recorded_seconds = time.perf_counter(), 0.0
        self.triggers, self.history, self.scaling = [], collections.defaultdict(lambda: collections.deque(maxlen=64)), False
        self.ring = collections.deque(maxlen=max(1, self.selection.ring))         # (step, what would have been written)
        self.watched = {}                                         # signal -> (our handler, the one before)
        self.requests = self.answers = 0                          # SIGUSR1: seen by the main thread; answered, by whichever thread came first
        self.anticipated = 0                                      # answered by close() before the thread of watch_signals() came to it
        self.sources = Sources()
        self.names, self.flow, self.batches, self.values = Names(self.sources), Flow(), Batches(), Values()
        self.local, self.lock = Local(), threading.RLock()
        self.writer = None
        self.dead = False
        self.cost = 0.0
        self.rank, self.world = 0, 1
        self.missed = collections.Counter()                       # (what, why) -> how often
        self.calls_run = self.calls_recorded = self.evaluations = 0
        self.compiled = {}                                        # path of a compiled module -> [calls, modules inside]
        self.error = None

        self.step, self.micro, self.micro_done = 0, 0, False
        self.manual = False                                       # the script numbers its steps itself: rec.step(n)
        self.updated = False                                      # the optimizer has stepped, so the step ends at the next event
        self.hand = HandUpdates()
        self.in_backward = self.in_grad = 0
        self.optimizer_steps = 0                                  # counts, to see whether a GradScaler skipped one

        self.optimizers, self.searched = [], False
        self.rates = {}                                           # (number of the optimizer, group) -> number of the learning rate
        self.loaders, self.loader_options = [], []                # weak references, and what rank.json says of each
        # What rank.json says of optimizers and wrappers, as they were when they were first used.
        self.optimizer_options, self.ddp_options = {}, []
        self.seeds, self.comm_hooks = [], {}
        self.declared = []                                        # (pattern, placement) of the user
        self.early = []                                           # scalars from before the first forward
        self.first_update = False
        self.spread_hooks, self.spread_modules = [], weakref.WeakSet()
        self.whole_owners, self.whole_parameters = set(), {}      # ids of modules below FSDP2; id -> Parameter
        # Of a pipeline: the state of the micro-steps that are under way, but for this one; whether there are such; and who numbers them.
        self.chunks, self.in_chunk, self.stage = {}, False, Stage()
        self.clear_step()

    # -- the state

    @property
    def recording(self):
        return self.writer is not None and self.mode is not None

    def capturing(self):
        return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()

    def clear_step(self):
        self.reduced = {}                                         # parameter -> record of its reduced gradient, or None
        self.updated_parameters, self.buffers_written = set(), False
        self.entered = set()                                      # optimizers whose step this one has
        self.scalar_names = collections.Counter()
        self.chunks = {}
        self.stage.next_step()
        self.clear_micro()

    def clear_micro(self):
        self.counts = collections.Counter()                       # path -> calls
        self.originals = {}                                       # path -> [Original]
        self.held = []                                            # outputs that may turn out to be the loss
        self.gradients, self.gradients_seen = {}, set()           # local gradients waiting for the end of backward; written ones
        self.outputs_seen, self.views = set(), []
        self.unscaled = {}
        self.batches_put = 0
        self.reentrant = False
        self.edges = set()
        self.operator_counts, self.operator_places = collections.Counter(), {}
        self.flow.clear()
        self.values.forget()

    def miss(self, what, why):
        self.missed[what, why] += 1

    def miss_value(self, what, value):
        """A value without a tensor: say so once for its class."""
        name = class_without_tensors(value)
        if name is not None:
            self.missed[what, "no tensor is found in a value of the class %s" % name] = 1

    def give_up(self, why):
        self.dead = True
        say("recording of rank %d stopped at step %d: %s. The training goes on." % (self.rank, self.step, self.masker.text(why)))

    def advance(self):
        """Called at a batch, a training forward or a backward: begins a step if the optimizer has stepped, a micro-step if backward has run."""
        self.end_step()
        if self.micro_done:
            self.release_held()
            self.micro, self.micro_done = self.micro + 1, False
            self.clear_micro()
            self.batches.next_micro()

    def end_step(self):
        """If the optimizer has stepped."""
        if self.updated and not self.local.optimizers:
            self.updated = False
            if not self.manual:
                self.begin_step(self.step + 1)

    def look_for_hand_update(self):
        if self.optimizer_steps or self.updated or self.local.optimizers or self.capturing() or not self.hand.happened():
            return
        self.updated = True
        if self.recording:
            self.release_held()
            for root in [root.ref() for root in self.names.roots if root.ref() is not None]:
                self.put_parameters(root, "optimizer")
                self.put_buffers(root, "optimizer")

    def iterations_in_one_step(self):
        """How many iterations count as step 0 because nothing says where a step ends; 0 if that is known."""
        if self.step or self.updated or self.optimizer_steps or self.manual or self.in_chunk:
            return 0
        iterations = self.micro + self.micro_done
        return iterations if iterations > 1 else 0

    def begin_step(self, number):
        self.release_held()
        self.step, self.micro, self.micro_done = number, 0, False
        self.clear_step()
        self.batches.next_micro()
        self.enter_step()
        if self.selection.over(self.step):
            self.remove_hooks()
            self.batches = Batches()

    def enter_step(self):
        """Find out how the step that begins is recorded."""
        now = time.perf_counter()
        if self.mode is not None:
            self.recorded_seconds += now - self.step_began
        self.step_began, self.mode = now, self.selection.mode(self.step)
        if self.writer is None:
            return
        if self.options.plan:
            self.mode = "selected"
            if self.step >= PLAN_STEPS:
                self.end_plan()
        self.writer.captured = None
        if self.mode == "ring":
            self.ring.append((self.step, []))
            self.writer.captured = self.ring[-1][1]

    def end_plan(self):
        """Two steps were looked at: say what they would take, and end the process before the script goes on."""
        self.say_plan()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def say_plan(self):
        by_step = collections.Counter()
        for (step, _, _), size in self.writer.bytes.items():
            by_step[step] += size
        seen = sorted(by_step)
        ranges, total, steps = self.selection.ranges, 0, 0
        for first, end in ranges:
            if end < UNBOUNDED:
                for step in seen:
                    total += by_step[step] if first <= step < min(end, seen[-1]) else 0
                later = max(0, end - max(first, seen[-1])) if seen else 0
                total, steps = total + later * (by_step[seen[-1]] if seen else 0), steps + end - first
        lines = ["plan for rank %d of %d, from %s that this script has just run:"
                 % (self.rank, self.world, "the %d training steps" % len(seen) if len(seen) > 1 else "the one training step")]
        for step in seen:
            parts = ["%s/%s %s" % (phase, kind, readable_size(size)) for (number, phase, kind), size in self.writer.bytes.items() if number == step]
            lines.append("  step %d: %s (%s)" % (step, readable_size(by_step[step]), ", ".join(parts)))
        if self.iterations_in_one_step():
            lines.append("  No optimizer was seen: all %d iterations of the script count as one step, whatever --steps says"
                         % self.iterations_in_one_step())
        elif any(end >= UNBOUNDED for _, end in ranges):
            lines.append("  --steps %s has no end: each further step takes as much as the last one above" % self.selection.steps)
        elif seen:
            lines.append("  --steps %s, %d step%s: about %s on this rank"
                         % (self.selection.steps, steps, "" if steps == 1 else "s", readable_size(total)))
        lines += ["  " + line for line in self.unmatched()]
        lines.append("  Upper bound: equal bytes are written once. Nothing was recorded, and the training was ended here.")
        say("\n".join(lines))

    MICRO_STATE = ("counts", "originals", "held", "gradients", "gradients_seen", "outputs_seen", "views", "unscaled", "batches_put", "reentrant",
                   "edges", "operator_counts", "operator_places", "flow")

    @guarded
    def chunk(self, number):
        """A pipeline's schedule runs forward or backward of micro-batch `number`; several are under way at once."""
        self.stage.watched = False
        self.end_step()
        self.resume(number)

    def resume(self, number):
        """Leave this micro-step, and go on with another one, or begin it."""
        self.in_chunk, self.micro_done = True, False
        if number != self.micro:
            self.release_held()
            self.chunks[self.micro] = {name: getattr(self, name) for name in self.MICRO_STATE}
            self.micro, state = number, self.chunks.pop(number, None)
            if state is None:
                self.flow = Flow()
                self.clear_micro()
            else:
                self.__dict__.update(state)

    # -- pipelines without a schedule of PyTorch's

    @guarded
    def tensors_sent(self, tensors):
        if self.stage.watched and not self.stage.known:
            self.stage.sends(tensors)

    @guarded
    def tensors_received(self, tensors):
        if self.stage.watched and not self.stage.known:
            self.stage.receives(tensors)

    def resume_by_hand(self, number):
        if number != self.micro:
            self.batches.resume(self.micro, number)
        self.resume(number)

    def place(self, module, inputs):
        """Find the micro-step of an outermost call; returns whether it is a forward that is numbered."""
        stage = self.stage
        if not stage.watched or self.world == 1:
            return False
        if next(module.parameters(), None) is None:               # a loss
            for number in stage.micros(inputs)[:1]:
                self.resume_by_hand(number)
            return False
        if not torch.is_grad_enabled() and not any(tensor.requires_grad for tensor in inputs):      # else reentrant checkpointing calls it
            return False
        number = stage.begins(module, inputs, self.micro)
        if stage.known:
            self.resume_by_hand(number)
        return True

    def leave_pipeline(self):
        """It was none."""
        self.stage, self.in_chunk = Stage(), False
        self.stage.watched = False
        self.micro = max([self.micro] + list(self.chunks))
        self.miss("micro-steps of step %d" % self.step, "what this rank has sent made it look like a stage of a pipeline")

    def remove_hooks(self):
        for parameter in self.names.parameters.values():
            if parameter.hook is not None:
                parameter.hook.remove()
                parameter.hook = None
        for parameter in self.whole_parameters.values():
            parameter.hook.remove()
        for hook in self.spread_hooks:
            hook.remove()
        self.spread_hooks, self.spread_modules, self.whole_parameters = [], weakref.WeakSet(), {}

    # -- becoming a rank

    def become_rank(self):
        if self.writer is not None:
            return
        self.pid = os.getpid()
        if torch.utils.data.get_worker_info() is not None:        # a loader's worker
            self.dead = True
            return
        distributed = torch.distributed
        rank, world = rank_from_environment()
        if distributed.is_available() and distributed.is_initialized():
            rank, world = distributed.get_rank(), distributed.get_world_size()
        self.rank, self.world = rank or 0, world or 1
        if not self.selection.has_rank(self.rank):
            self.dead = True
            return
        try:
            self.writer = PlanWriter() if self.options.plan else Writer(self.options.out, self.rank)
        except FileExistsError:
            self.dead = True
            say("this process is not recorded: %s already has a recording of rank %d" % (self.options.out, self.rank))
            return
        self.names.write = self.writer.graph
        self.run_id = self.options.run_id or str(uuid.uuid4())
        agreed = agreed_run_id(self.run_id) if self.world > 1 else None
        self.run_id = agreed or self.run_id
        bundle = self.writer.bundle_json(dict(self.run_fields("name"), format="forkpoint-bundle", version=FORMAT_VERSION))
        if not agreed and not self.options.run_id and bundle.get("world_size") == self.world:
            self.run_id = bundle.get("run_id", self.run_id)       # the first rank of the launch has chosen it
        self.description = Description(self)
        self.write_rank("recording")
        for line in self.early:
            self.writer.scalar(**line)
        self.early = []
        if self.selection.budget:
            self.budget = Budget(self.selection.budget, sum(end - first for first, end in self.selection.ranges), self.world)
        self.enter_step()
        self.watch_signals()
        # Registered this late, it runs before what the script registered earlier: leaving a process group may end the process.
        atexit.register(self.close)
        from multiprocessing import util                          # children of multiprocessing leave without atexit
        util.Finalize(self, Session.close_child, args=(weakref.ref(self),), exitpriority=100)

    def run_fields(self, name):
        return {name: self.options.name, "run_id": self.run_id, "attempt": self.options.attempt, "created": self.created,
                "command": self.argv, "world_size": self.world, "producer": {"name": MODULE_NAME, "version": VERSION}}

    def write_rank(self, status):
        value = dict(format="forkpoint-rank", version=FORMAT_VERSION, **self.run_fields("run"))
        value.update(rank=self.rank, status=status, steps=self.options.steps)
        selection = self.selection.fields()
        if self.budget is not None:
            selection["budget"] = self.budget.fields(self.selection.budget)
        if selection:
            value["selection"] = selection
        if self.error:
            value["error"] = self.error
        if self.triggers:
            value["triggers"] = self.triggers
        if self.noise is not None:
            value["noise"] = {"what": self.noise.what or "nothing yet", "ulps": 1, "tensors": self.noise.tensors}
        value.update(self.description.fields())
        missing = [{"what": what, "why": self.masker.text(why), "count": count} for (what, why), count in self.missed.items()]
        if self.flow.given_up:
            missing.append({"what": "edges", "why": "more than %d autograd nodes lie between two modules" % MAX_WALK, "count": self.flow.given_up})
        value["coverage"] = {"calls": self.calls_run, "calls_seen": self.calls_recorded, "evaluation": self.evaluations,
                             "tensors": self.writer.tensors, "bytes": self.writer.position, "not_observed": missing,
                             "cost_seconds": round(self.cost, 6)}
        if self.compiled:
            value["coverage"]["compiled"] = [{"module": path, "calls": calls, "modules": inside} for path, (calls, inside) in self.compiled.items()]
            value["coverage"]["eager_twin"] = self.eager_twin()
        if self.values.changed_unseen:
            value["coverage"]["changed_unseen"] = self.values.changed_unseen
        self.writer.rank_json(value)

    @staticmethod
    def close_child(ref):
        session = ref()
        if session is not None:
            error = sys.exc_info()[1]
            if isinstance(error, SystemExit) and not error.code:
                error = None
            session.close(error)

    def fail(self, error):
        """Remember the exception that the script ends with."""
        text = str(error).strip().splitlines()
        # The message is masked by itself: "KeyError: 'name'" would look like a secret.
        self.error = "%s: %s" % (type(error).__name__, self.masker.text(text[0])[:500]) if text else type(error).__name__

    def close(self, error=None):
        """Complete the bundle. Safe to call twice."""
        writer = self.writer
        if error is not None and self.error is None:
            self.fail(error)
        if writer is None or not writer.files or os.getpid() != self.pid:
            self.dead = True
            return
        stopped = self.dead
        try:
            if not stopped:
                self.look_for_hand_update()
                if self.iterations_in_one_step():
                    self.miss("where steps end", "no optimizer of torch.optim has stepped, and no parameter was seen to change")
                self.release_held()
                if self.error:
                    self.pull_trigger("the script ended with an exception")
                with self.lock:
                    self.anticipated = max(0, self.requests - self.answers)
                    if self.anticipated and not self.error:       # the signal ended what the script waited in, and so the script
                        self.pull_trigger("SIGUSR1")
            if self.mode is not None:
                self.recorded_seconds += time.perf_counter() - self.step_began
            self.dead = True
            self.remove_hooks()
            self.write_rank("failed" if self.error else "recording" if stopped else "complete")
            writer.close()
            if self.options.plan:
                self.say_plan()
            else:
                say(self.summary())
        except Exception as problem:
            say("the recording of rank %d is incomplete: %s: %s" % (self.rank, type(problem).__name__, problem))

    def summary(self):
        """One line at the end: what was recorded, how large it is, what it cost, what is missing."""
        writer, details = self.writer, self.writer.details
        kinds = ["%d %s" % (details[detail], {"full": "full"}.get(detail, "as " + detail)) for detail in DETAILS if details[detail]]
        parts = ["rank %d: %d tensors%s of %s, %s, in %s"
                 % (self.rank, writer.tensors, " (%s)" % ", ".join(kinds) if details and set(details) != {"full"} else "",
                    "the steps %s" % self.selection.steps if self.selection.ranges else "no selected step", readable_size(writer.position),
                    self.options.out)]
        parts += self.unmatched()
        if self.triggers:
            parts.append("the flight recorder wrote %s" % ", ".join("step %d (%s)" % (t["step"], t["why"]) for t in self.triggers))
        parts.append("recording took %.2f s of %.2f s" % (self.cost, max(self.cost, self.recorded_seconds)))
        if self.budget is not None and self.budget.dropped:
            kinds = collections.Counter("%s of %s" % (after, what.rpartition("/")[0]) for what, (_, after) in self.budget.dropped.items())
            parts.append("to stay within --budget, only the %s: names in rank.json"
                         % ", ".join("%s (%d names)" % item for item in sorted(kinds.items())))
        if self.iterations_in_one_step():
            parts.append("no optimizer was seen: all %d iterations count as one step" % self.iterations_in_one_step())
        missing = self.calls_run - self.calls_recorded
        if missing:
            parts.append("%d of %d module calls were not seen whole" % (missing, self.calls_run))
        if self.evaluations:
            parts.append("%d evaluation calls were left out" % self.evaluations)
        if self.values.changed_unseen:
            parts.append("%d tensors were changed behind autograd's back after they had been recorded" % self.values.changed_unseen)
        if self.compiled:
            calls, inside = (sum(region[place] for region in self.compiled.values()) for place in (0, 1))
            parts.append("%d calls of compiled modules hide the %d modules inside; to see them, record the eager twin: %s"
                         % (calls, inside, self.eager_twin()))
        if self.missed:
            parts.append("not observed: " + "; ".join(sorted({what for what, _ in self.missed})[:3])
                         + (" and more: see rank.json" if len(self.missed) > 3 else ""))
        return "; ".join(parts)

    def unmatched(self):
        """[a sentence] if --modules is like the path of no module that was seen."""
        pattern, paths = self.selection.modules, sorted(path for path in self.names.described if path)
        if pattern is None or not paths or self.selection.matched or any(pattern.search(path) or pattern.search(normalised(path)) for path in paths):
            return []
        return ["--modules %s matches no module; there are %s%s" % (pattern.pattern, ", ".join(paths[:5]), ", ..." if len(paths) > 5 else "")]

    def eager_twin(self):
        """The command that records the same run with torch.compile switched off."""
        if not self.options.launch:
            return "the same script with TORCHDYNAMO_DISABLE=1 in its environment"
        return "TORCHDYNAMO_DISABLE=1 " + " ".join(shlex.quote(word) for word in self.masker.arguments(self.options.launch))

    def before_fork(self):
        """A signal for the child that arrives before after_fork() would be taken for the parent's: they share the pipe."""
        if self.watched:
            self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.watched)

    def after_fork_in_parent(self):
        if self.watched:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def after_fork(self):
        """In a forked child: the files belong to the parent."""
        self.lock = threading.RLock()
        if self.writer is not None:
            self.dead = True
        if self.watched:                                          # a signal here is no message for the parent, and ends the child as ever
            with contextlib.suppress(ValueError, OSError):
                signal.set_wakeup_fd(-1)
                for number, (handler, before) in self.watched.items():
                    if signal.getsignal(number) is handler:
                        signal.signal(number, before)
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    # -- the flight recorder

    def pull_trigger(self, why):
        """Write the steps that are kept in memory, and the rest of this one as it comes."""
        if not self.selection.ring or self.writer is None or not self.writer.files or self.options.plan:
            return
        if len(self.triggers) == MAX_TRIGGERS:
            self.miss("further triggers of the flight recorder", "it has written %d times" % MAX_TRIGGERS)
            return
        held = [(step, entries) for step, entries in self.ring if entries]
        self.ring.clear()
        self.writer.captured = None
        for _, entries in held:
            self.writer.release(entries)
        self.triggers.append({"step": self.step, "why": self.masker.text(why), "steps": [step for step, _ in held]})
        say("rank %d, step %d: %s; the flight recorder wrote %s"
            % (self.rank, self.step, self.masker.text(why), "the steps %s" % ", ".join(str(step) for step, _ in held) if held else "nothing new"))
        self.write_rank("recording")

    def watch(self, name, value):
        """A loss or gradient norm: outside its band, or not finite, it triggers the flight recorder."""
        kind = re.sub(r"#\d+$", "", name)
        if not self.selection.ring or kind not in ("loss", "grad_norm") and kind not in self.selection.bands:
            return
        if not math.isfinite(value):
            if kind == "loss" or not self.scaling:                # a loss scaler looks for its scale by infinite gradients
                self.pull_trigger("%s is %s" % (name, plain(value)))
            return
        low, high = self.selection.bands.get(kind) or self.usual(name)
        if not low <= value <= high:
            self.pull_trigger("%s %.6g is outside %.6g to %.6g" % (name, value, low, high))
        self.history[name].append(value)

    def usual(self, name):
        """The band of a number without --band: around the median of its last values, BAND_WIDTH times as wide as their usual deviation."""
        past = sorted(self.history[name])
        if len(past) < BAND_VALUES:
            return -math.inf, math.inf
        middle = past[len(past) // 2]
        spread = max(sorted(abs(value - middle) for value in past)[len(past) // 2], abs(middle) * 0.05)
        return middle - BAND_WIDTH * spread, middle + BAND_WIDTH * spread

    def watch_signals(self):
        """SIGUSR1 asks for the ring, and SIGTERM is its last chance. A thread does it, because the main thread may hang in a collective and run
        no handler. A script that handles SIGTERM itself ends as it wants to."""
        if not self.selection.ring or not hasattr(signal, "SIGUSR1") or threading.current_thread() is not threading.main_thread():
            return
        receive, send = os.pipe()
        os.set_blocking(send, False)
        before, ends = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        former = signal.set_wakeup_fd(send, warn_on_full_buffer=False)
        if former != -1:                                          # the script's event loop has it: the handler must do
            signal.set_wakeup_fd(former, warn_on_full_buffer=False)
        ref, owner = weakref.ref(self), os.getpid()

        def asked(number):
            session = ref()
            if os.getpid() == owner and number == signal.SIGTERM:
                try:
                    # The main thread may hang for good while it holds the lock: without the ring then.
                    if session is not None and not session.dead and session.lock.acquire(timeout=5):
                        session.pull_trigger("SIGTERM")
                        session.error = session.error or "SIGTERM"
                        session.write_rank("failed")
                finally:                                          # die of it, as without a recorder; only the main thread may use signal()
                    ctypes.CDLL(None).signal(int(signal.SIGTERM), None)
                    os.kill(owner, signal.SIGTERM)
            elif session is not None and not session.dead and os.getpid() == owner:
                with session.lock:
                    if session.anticipated:
                        session.anticipated -= 1
                    else:
                        session.answers += 1
                        session.pull_trigger("SIGUSR1")

        def handler(number, frame):
            if former != -1:
                threading.Thread(target=asked, args=(number,), daemon=True).start()
            if number == signal.SIGUSR1 and callable(before):
                before(number, frame)
            session = ref()
            if number == signal.SIGUSR1 and session is not None:
                session.requests += 1
            if number == signal.SIGTERM and session is not None and not session.local.busy:
                time.sleep(10)                                    # the script goes no further; the thread ends the process

        def wait():
            while True:
                number = os.read(receive, 1)[0]
                if number == signal.SIGUSR1 or number == signal.SIGTERM and signal.getsignal(number) is handler:
                    asked(number)

        self.watched[signal.SIGUSR1] = (handler, before)
        if ends:
            self.watched[signal.SIGTERM] = (handler, signal.SIG_DFL)
        for number in self.watched:
            signal.signal(number, handler)
        if former == -1:
            threading.Thread(target=wait, name="forkpoint signals", daemon=True).start()

    # -- records

    def put(self, tensor, phase, kind, module, micro=True, held=False, missing=None, **fields):
        """Write one tensor; returns its record, if there is one now. `micro`: the micro-step, True for the one that runs. With `held`, the record
        waits until it is known whether the tensor is the loss; with `missing`, it says why there is no value."""
        try:
            return self.put_or_raise(tensor, phase, kind, module, micro, held, missing, fields)
        except OSError:
            raise
        except Exception as error:                                # one record is lost, not the state of the session
            self.miss("%s of %s" % (kind, module or "the root"), "error in the recorder: %s: %s" % (type(error).__name__, str(error)[:200]))
            return None

    def put_or_raise(self, tensor, phase, kind, module, micro, held, missing, fields):
        dtype = str(tensor.dtype).replace("torch.", "")
        if dtype not in DTYPES:
            self.miss("%s of %s" % (kind, module), "dtype %s" % dtype)
            return None
        unless = fields.pop("unless", None)
        detail = self.selection.detail(self.mode, self.step, phase, kind, module, fields.get("param"), fields.get("slot"))
        if detail == "none":
            return None
        sharding = sharding_of(tensor, phase in ("data", "forward", "backward"))
        missing = missing or fields.pop("not_observed", None) or sharding.pop("not_observed", None)      # the first: of spread_as()
        with torch.no_grad():
            record = {"step": self.step}
            if micro is not False:
                record["micro"] = self.micro if micro is True else micro
            record.update(phase=phase, kind=kind, module=module)
            record.update((name, value) for name, value in fields.items() if value not in (None, "", 0, False) or name == "param")
            whole, offset = fields.get("global_shape", sharding.get("global_shape")), fields.get("global_offset", sharding.get("global_offset"))
            if missing:
                local, result = tensor, None
            elif held:
                local, missing = on_host(tensor)
            else:
                if self.budget is not None and self.mode == "selected":
                    detail = self.budget.admit(record, detail, *planned_bytes({"global_shape": whole}, local_of(tensor)))
                local, result, missing = self.examined(tensor, detail, whole, offset)
            if unless is not None and result is not None and same_values(result[0], unless):
                return None
            record.update(order=self.writer.order(), dtype=dtype, shape=list(local.shape if local is not None else tensor.shape))
            for name, value in sharding.items():
                record.setdefault(name, value)
            if missing:
                self.miss("%s of %s" % (kind, module or "the root"), missing)
            elif held:
                self.held.append((weakref.ref(tensor), record, local.clone(), detail))
                return None
            return self.writer.tensor(record, result, detail, missing)

    def examined(self, tensor, detail, whole=None, offset=None):
        """(the local tensor, what Writer.examine() says of it, why not), read only if it has changed since it was last looked at."""
        known, key = self.values.of(tensor), (detail, tuple(whole or ()), tuple(offset or ()))
        if known is not None and key in known.results:
            return known.ref(), known.results[key], None
        host, why = on_host(tensor)
        if host is None:
            return None, None, why
        result = self.writer.examine(host, detail, whole, offset)
        if known is not None:
            known.results[key] = result
        return host, result, None

    def put_parameter(self, tensor, parameter, phase, kind, micro=False, slot=None, unless=None):
        """As put(), of a parameter or of what belongs to it. `unless`: a record; a tensor with the same values gets none."""
        placement = self.placement_of(parameter.full_name)
        if phase == "backward":                                   # the rank's own part of a gradient is a replica of nothing
            placement = [place for place in placement if place["type"] == "shard"]
        elif parameter.replicated:
            placement = [{"axis": "dp", "type": "replicate"}] + placement
        if kind == "optimizer_state" and tensor.dim() == 0:
            placement = [place for place in placement if place["type"] != "shard"]
        tensor, missing = self.unflattened(tensor, parameter)
        if tensor is None:
            self.miss("parameters of which this rank has nothing", "FullyShardedDataParallel keeps them on other ranks")
            return None
        return self.put(tensor, phase, kind, parameter.module, micro=micro, param=parameter.name, slot=slot, placement=placement or None,
                        unless=unless, missing=missing)

    @staticmethod
    def unflattened(tensor, parameter):
        """(tensor, None), in the parameter's shape where this rank has all of it; (a tensor of that shape without values, why) where FSDP1 left a
        piece, which is a run of elements and no block of the whole; (None, None) where it left nothing, so that others have what there is."""
        piece, whole = parameter.ref(), parameter.whole
        if whole is None or piece is None or piece.shape == whole or not tensor.dim():
            return tensor, None
        if not piece.numel():
            return None, None
        if piece.numel() < whole.numel():
            return torch.empty(whole, dtype=tensor.dtype, device="meta"), "this rank has a flat piece of it (FullyShardedDataParallel with " \
                "use_orig_params); fully_shard keeps pieces that can be placed"
        return tensor.detach().view(whole) if tensor.numel() == whole.numel() else tensor, None

    def placement_of(self, name):
        names = (name, script_name(name))
        return [placement for pattern, placement in self.declared if any(fnmatch.fnmatchcase(n, pattern) for n in names)]

    def release_held(self, loss=()):
        """Write the outputs that were held back, except those that are the loss: they are its record."""
        held, self.held = self.held, []
        for ref, record, host, detail in held:
            tensor = ref()
            if tensor is None or not any(tensor is root for root in loss):
                self.writer.tensor(record, self.writer.examine(host, detail, record.get("global_shape"), record.get("global_offset")), detail)

    def scalar(self, name, value, micro=False):
        line = {"step": self.step}
        if micro:
            line["micro"] = self.micro
        value = float(value)
        line.update(name=name, value=value)
        self.watch(name, value)
        if self.writer is None:
            self.early.append(line)
        else:
            self.writer.scalar(**line)

    def numbered(self, name):
        """The name for its first use in the step; `name#1` for the second."""
        count = self.scalar_names[name]
        self.scalar_names[name] += 1
        return "%s#%d" % (name, count) if count else name

    # -- data

    @guarded
    def loader_started(self, loader):
        """A pass over a loader begins; returns the loader's number."""
        number = next((number for number, ref in enumerate(self.loaders) if ref() is loader), None)
        if number is None:
            options = loader_options(loader)
            for number, ref in enumerate(self.loaders):           # made anew for each evaluation
                if ref() is None and self.loader_options[number] == options:
                    self.loaders[number] = weakref.ref(loader)
                    break
            else:
                number = len(self.loaders)
                self.loaders.append(weakref.ref(loader))
                self.loader_options.append(options)
        self.batches.epoch(number)
        return number

    @guarded
    def batch_fetched(self, loader, batch, ids):
        self.look_for_hand_update()
        self.advance()
        if self.selection.over(self.step) or self.capturing():
            return
        tensors = named_slots(batch)
        if tensors:
            dropped = self.batches.fetched(loader, tensors, ids)
            if dropped:
                self.miss("batch", dropped)
            if self.stage.known and self.stage.has_run(self.micro):
                self.put_batches(self.batches.owed(loader))
        else:
            self.miss_value("batch", batch)

    def put_batches(self, taken):
        if not self.recording:
            return
        for batch, tensors in taken:
            prefix = "batch%d" % self.batches_put if self.batches_put else ""     # of a second loader, or a second batch
            self.batches_put += 1
            for slot, tensor in tensors:
                rows = tensor.shape[0] if tensor.dim() else None
                ids = batch.ids if batch.ids is not None and len(batch.ids) == rows else None
                self.put(tensor, "data", "batch", "", slot=join(prefix, slot), sample_ids=ids)

    # -- forward

    def enter(self, module, args, kwargs):
        """A module is called. Returns its Frame for leave() and unwind(), or None if nothing inside it is of interest."""
        stack = self.local.stack
        if stack and not stack[-1].recorded or "_is_replica" in module.__dict__:   # DataParallel's copies have no names
            return None
        if self.in_backward or self.in_grad:
            return self.recomputed_call(module, args, kwargs) if self.recording and not self.in_grad else None
        if isinstance(module, torch.fx.GraphModule) and self.names.paths(module) is None:
            if stack:
                return self.push(Frame(module))                   # what a compiler has made of the caller's inside
            if inside_compiled_code():
                if not self.local.optimizers:
                    self.miss("modules called by a compiled function, and local gradients",
                              "they are part of its code: record with TORCHDYNAMO_DISABLE=1 to see them")
                return self.push(Frame(module))
        return self.nested_call(module, args, kwargs) if stack else self.outermost_call(module, args, kwargs)

    @guarded
    def outermost_call(self, module, args, kwargs):
        if self.capturing():
            self.miss("module calls", "a CUDA graph was being captured")
            return self.push(Frame(module))
        if self.names.paths(module) is None and being_built():
            return self.push(Frame(module))
        inputs = call_slots(args, kwargs)
        if not torch.is_grad_enabled() and not module.training:
            self.evaluations += 1
            self.batches.evaluated([tensor for _, tensor in inputs])
            return self.push(Frame(module))
        if next(module.parameters(), None) is not None:
            self.look_for_hand_update()
            self.advance()
            self.hand.forward_begins(module)
        self.become_rank()
        if self.dead:
            return None
        tensors = [tensor for _, tensor in inputs]
        numbered = self.place(module, tensors)
        if self.recording:
            self.start(module)
        if not self.micro_done:
            self.put_batches(self.batches.consumed_by(tensors))
        frame = self.call(module, inputs, None, given_in_objects(args, kwargs)) if self.recording else self.push(Frame(module))
        frame.numbered = numbered
        return frame

    @guarded
    def nested_call(self, module, args, kwargs):
        """Objects are looked into where they come from outside. Layers hand them on (a cache), and depend on little of what is in them."""
        parent = self.local.stack[-1]
        return self.call(module, call_slots(args, kwargs, objects=parent.deferred is not None), parent, given_in_objects(args, kwargs))

    def push(self, frame):
        self.local.stack.append(frame)
        return frame

    def unwind(self, frame):
        stack = self.local.stack
        while stack and stack.pop() is not frame:
            pass

    def start(self, module=None):
        """Start records of all known roots that have none in this step."""
        if module is not None:
            self.find_optimizers()
            if self.names.paths(module) is None:
                self.names.adopt(module, self.step)
        roots = [(root, root.ref()) for root in self.names.roots]
        fresh = [(root, living) for root, living in roots if living is not None and root.started_in != self.step]
        if fresh:
            self.names.refresh()
            self.hook_parameters()
            if self.names.flat:
                self.missed["local gradients under FullyShardedDataParallel", "it reduces them before a parameter has them"] = 1
            if self.names.spread:
                self.watch_spread([living for _, living in fresh])
            for wrapper in [ref() for ref in self.names.ddp[len(self.ddp_options):]]:
                self.ddp_options.append(ddp_options(wrapper, self.comm_hooks.get(id(wrapper))))
        for root, living in fresh:
            root.started_in = self.step
            self.put_parameters(living, "start")
            self.put_buffers(living, "start")
        if module is not None:
            self.names.root_of(module).used_in = self.step

    # -- parameters that are spread over ranks (DTensor)

    def watch_spread(self, roots):
        """FSDP2 puts whole parameters into its modules for the time of a call: their gradients are the local ones. And a module's own hooks
        turn what tensor parallelism computed into plain tensors: a global hook sees it before."""
        compiled = any(type(module).__name__ == "OptimizedModule" for root in roots for module in root.modules())
        if compiled:
            self.miss("local gradients and placements of activations", "hooks would change what the compiler makes of the modules")
            return
        ref = weakref.ref(self)
        if not self.spread_hooks:
            def seen(module, args, output):
                session = ref()
                if session is not None and not session.dead:
                    session.spread_output(module, output)
            self.spread_hooks.append(torch.nn.modules.module.register_module_forward_hook(seen))
        for module in {id(m): m for root in roots for m in root.modules()}.values():
            if any(cls.__name__ == "FSDPModule" for cls in type(module).__mro__):
                self.whole_owners.update(id(m) for m in module.modules())

        def called(module, args):
            session = ref()
            if session is not None and not session.dead:
                session.hook_whole_parameters(module)

        for root in roots:
            for module in root.modules():
                if id(module) in self.whole_owners and module._parameters and module not in self.spread_modules:
                    self.spread_modules.add(module)
                    self.spread_hooks.append(module.register_forward_pre_hook(called))

    @guarded
    def hook_whole_parameters(self, module):
        if not self.recording or self.in_backward:
            return
        paths, ref = self.names.paths(module), weakref.ref(self)
        for name, tensor in module._parameters.items():
            if tensor is None or self.names.parameter(tensor) is not None or not tensor.requires_grad or not tensor.is_leaf or not paths:
                continue                                          # named: the sharded one, or one that fully_shard() leaves alone
            known = self.whole_parameters.get(id(tensor))
            if known is not None and known.ref() is tensor:
                continue
            self.whole_parameters[id(tensor)] = parameter = Parameter(tensor, paths[0], name)

            def hook(gradient, parameter=parameter):
                session = ref()
                if session is not None and not session.dead:
                    session.parameter_gradient(parameter, gradient)

            parameter.hook = hook_gradient(tensor, hook)

    @guarded
    def spread_output(self, module, output):
        frame = self.local.stack[-1] if self.local.stack else None
        if frame is not None and frame.module is module and self.recording:
            frame.spread = [(tensor._local_tensor, sharding_of(tensor, True)) for _, tensor in tensors_in(output) if hasattr(tensor, "_local_tensor")]

    @staticmethod
    def spread_as(frame, tensor):
        """How an output is spread that is the local part of what the module computed; {} where it was redistributed since, or never was."""
        for local, sharding in frame.spread or ():
            if local is tensor or local.shape == tensor.shape and storage_of(local) is not None and storage_of(local) == storage_of(tensor):
                return sharding
        return {}

    def put_parameters(self, root, phase):
        for tensor in root.parameters():
            parameter = self.names.parameter(tensor)
            if parameter is not None:
                self.put_parameter(tensor, parameter, phase, "param")

    def put_buffers(self, root, phase):
        for module in root.modules():
            paths = self.names.paths(module)
            for name, buffer in module._buffers.items():
                if buffer is not None and paths:
                    self.put(buffer, phase, "buffer", paths[0], micro=False, param=name)

    def call(self, module, inputs, parent, given):
        path = self.names.path_of(module, parent)
        frame = Frame(module, path, recorded=True)
        frame.given = given
        frame.graded, frame.source = torch.is_grad_enabled(), self.sources.caller()
        if parent is not None:
            if parent.graded and not frame.graded:
                self.reentrant = True
            if parent.deferred is not None and normalised(parent.path) == normalised(path):
                parent.deferred, parent.skipped = None, True      # a wrapper and what it wraps: the inner one is recorded
            elif parent.deferred is not None and is_compiled(parent.module):
                self.open_deferred(parent)                        # what it wraps is in the compiled code around this call
            caller = next((f for f in reversed(self.local.stack) if f.recorded and not f.skipped and f.deferred is None), None)
            if caller is not None:
                frame.parent, frame.parent_call = caller.path, caller.call
        if wraps(module):
            frame.deferred = [(slot, tensor, tensor.detach().clone()) for slot, tensor in inputs]
        else:
            self.open_call(frame, [(slot, tensor, tensor) for slot, tensor in inputs])
        return self.push(frame)

    def open_call(self, frame, inputs):
        """Write the call's line, its inputs, and the edges that lead to them: [(slot, tensor, the value that it had)]."""
        self.calls_run += 1
        frame.call = self.counts[frame.path]
        self.counts[frame.path] += 1
        frame.original = Original(frame.call, frame.parent, frame.parent_call)
        self.originals.setdefault(frame.path, []).append(frame.original)
        self.call_line(frame)
        for slot, tensor, value in inputs:
            frame.original.inputs.append(self.put(value, "forward", "input", frame.path, call=frame.call, slot=slot))
            self.put_edges(tensor, frame.path, frame.call, slot)
        self.calls_recorded += 1

    def open_deferred(self, frame):
        inputs, frame.deferred = frame.deferred, None
        self.open_call(frame, inputs)

    def call_line(self, frame):
        line = {"type": "call", "step": self.step, "micro": self.micro, "module": frame.path, "call": frame.call,
                "order": self.writer.order(), "parent": frame.parent, "parent_call": frame.parent_call, "training": frame.training}
        if frame.source:
            line["source"] = frame.source
        if frame.recompute:
            line["recompute"] = True
        self.writer.graph(**line)

    def put_edges(self, tensor, module, call, slot):
        for (producer, number, output), direct in self.flow.sources(tensor):
            edge = (producer, number, output, module, call, slot)
            if edge not in self.edges:
                self.edges.add(edge)
                self.writer.graph(type="edge", step=self.step, micro=self.micro,
                                  **{"from": {"module": producer, "call": number, "slot": output},
                                     "to": {"module": module, "call": call, "slot": slot}, "direct": direct})

    @guarded
    def leave(self, frame, output):
        if frame.numbered:
            self.stage.returns([tensor for _, tensor in tensors_in(output)], self.micro)
        if not frame.recorded or not self.recording:
            return
        if is_compiled(frame.module):
            self.compiled_call(frame)
        if frame.deferred is not None:                            # a wrapper whose module was not called, or not visibly (torch.compile)
            self.open_deferred(frame)
        outputs = returned_slots(output, frame.given)
        if not outputs and not frame.given:
            self.miss_value("module outputs", output)
        recorded = self.own_outputs(frame, outputs) if frame.skipped else outputs
        self.hand_on(frame, outputs)
        for slot, tensor in recorded:
            if frame.recompute:
                self.put(tensor, "backward", "output", frame.path, call=frame.call, slot=slot, recompute=True)
                if frame.original is None or not frame.original.hooked:
                    self.hook_output(tensor, frame, slot)
                continue
            maybe_loss = tensor.numel() == 1 and tensor.requires_grad and tensor.is_floating_point()
            self.put(tensor, "forward", "output", frame.path, call=frame.call, slot=slot, held=maybe_loss, **self.spread_as(frame, tensor))
            self.flow.produce(tensor, (frame.path, frame.call, slot))
            if self.hook_output(tensor, frame, slot) and frame.original is not None:
                frame.original.hooked = True

    def hand_on(self, frame, outputs):
        """Tell a wrapper what its module has returned. PyTorch's own return the same; one written by hand may scale, cast or add."""
        wrapper = self.local.stack[-2] if len(self.local.stack) > 1 else None
        if wrapper is None or not wrapper.skipped or normalised(wrapper.path) != normalised(frame.path):
            return
        wrapper.call, wrapper.port = frame.call, frame.port
        if not wraps_for_torch(wrapper.module):
            wrapper.inner = [(slot, tensor.detach().clone()) for slot, tensor in outputs]

    @staticmethod
    def own_outputs(frame, outputs):
        """What of a wrapper's outputs is recorded: nothing if its module has returned the same."""
        same = frame.inner is None or len(frame.inner) == len(outputs) and all(
            slot == known and same_bits(tensor, value) for (slot, tensor), (known, value) in zip(outputs, frame.inner))
        frame.inner = None
        if same:
            return []
        frame.port = join(OUTER, frame.port)
        return [(join(frame.port, slot), tensor) for slot, tensor in outputs]

    def compiled_call(self, frame):
        """Count what the call of a compiled module hides: the modules inside that were not seen. With the compiler switched off all are, and
        where it gave up in the middle some."""
        border = getattr(frame.module, "_orig_mod", frame.module)
        hidden = [m for m in border.modules() if m is not border and type(m).forward is not torch.nn.Module.forward
                  and not any(path in self.counts for path in self.names.paths(m) or ())]
        if hidden or not border._modules:
            self.compiled.setdefault(normalised(frame.path), [0, len(hidden)])[0] += 1

    def hook_output(self, tensor, frame, slot):
        """Ask the autograd node of an output for the output's total gradient. Returns whether there is such a node.

        A hook on the tensor would report, in PyTorch 1.13, the gradient of a later value after a change in place; the node's does not.
        """
        if not tensor.requires_grad or tensor.grad_fn is None:
            return False
        outputs = tensor.grad_fn.metadata.setdefault("forkpoint outputs", [])
        outputs.append((tensor.output_nr, frame.path, frame.call, slot, self.micro))
        if len(outputs) == 1:
            ref = weakref.ref(self)

            def hook(_, gradients):
                session = ref()
                if session is not None and not session.dead:
                    session.output_gradients(gradients, outputs)

            tensor.grad_fn.register_hook(hook)
        if tensor._is_view():
            self.views.append((weakref.ref(tensor), version_of(tensor), frame.path, frame.call, slot))
        return True

    def put_lost_views(self):
        """After a change in place of its base, a view's node is never run."""
        for ref, version, path, call, slot in self.views:
            tensor = ref()
            if tensor is not None and version_of(tensor) != version and (path, call, slot, self.micro) not in self.outputs_seen:
                self.put(tensor, "backward", "grad_output", path, call=call, slot=slot, missing="the output is a view that was changed in place")

    # -- recomputation

    @guarded
    def recomputed_call(self, module, args, kwargs):
        """A module runs while backward does: activation checkpointing computes it again."""
        self.calls_run += 1
        stack = self.local.stack
        parent = stack[-1] if stack and stack[-1].recompute else None
        if parent is None and self.names.paths(module) is None:
            self.miss("a recomputed call of %s" % type(module).__name__, "it was not called before")
            return None
        frame = Frame(module, self.names.path_of(module, parent), recorded=True)
        frame.recompute, frame.graded, frame.source = True, torch.is_grad_enabled(), self.sources.caller()
        frame.given = given_in_objects(args, kwargs)
        if wraps(module):
            frame.skipped = True
            return self.push(frame)
        inputs = call_slots(args, kwargs, objects=False)
        frame.original = original = self.original_of(frame.path, parent, [tensor for _, tensor in inputs])
        if original is not None:
            original.recomputed = True
            frame.call, frame.parent, frame.parent_call = original.call, original.parent, original.parent_call
        self.calls_recorded += 1
        self.call_line(frame)
        for slot, tensor in inputs:
            self.put(tensor, "backward", "input", frame.path, call=frame.call, slot=slot, recompute=True)
        return self.push(frame)

    def original_of(self, path, parent, inputs):
        """The forward call that is computed again: the one with the same inputs; else by its caller; else the latest."""
        calls = self.originals.get(path, [])
        waiting = [call for call in calls if not call.recomputed] or calls
        if len(waiting) == 1:
            return waiting[0]
        same = [call for call in waiting if len(call.inputs) == len(inputs)
                and all(self.has_values(tensor, record) for tensor, record in zip(inputs, call.inputs))]
        if parent is not None:
            below = [call for call in waiting if (call.parent, call.parent_call) == (parent.path, parent.call)]
            return next(iter([call for call in below if call in same] or below or same or waiting), None)
        return (same or waiting or [None])[-1]

    def has_values(self, tensor, record):
        """Whether a tensor has the values of one that was recorded; False if that is not known."""
        if record is None or record.get("dtype") != str(tensor.dtype).replace("torch.", ""):
            return False
        local, result, _ = self.examined(tensor, record.get("detail", "full"), record.get("global_shape"), record.get("global_offset"))
        return result is not None and record["shape"] == list(local.shape) and same_values(result[0], record)

    # -- operators

    def operators_around(self, outermost):
        """What to enter around an outermost module call, a loss function or backward, so that its operators are seen."""
        if self.options.level != "op" or self.mode != "selected" or self.writer is None or self.dead or self.local.operators:
            return contextlib.nullcontext()
        if outermost is not None and any(is_compiled(m) for m in outermost.modules()):
            self.miss("operators of compiled modules", "a compiler that is watched compiles nothing")
            return contextlib.nullcontext()
        return self.watched_operators()

    @contextlib.contextmanager
    def watched_operators(self):
        self.local.operators = True
        try:
            with operator_mode(self):
                yield
        finally:
            self.local.operators = False

    @guarded
    def operator_called(self, function, args, kwargs):
        if not self.recording or self.capturing():
            return None
        schema, phase = function._schema, "backward" if self.in_backward else "forward"
        path = self.operator_module(phase)
        key = (phase, path, schema.name)
        number, self.operator_counts[key] = self.operator_counts[key], self.operator_counts[key] + 1
        found = []
        line = {"type": "op", "step": self.step, "micro": self.micro, "phase": phase, "module": path, "op": schema.name, "schema": str(schema),
                "call": number, "order": self.writer.order(),
                "arguments": [operator_value(value, str(place), found) for place, value in enumerate(args)],
                "keywords": {name: operator_value(value, name, found) for name, value in kwargs.items()}}
        if schema.name.startswith("aten::") and not only_aliases(schema):
            for slot, tensor in found:
                self.put_operand(line, "input", slot, tensor)
        return line

    @guarded
    def operator_returned(self, function, line, result):
        found = []
        values = result if isinstance(result, (list, tuple)) else [result]
        line["returns"] = [operator_value(value, str(place), found) for place, value in enumerate(values)]
        if line["op"].startswith("aten::") and not only_aliases(function._schema):
            for slot, tensor in found:
                self.put_operand(line, "output", slot, tensor)
        self.writer.graph(**line)

    def put_operand(self, line, kind, slot, tensor):
        name = "%s/%s" % (line["module"], line["op"]) if line["module"] else line["op"]
        self.put(tensor, line["phase"], kind, name, call=line["call"], slot=slot, level="op")

    def operator_module(self, phase):
        """Path of the module that an operator belongs to; in backward, that of the forward operator whose autograd node runs."""
        if phase == "forward":
            frame = next((frame for frame in reversed(self.local.stack) if frame.recorded and frame.path is not None), None)
            path = frame.path if frame is not None else ""
            with contextlib.suppress(AttributeError):
                self.operator_places[torch.autograd._get_sequence_nr() - 1] = path
            return path
        with contextlib.suppress(AttributeError):
            node = torch._C._current_autograd_node()
            if node is not None:
                return self.operator_places.get(node._sequence_nr(), "")
        return ""

    # -- noise

    def disturbed_batch(self, batch):
        if self.noise is None or self.dead:
            return batch
        with torch.no_grad(), torch._C.DisableTorchFunction():
            return self.noise.batch(batch)

    def disturbed_output(self, module, output):
        if self.dead or self.local.quiet:
            return output
        paths = self.names.paths(module)
        return self.noise.output(module, paths[0] if paths else "", output, (self.step, self.micro), bool(self.in_backward))

    # -- backward

    @guarded
    def enter_backward(self, tensors, gradients=None):
        """The outermost call of the autograd engine: its roots are the loss, unless one of several ranks gives a gradient for what a
        module returned: a pipeline's stage has sent that on."""
        self.advance()
        self.become_rank()
        if self.dead or self.capturing():
            return
        self.names.settled = True
        if not self.optimizer_steps:
            self.hand.backward_begins()
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        gradients = [gradients] if isinstance(gradients, torch.Tensor) else gradients
        if gradients is not None:
            gradients = [gradient for root, gradient in zip(roots, gradients) if isinstance(root, torch.Tensor)]
        roots = [root for root in roots if isinstance(root, torch.Tensor)]       # or edges of the graph
        micro = self.stage.differentiates(roots, any(gradient is not None for gradient in gradients or ()))
        if micro is not None:
            self.resume_by_hand(micro)
        if self.recording:
            self.start()
        self.put_batches(self.batches.consumed_by_loss())
        if self.recording:
            self.release_held(roots)
            self.writer.graph(type="backward", step=self.step, micro=self.micro, root="loss", order=self.writer.order(),
                              source=self.sources.caller())
        for number, root in enumerate(roots):
            name = "loss#%d" % number if number else "loss"
            gradient = gradients[number] if gradients is not None else None
            # Megatron-LM frees the memory of what it has sent: one element is left.
            size = gradient.numel() if self.in_chunk and gradient is not None else root.numel()
            sent = self.in_chunk or gradient is not None and self.world > 1 and any(direct for _, direct in self.flow.sources(root))
            if size > 1 and sent:
                continue
            if self.recording:
                self.put(root, "forward", "output", name)
                self.put_edges(root, name, 0, "")
            if root.numel() == 1:
                self.scalar(name, root.detach().item(), micro=True)
                unscaled = self.unscaled.get(id(root))
                if unscaled is not None and unscaled[0]() is root:
                    self.scalar(name.replace("loss", "loss_unscaled"), unscaled[1].item(), micro=True)

    @guarded
    def leave_backward(self):
        if self.recording:
            for parameter, gradient in self.gradients.values():
                self.put_gradient(parameter, gradient)
            self.put_lost_views()
            self.put_fused()
        if self.stage.refuted:
            self.leave_pipeline()
        self.micro_done = not self.in_chunk

    def differentiated(self, inputs):
        """The [(place, Parameter)] that torch.autograd.grad is asked for, if it stands for a backward: it is asked for parameters."""
        inputs = [inputs] if isinstance(inputs, torch.Tensor) else inputs if isinstance(inputs, (list, tuple)) else ()
        found = [(place, self.names.parameter(tensor)) for place, tensor in enumerate(inputs) if isinstance(tensor, torch.nn.Parameter)]
        return [(place, parameter) for place, parameter in found if parameter is not None]

    @guarded
    def gradients_taken(self, wanted, gradients):
        """torch.autograd.grad has returned; older versions run no hooks of the tensors that it is asked for."""
        if not self.recording:
            return
        for place, parameter in wanted:
            if gradients[place] is not None and parameter.full_name not in self.gradients_seen and parameter.full_name not in self.gradients:
                self.put_gradient(parameter, gradients[place])

    def fused(self):
        """[(tensor, Parameter)] whose gradients a fused kernel adds to `main_grad`, as Megatron-LM's parameters have it."""
        return [(entry.ref(), entry) for entry in list(self.names.parameters.values())
                if entry.ref() is not None and isinstance(getattr(entry.ref(), "main_grad", None), torch.Tensor)]

    def put_fused(self):
        for tensor, parameter in self.fused():
            if tensor.requires_grad and parameter.full_name not in self.gradients_seen:
                self.gradients_seen.add(parameter.full_name)
                self.put(tensor, "backward", "grad", parameter.module, param=parameter.name, missing="accumulated elsewhere: in main_grad")

    @guarded
    def output_gradients(self, gradients, outputs):
        """The engine has the gradients of a node's outputs. A tensor may be the output of several modules: the outermost comes first. One backward
        may serve several micro-steps of a pipeline; else all is of the one that it is in."""
        if not self.recording or not self.in_backward or self.in_grad or self.capturing():
            return
        for number, path, call, slot, micro in reversed(outputs):
            micro = micro if micro in self.chunks else self.micro
            if gradients[number] is not None and (path, call, slot, micro) not in self.outputs_seen:
                self.outputs_seen.add((path, call, slot, micro))
                self.put(gradients[number], "backward", "grad_output", path, micro=micro, call=call, slot=slot)

    def hook_parameters(self):
        for tensor, parameter in [(entry.ref(), entry) for entry in self.names.parameters.values()]:
            if tensor is None or parameter.hook is not None or not tensor.requires_grad or not tensor.is_leaf:
                continue
            ref = weakref.ref(self)

            def hook(gradient, ref=ref, parameter=parameter):
                session = ref()
                if session is not None and not session.dead:
                    session.parameter_gradient(parameter, gradient)

            parameter.hook = hook_gradient(tensor, hook)

    @guarded
    def parameter_gradient(self, parameter, gradient):
        """The engine has a parameter's gradient: this rank's, of this micro-step. One call of the engine makes one total; reentrant checkpointing
        calls it again for each segment, so there the parts are added up and written at the end."""
        if not self.recording or not self.in_backward or self.in_grad or self.capturing():
            return
        key = parameter.full_name
        if getattr(parameter.ref(), "grad_added_to_main_grad", False):
            return                                                # a stand-in without values: put_fused() says so
        if self.reentrant or self.in_backward > 1:
            part, why = on_host(gradient)                         # on the host: the device's memory is the training's
            if key in self.gradients_seen or why:
                self.miss("gradient of %s" % key, why or "a part came from a recomputed segment after the rest was written")
            elif key in self.gradients:
                self.gradients[key] = (parameter, self.gradients[key][1] + part)
            else:
                self.gradients[key] = (parameter, part.clone())
        elif key not in self.gradients_seen:
            self.put_gradient(parameter, gradient)
        elif self.in_chunk:
            self.miss("gradient of %s" % key, "a second backward has added to it in one micro-step of a pipeline")

    def put_gradient(self, parameter, gradient):
        self.gradients_seen.add(parameter.full_name)
        self.put_parameter(gradient, parameter, "backward", "grad", micro=True)
        parameter.gradient = self.values.last(gradient)

    # -- clipping and the optimizer

    @guarded
    def optimizer_made(self, optimizer):
        self.know_optimizer(optimizer)

    def know_optimizer(self, optimizer):
        self.names.optimized.update(id(p) for group in optimizer.param_groups for p in group["params"])
        for known in self.optimizers:
            if known.ref() is optimizer:
                return known
        self.optimizers.append(KnownOptimizer(optimizer, self.optimizer_steps))
        return self.optimizers[-1]

    def number_of(self, optimizer):
        """Number of an optimizer that steps, in the order of first steps. One that is built anew (after a checkpoint) takes the number of its
        predecessor, which it resembles and which has not stepped since."""
        known = self.know_optimizer(optimizer)
        if known.number is None:
            before = [other for other in self.optimizers if other.number is not None]
            replaced = [other for other in before if other.kind == known.kind and other.stepped <= known.made]
            known.number = replaced[0].number if replaced else len({other.number for other in before})
            self.optimizers = [other for other in self.optimizers if other not in replaced]
        return known.number

    def find_optimizers(self):
        """Optimizers made before the recorder was switched on are looked up once, among the variables of the callers."""
        if not self.optimizers and not self.searched:
            self.searched = True
            for value in self.names.visible():
                if issubclass(type(value), torch.optim.Optimizer):
                    self.know_optimizer(value)

    def parameters_of(self, optimizer, number):
        """[(tensor, Parameter)] of an optimizer."""
        tensors = [("%d.%d" % (group_number, position), tensor) for group_number, group in enumerate(optimizer.param_groups)
                   for position, tensor in enumerate(group["params"])]
        unknown = [(label, tensor) for label, tensor in tensors if self.names.parameter(tensor) is None]
        if unknown:
            self.names.name_by_optimizer(unknown, type(optimizer).__name__, number)
        return [(tensor, self.names.parameter(tensor)) for _, tensor in tensors]

    @guarded
    def clipping(self, parameters):
        if not self.recording or self.capturing():
            return
        self.release_held()
        for tensor in parameters:
            parameter = self.names.parameter(tensor)
            if parameter is not None:
                self.reduce(tensor, parameter)
        self.reduce_fused()

    def reduce_fused(self):
        for tensor, parameter in self.fused():
            if parameter not in self.reduced:
                self.reduced[parameter] = self.put_parameter(tensor.main_grad, parameter, "reduce", "grad")

    def reduce(self, tensor, parameter):
        """The gradient as clipping or the optimizer first sees it; once per step."""
        if tensor.grad is not None and parameter not in self.reduced:
            self.values.gradient_kept(tensor.grad, parameter.gradient)
            self.reduced[parameter] = self.put_parameter(tensor.grad, parameter, "reduce", "grad")
            return True
        return False

    @guarded
    def clipped(self, norm):
        if norm is None or self.capturing():
            return
        if hasattr(norm, "full_tensor"):
            self.miss("grad_norm", "the norm is spread over ranks, and gathering it would be a collective")
            return
        self.scalar(self.numbered("grad_norm"), norm.detach().item() if isinstance(norm, torch.Tensor) else norm)

    @guarded
    def enter_optimizer(self, optimizer, has_closure):
        self.know_optimizer(optimizer)
        if has_closure:
            self.advance()                                        # the forward in it belongs to this step
        else:
            self.before_update(optimizer)

    @guarded
    def closure_done(self, optimizer):
        """Optimizers that take a closure get their gradients inside step()."""
        self.before_update(optimizer)

    def before_update(self, optimizer):
        number = self.number_of(optimizer)
        if number in self.entered or self.writer is None or self.capturing():
            return                                                # a closure may be evaluated several times
        self.entered.add(number)
        if len(self.optimizer_options.get(number, {"groups": ()})["groups"]) != len(optimizer.param_groups):
            self.optimizer_options[number] = optimizer_options(optimizer)
        for group_number, group in enumerate(optimizer.param_groups):
            rate = self.rates.setdefault((number, group_number), len(self.rates))
            if "lr" in group:
                self.scalar("lr/%d" % rate if rate else "lr", group["lr"])
        if not self.recording:
            return
        self.release_held()
        owned = self.parameters_of(optimizer, number)
        self.reduce_fused()
        before = [(tensor, parameter, self.reduce(tensor, parameter)) for tensor, parameter in owned]
        for tensor, parameter, fresh in before:
            if tensor.grad is not None and not fresh:
                self.put_parameter(tensor.grad, parameter, "optimizer", "grad", unless=self.reduced.get(parameter) or {})
        self.put_state(optimizer, owned, "@before")

    def put_state(self, optimizer, owned, suffix):
        if any(cls.__name__ == "ZeroRedundancyOptimizer" for cls in type(optimizer).__mro__):
            optimizer = getattr(optimizer, "optim", optimizer)    # it updates the parameters that this rank owns, and has their state
            here = {id(tensor) for group in getattr(optimizer, "param_groups", ()) for tensor in group["params"]}
            elsewhere = sum(id(tensor) not in here for tensor, _ in owned)
            if elsewhere:
                self.missed["optimizer state of parameters that other ranks update", "ZeroRedundancyOptimizer keeps it there"] = elsewhere
        for tensor, parameter in owned:
            state = optimizer.state.get(tensor) if hasattr(optimizer.state, "get") else None
            for name, value in list((state or {}).items()):
                if isinstance(value, (bool, str)) or value is None:
                    continue
                if isinstance(value, (int, float)):
                    value = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64, device="cpu")
                for slot, item in tensors_in(value, str(name)):
                    self.put_parameter(item, parameter, "optimizer", "optimizer_state", slot=slot + suffix)

    @guarded
    def leave_optimizer(self, optimizer):
        self.optimizer_steps += 1
        self.know_optimizer(optimizer).stepped = self.optimizer_steps
        self.updated = True
        if self.writer is None or self.capturing():
            return
        if self.recording:
            owned = self.parameters_of(optimizer, self.number_of(optimizer))
            if any(parameter in self.updated_parameters for _, parameter in owned):
                self.miss("second update of the same parameters in one step", "a step has one record of each parameter")
                return
            self.updated_parameters.update(parameter for _, parameter in owned)
            self.put_state(optimizer, owned, "")
            for tensor, parameter in owned:
                self.put_parameter(tensor, parameter, "optimizer", "param")
            if not self.buffers_written:
                self.buffers_written = True
                for root in self.names.roots:
                    if root.ref() is not None:
                        self.put_buffers(root.ref(), "optimizer")
        if not self.first_update:
            self.first_update = True                              # now the optimizers are known: worth keeping if the process is killed
            self.write_rank("recording")

    @guarded
    def scaled(self, loss, result):
        """GradScaler.scale: remember what the loss was before."""
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and isinstance(result, torch.Tensor) and not self.capturing():
            self.scaling = True
            self.unscaled[id(result)] = (weakref.ref(result), loss.detach().clone())

    @guarded
    def scaler_stepped(self, scaler, optimizer, steps_before):
        """GradScaler.step returned; it leaves the optimizer's step out when a gradient is not finite."""
        if self.writer is None:
            return
        self.scaling = True
        self.scalar(self.numbered("loss_scale"), scaler.get_scale())
        if self.optimizer_steps == steps_before:
            self.scalar(self.numbered("skipped_step"), 1)
            if self.recording:
                self.release_held()
                for tensor, parameter in self.parameters_of(optimizer, self.number_of(optimizer)):
                    self.reduce(tensor, parameter)
            self.updated = True

    # -- what the script asks for (Recorder)

    @guarded
    def user_step(self, number):
        self.manual, self.updated = True, False
        if number != self.step:
            self.begin_step(int(number))

    @guarded
    def user_scalar(self, name, value):
        self.scalar(self.numbered(str(name)), value.detach().item() if isinstance(value, torch.Tensor) else value)

    @guarded
    def user_tensor(self, name, tensor):
        self.become_rank()
        if not self.recording:
            return
        name = str(name)
        if name not in self.names.described:
            self.names.described.add(name)
            self.writer.graph(type="module", path=name, **{"class": "Recorder.tensor", "parameters": [], "buffers": []})
        frame = Frame(None, name)
        frame.call, frame.source = self.counts[name], self.sources.caller()
        self.counts[name] += 1
        self.call_line(frame)
        for slot, item in named_slots(tensor):
            self.put(item, "forward", "output", name, call=frame.call, slot=slot, placement=self.placement_of(name) or None)

    @guarded
    def user_placement(self, pattern, placement):
        self.declared.append((pattern, placement))


def is_compiled(module):
    """Whether a call of it runs what torch.compile has made of it: modules inside are not called."""
    compiled = getattr(module, "_compiled_call_impl", None)       # the plain call where TORCHDYNAMO_DISABLE is set
    return type(module).__name__ == "OptimizedModule" or compiled is not None and getattr(compiled, "__func__", None) is not type(module)._call_impl


def readable_size(size):
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return "%d %s" % (size, unit) if unit == "bytes" else "%.1f %s" % (size, unit)
        size /= 1000


# ------------------------------------------------------------------------------------------------ environment


class Description:
    """What surrounds the numbers: versions, switches, configuration, code. Only what is on a list is taken from the environment."""

    PREFIXES = ("NCCL_", "GLOO_", "TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_", "OMP_", "MKL_", "KMP_",
                "OPENBLAS_", "HIP_", "ROCM_")
    NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NVIDIA_TF32_OVERRIDE", "PYTHONHASHSEED",
             "TORCHELASTIC_RESTART_COUNT", "SLURM_PROCID", "SLURM_NTASKS")

    def __init__(self, session):
        self.session = session
        value = session.masker.value
        self.fixed = {}
        for key, read in (("environment", self.environment), ("flags", self.flags), ("code", self.code)):
            self.fixed[key] = value(self.attempt(key, read) or {})
        self.initial_seed = torch.initial_seed()
        self.groups, self.place = [], None

    def attempt(self, what, read):
        try:
            return read()
        except Exception as error:
            self.session.miss(what, "%s: %s" % (type(error).__name__, error))
            return None

    def fields(self):
        """The keys of rank.json that describe the run, as far as they are known by now."""
        session, value = self.session, self.session.masker.value
        result = dict(self.fixed)
        result["config"] = {"argv": session.argv, "optimizers": value(list(session.optimizer_options.values())),
                            "loaders": value(session.loader_options), "ddp": value(session.ddp_options)}
        result["seeds"] = {"torch": session.seeds, "initial": self.initial_seed}
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():     # scripts leave the process group before they end
            self.groups = self.attempt("process groups", self.process_groups) or self.groups
            self.place = self.attempt("coordinates", self.coordinates) or self.place
        result["process_groups"] = self.groups
        if self.place:
            result["coordinates"] = self.place
        device = self.device()
        if device:
            result["device"] = device
        return result

    def environment(self):
        values = {"torch": torch.__version__, "python": platform.python_version(), "platform": platform.platform(),
                  "machine": platform.machine(), "cpu_count": os.cpu_count(), "torch_git": getattr(torch.version, "git_version", None),
                  "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None),
                  "torch_config": self.torch_config()}
        capability = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
        if capability:
            values["cpu_capability"] = capability()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            values["gpu"] = torch.cuda.get_device_name()
            values["gpu_capability"] = "%d.%d" % torch.cuda.get_device_capability()
            values["cudnn"] = torch.backends.cudnn.version()
        for name, text in sorted(os.environ.items()):
            if name in self.NAMES or name.startswith(self.PREFIXES):
                values["env." + name] = text
        return {key: item for key, item in values.items() if item is not None}

    @staticmethod
    def torch_config():
        """How PyTorch was built (BLAS, instruction sets), without the compiler's flags."""
        lines = [line.strip(" -") for line in torch.__config__.show().splitlines() if line.strip()]
        return re.sub(r"CXX_FLAGS=[^,]*, ", "", "; ".join(lines))

    def flags(self):
        cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        values = {"deterministic": torch.are_deterministic_algorithms_enabled,
                  "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled,
                  "matmul_precision": torch.get_float32_matmul_precision, "tf32_matmul": lambda: cuda.allow_tf32,
                  "tf32_cudnn": lambda: cudnn.allow_tf32, "cudnn_enabled": lambda: cudnn.enabled,
                  "cudnn_deterministic": lambda: cudnn.deterministic, "cudnn_benchmark": lambda: cudnn.benchmark,
                  "fp16_reduced_precision_reduction": lambda: cuda.allow_fp16_reduced_precision_reduction,
                  "bf16_reduced_precision_reduction": lambda: cuda.allow_bf16_reduced_precision_reduction,
                  "num_threads": torch.get_num_threads, "num_interop_threads": torch.get_num_interop_threads,
                  "default_dtype": lambda: str(torch.get_default_dtype()).replace("torch.", ""),
                  "anomaly_detection": torch.is_anomaly_enabled, "mkldnn": torch.backends.mkldnn.is_available,
                  "autocast_cuda": lambda: torch.is_autocast_enabled(),
                  "autocast_cpu": lambda: torch.is_autocast_enabled("cpu") if hasattr(torch, "get_autocast_dtype")
                  else torch.is_autocast_cpu_enabled()}
        result = {}
        for name, read in values.items():
            with contextlib.suppress(Exception):                  # a switch that this version does not have
                result[name] = read()
        return result

    def process_groups(self):
        distributed = torch.distributed
        c10d = sys.modules["torch.distributed.distributed_c10d"]
        world = getattr(c10d, "_world", None)
        groups = getattr(world, "pg_group_ranks", None) or getattr(c10d, "_pg_group_ranks", None) or {}
        result = []
        for group, ranks in groups.items():
            with contextlib.suppress(Exception):                  # a group that this rank is not in
                result.append({"backend": distributed.get_backend(group), "ranks": sorted(ranks)})
        return result or [{"backend": distributed.get_backend(), "ranks": list(range(distributed.get_world_size()))}]

    def coordinates(self):
        for module in [ref() for ref in self.session.names.ddp]:
            if module is not None:
                return {"dp": torch.distributed.get_rank(module.process_group)}
        return None

    def device(self):
        for parameter in self.session.names.parameters.values():
            tensor = parameter.ref()
            if tensor is not None:
                return str(tensor.device)
        return None

    def code(self):
        """The script's name and the state of its git checkout, if it has one and git answers in time."""
        script = sys.argv[0] if sys.argv else ""
        values = {"script": os.path.basename(script)}
        folder = os.path.dirname(os.path.abspath(script))
        checkout = folder
        while not os.path.exists(os.path.join(checkout, ".git")):
            parent = os.path.dirname(checkout)
            if parent == checkout:
                return values
            checkout = parent

        def git(*arguments):
            return subprocess.run(("git", "-C", folder) + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=2, check=True, env=dict(os.environ, GIT_OPTIONAL_LOCKS="0")).stdout.decode().strip()

        with contextlib.suppress(OSError, subprocess.SubprocessError):
            values["git_head"] = git("rev-parse", "HEAD")
            values["git_dirty"] = bool(git("status", "--porcelain", "--untracked-files=no"))
        return values


def optimizer_options(optimizer):
    groups = [{key: value for key, value in group.items() if key not in ("params", "param_names")} for group in optimizer.param_groups]
    return {"class": type(optimizer).__name__, "groups": groups}


def ddp_options(module, comm_hook):
    values = {name: getattr(module, name) for name in ("find_unused_parameters", "broadcast_buffers", "gradient_as_bucket_view", "static_graph")
              if hasattr(module, name)}
    if hasattr(module, "bucket_bytes_cap"):
        values["bucket_cap_mb"] = module.bucket_bytes_cap / (1 << 20)
    if getattr(module, "mixed_precision", None):
        values["mixed_precision"] = str(module.mixed_precision)
    if comm_hook:
        values["comm_hook"] = comm_hook
    return values


def loader_options(loader):
    """What of a DataLoader decides which samples come in which order."""
    values = {name: getattr(loader, name, None) for name in ("batch_size", "num_workers", "drop_last", "pin_memory", "prefetch_factor",
                                                             "persistent_workers", "in_order")}
    sampler = getattr(loader, "sampler", None)
    values["sampler"] = type(sampler).__name__
    for name in ("shuffle", "seed", "epoch", "num_replicas", "rank", "num_samples", "replacement"):
        with contextlib.suppress(Exception):
            value = getattr(sampler, name)
            if isinstance(value, (bool, int, float, str)):
                values["sampler_" + name] = value
    values["dataset"] = type(getattr(loader, "dataset", None)).__name__
    with contextlib.suppress(Exception):
        values["dataset_length"] = len(loader.dataset)
    return {key: value for key, value in values.items() if value is not None}


# ------------------------------------------------------------------------------------------------ noise runs


def moved_by_one_ulp(tensor):
    """A copy with every finite element other than 0 moved by one unit in the last place: away from zero where bit 1 of a(index) is set."""
    flat = tensor.detach().contiguous().reshape(-1)
    bits = flat.view(getattr(torch, FLOAT_LAYOUT[str(tensor.dtype).replace("torch.", "")][0]))
    steps = ((fold_weights() & 2) - 1).to(bits.dtype).to(bits.device)
    steps = steps.repeat(-(-flat.numel() // BLOCK))[:flat.numel()]
    result = (bits + steps).view(flat.dtype)
    keep = (flat == 0) | ~torch.isfinite(flat) | ~torch.isfinite(result)
    return torch.where(keep, flat, result).reshape(tensor.shape)


class Noise:
    """--noise: moves by one ULP what a healthy change of layout rounds otherwise. The one part of the recorder that changes numbers."""

    def __init__(self):
        self.what, self.tensors = None, 0
        self.micro, self.module, self.again = None, None, False

    def movable(self, tensor):
        return isinstance(tensor, torch.Tensor) and str(tensor.dtype).replace("torch.", "") in FLOAT_LAYOUT and tensor.numel() > 0 \
            and not hasattr(tensor, "_local_tensor")

    def batch(self, value, depth=0):
        """The batch with its floating-point tensors moved; containers are made anew, because a dataset may own the old ones."""
        if self.movable(value):
            self.what, self.tensors = "batch", self.tensors + 1
            return moved_by_one_ulp(value)
        if depth < MAX_NESTING:
            if isinstance(value, dict):
                new = {key: self.batch(item, depth + 1) for key, item in value.items()}
                return new if type(value) is dict else self.refilled(value, new)
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*(self.batch(item, depth + 1) for item in value))
            if type(value) in (list, tuple):
                return type(value)(self.batch(item, depth + 1) for item in value)
        return value

    @staticmethod
    def refilled(value, new):
        for key, item in new.items():
            value[key] = item
        return value

    def output(self, module, path, output, micro, in_backward):
        """The output of a module call: that of the first one in a micro-step is moved, if no batch was; and again when it is recomputed."""
        if self.what == "batch" or not self.movable(output):
            return output
        if in_backward:
            if self.again or self.module is None or self.module() is not module:
                return output
            self.again = True
        else:
            if self.micro == micro or not torch.is_grad_enabled():
                return output
            self.micro, self.module, self.again = micro, weakref.ref(module), False
            self.what, self.tensors = self.what or path or type(module).__name__, self.tensors + 1
        return output + (moved_by_one_ulp(output) - output.detach())


# ------------------------------------------------------------------------------------------------ operators


def operator_value(value, slot, found):
    """An argument as FORMAT.md, section 6.2 writes it; tensors are appended to `found` with their slots."""
    if isinstance(value, torch.Tensor):
        found.append((slot, value))
        return {"tensor": slot}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, (list, tuple)):
        return [operator_value(item, "%s.%d" % (slot, place) if slot else str(place), found) for place, item in enumerate(value)]
    for kind, name in ((torch.dtype, "dtype"), (torch.device, "device"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
        if isinstance(value, kind):
            return {name: str(value).replace("torch.", "")}
    if type(value).__name__ == "SymInt":
        return int(value)
    return {"other": type(value).__name__}


def only_aliases(schema):
    """Whether an operator returns nothing but views of its inputs, and changes none."""
    written = [argument for argument in schema.arguments if argument.alias_info is not None and argument.alias_info.is_write]
    return not written and bool(schema.returns) and all(item.alias_info is not None for item in schema.returns)


def operator_mode(session):
    """A TorchDispatchMode that tells `session` of every operator; to be entered around what is observed."""
    from torch.utils._python_dispatch import TorchDispatchMode
    numbers_for_tensors = not hasattr(torch, "compiler")          # 1.13 passes Python numbers where the schema says Tensor

    class OperatorMode(TorchDispatchMode):
        def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
            kwargs = kwargs or {}
            if numbers_for_tensors:
                args = tuple(torch.scalar_tensor(value, dtype=torch.float64 if isinstance(value, float) else torch.int64)
                             if isinstance(value, (int, float)) and not isinstance(value, bool) and str(argument.type) == "Tensor" else value
                             for value, argument in zip(args, function._schema.arguments))
            if session.dead or session.local.busy or session.local.quiet:
                return function(*args, **kwargs)
            line = session.operator_called(function, args, kwargs)
            result = function(*args, **kwargs)
            if line is not None:
                session.operator_returned(function, line, result)
            return result

    return OperatorMode()


# ------------------------------------------------------------------------------------------------ wrappers around PyTorch


class Patches:
    """The functions of PyTorch that are replaced while a Session records, and what they were."""

    def __init__(self, session):
        self.session, self.undo, self.operators = session, [], []
        self.stack_limits = (0, 0)                                # before, and while it records

    def replace(self, owner, name, new):
        old = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
        setattr(owner, name, new)
        self.undo.append((owner, name, old, new))

    def replace_function(self, owner, name, make):
        """Also where the function was imported by name already."""
        old = getattr(owner, name, None)
        if old is None:
            return
        new = functools.wraps(old)(make(old))
        self.keep_scriptable(old, new)
        for module in list(sys.modules.values()):
            if isinstance(module, types.ModuleType) and module.__dict__.get(name) is old:
                self.replace(module, name, new)

    def keep_scriptable(self, old, new):
        """torch.jit.script takes a function that PyTorch has as an operator for that, by identity. Others it compiles: then the original, not the
        wrapper, which is marked as torch.jit.script_if_tracing marks its own."""
        table = torch.jit._builtins
        operator = table._find_builtin(old)
        if operator is not None:
            table._register_builtin(new, operator)
            self.operators.append(new)
        setattr(new, "__original_fn", old)                        # in a class, new.__original_fn would have the class in its name
        setattr(new, "__script_if_tracing_wrapper", True)

    def restore(self):
        for owner, name, old, new in reversed(self.undo):
            current = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
            if current is new:
                setattr(owner, name, old)
        for function in self.operators:
            torch.jit._builtins._get_builtin_table().pop(id(function), None)
        self.undo, self.operators = [], []
        if sys.getrecursionlimit() == self.stack_limits[1]:
            with contextlib.suppress(RecursionError):             # called deeper than the old limit allows
                sys.setrecursionlimit(self.stack_limits[0])

    def install(self):
        for part in (self.stack, keep_from_compiler, self.modules, self.losses, self.autograd, self.optimizers, self.clipping, self.scaler,
                     self.loaders, self.seeds, self.ddp, self.pipelines, self.exchanges):
            try:
                part()
            except Exception as error:                            # a PyTorch that lacks one of them is still worth recording
                self.session.miss("everything that %s would show" % part.__name__, "%s: %s" % (type(error).__name__, error))

    def stack(self):
        """A module call takes three of Python's levels, and a fourth one where it is recorded: what fitted must fit, and so must we."""
        limit = sys.getrecursionlimit()
        self.stack_limits = (limit, min(limit + limit // 2, 0x7FFFFFFF))    # a C int
        sys.setrecursionlimit(self.stack_limits[1])

    def modules(self):
        session, local, ops = self.session, self.session.local, self.session.options.level == "op"
        original = torch.nn.Module.__call__
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
        tracing = torch._C._get_tracing_state

        # is_compiling() comes first: the compiler then traces the original call, without a graph break.
        def __call__(self, *args, **kwargs):
            if is_compiling() or session.dead or local.quiet or tracing() is not None:
                return original(self, *args, **kwargs)
            frame = session.enter(self, args, kwargs)
            if frame is None:
                output = original(self, *args, **kwargs)
                return output if session.noise is None else session.disturbed_output(self, output)
            try:
                if ops and len(local.stack) == 1:
                    with session.operators_around(self):
                        output = original(self, *args, **kwargs)
                else:
                    output = original(self, *args, **kwargs)
                if session.noise is not None:
                    output = session.disturbed_output(self, output)
                if frame.recorded or frame.numbered:
                    session.leave(frame, output)
                return output
            finally:                                              # checkpointing leaves a recomputation by an exception
                session.unwind(frame)

        self.replace(torch.nn.Module, "__call__", __call__)

    def losses(self):
        """At level op: loss functions are seen also where no module calls them."""
        session = self.session
        if session.options.level != "op":
            return

        def make(original):
            def loss(*args, **kwargs):
                if session.local.stack or session.in_backward or not torch.is_grad_enabled():
                    return original(*args, **kwargs)
                with session.operators_around(None):
                    return original(*args, **kwargs)
            return loss

        for name in sorted(vars(torch.nn.functional)):
            if name.endswith("_loss") or name in ("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"):
                self.replace_function(torch.nn.functional, name, make)

    def autograd(self):
        session = self.session

        def observed(run, tensors, gradients, after=None):
            """Run the engine as an outermost backward."""
            session.enter_backward(tensors, gradients)
            session.in_backward += 1
            try:
                with session.operators_around(None):
                    result = run()
            finally:
                session.in_backward -= 1
                if after is not None and sys.exc_info()[0] is None:
                    after(result)
                session.leave_backward()
            return result

        def make_backward(original):
            def backward(tensors, *args, **kwargs):
                if session.dead:
                    return original(tensors, *args, **kwargs)
                if session.in_backward:                           # reentrant checkpointing
                    session.in_backward += 1
                    try:
                        return original(tensors, *args, **kwargs)
                    finally:
                        session.in_backward -= 1
                if not isinstance(tensors, torch.Tensor):
                    tensors = list(tensors)
                return observed(lambda: original(tensors, *args, **kwargs), tensors, args[0] if args else kwargs.get("grad_tensors"))
            return backward

        def make_grad(original):
            def grad(*args, **kwargs):
                outputs, inputs, gradients, _, create_graph = (args + (None,) * 5)[:5]
                outputs, inputs, gradients = kwargs.get("outputs", outputs), kwargs.get("inputs", inputs), kwargs.get("grad_outputs", gradients)
                real = all(type(tensor) is torch.Tensor for _, tensor in tensors_in(outputs))      # compilers trace with tensors of their own
                if session.recording and not session.in_backward and not session.dead and real:
                    wanted = [] if kwargs.get("create_graph", create_graph) else session.differentiated(inputs)
                    if wanted and isinstance(outputs, (torch.Tensor, list, tuple)):
                        return observed(lambda: original(*args, **kwargs), outputs, gradients, lambda found: session.gradients_taken(wanted, found))
                    session.miss("gradients taken by torch.autograd.grad", "those of parameters are observed, unless they are differentiated again")
                session.in_grad += 1
                try:
                    return original(*args, **kwargs)
                finally:
                    session.in_grad -= 1
            return grad

        self.replace_function(torch.autograd, "backward", make_backward)  # Tensor.backward looks it up there
        self.replace_function(torch.autograd, "grad", make_grad)

        # Pipelines that are written by hand call the engine itself (Megatron-LM does, to skip a check of shapes).
        engine = torch.autograd.Variable._execution_engine

        class Engine(type(engine)):
            def run_backward(self, *args, **kwargs):
                if session.dead or session.in_backward or session.in_grad or not kwargs.get("accumulate_grad"):
                    return super().run_backward(*args, **kwargs)
                tensors, gradients = (args + (None, None))[:2]
                return observed(lambda: super(Engine, self).run_backward(*args, **kwargs), kwargs.get("tensors", tensors),
                                kwargs.get("grad_tensors", gradients))

        self.replace(torch.autograd.Variable, "_execution_engine", Engine())

    def optimizers(self):
        session, patches, base = self.session, self, torch.optim.Optimizer
        original = base.__init__

        @functools.wraps(original)
        def __init__(self, *args, **kwargs):
            original(self, *args, **kwargs)
            patches.wrap_step(type(self))
            session.optimizer_made(self)

        self.replace(base, "__init__", __init__)
        todo = list(base.__subclasses__())
        while todo:
            cls = todo.pop()
            self.wrap_step(cls)
            todo += cls.__subclasses__()

    def wrap_step(self, cls):
        cls = next((c for c in cls.__mro__ if "step" in c.__dict__), None)
        if cls is None or cls is torch.optim.Optimizer or getattr(cls.__dict__["step"], "_forkpoint", None) is self:
            return
        # Wrappers of Accelerate and Lightning may skip the step: the optimizer inside tells when it is made.
        if cls.__module__.split(".")[0] in ("accelerate", "lightning", "pytorch_lightning"):
            return
        session, original = self.session, cls.__dict__["step"]
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

        @functools.wraps(original)
        def step(optimizer, *args, **kwargs):
            if is_compiling() or session.dead or session.local.optimizers:
                return original(optimizer, *args, **kwargs)
            closure = args[0] if args else kwargs.get("closure")
            if callable(closure):
                def observed(*a, **k):
                    result = closure(*a, **k)
                    session.closure_done(optimizer)
                    return result
                if args:
                    args = (observed,) + args[1:]
                else:
                    kwargs = dict(kwargs, closure=observed)
            session.enter_optimizer(optimizer, callable(closure))
            session.local.optimizers.append(optimizer)
            try:
                result = original(optimizer, *args, **kwargs)
                session.leave_optimizer(optimizer)
                return result
            finally:
                session.local.optimizers.pop()

        step.hooked = True                                        # keeps Optimizer from wrapping it once more for its profiler
        step._forkpoint = self
        self.replace(cls, "step", step)

    def clipping(self):
        session = self.session
        clip_grad = sys.modules["torch.nn.utils.clip_grad"]

        def make(original):
            def clip(parameters, *args, **kwargs):
                if not isinstance(parameters, torch.Tensor):
                    parameters = list(parameters)                 # a generator can be read once only
                session.clipping([parameters] if isinstance(parameters, torch.Tensor) else parameters)
                norm = original(parameters, *args, **kwargs)
                session.clipped(norm)
                return norm
            return clip

        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
            self.replace_function(clip_grad, name, make)

    def scaler(self):
        session = self.session
        cls = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        original_step, original_scale = cls.step, cls.scale

        @functools.wraps(original_step)
        def step(self, optimizer, *args, **kwargs):
            before = session.optimizer_steps
            result = original_step(self, optimizer, *args, **kwargs)
            if self.is_enabled():
                session.scaler_stepped(self, optimizer, before)
            return result

        @functools.wraps(original_scale)
        def scale(self, outputs):
            result = original_scale(self, outputs)
            if self.is_enabled():
                session.scaled(outputs, result)
            return result

        self.replace(cls, "step", step)
        self.replace(cls, "scale", scale)

    def loaders(self):
        session = self.session
        cls = torch.utils.data.dataloader._BaseDataLoaderIter
        original_init, original_reset, original_index, original_next = cls.__init__, cls._reset, cls._next_index, cls.__next__

        @functools.wraps(original_init)
        def __init__(self, loader, *args, **kwargs):
            original_init(self, loader, *args, **kwargs)
            self.__dict__["_forkpoint_loader"] = session.loader_started(loader)

        @functools.wraps(original_reset)
        def _reset(self, loader, *args, **kwargs):
            self.__dict__["_forkpoint_ids"] = collections.deque() # without the indices of an epoch that was not read to its end
            session.loader_started(loader)
            return original_reset(self, loader, *args, **kwargs)

        @functools.wraps(original_index)
        def _next_index(self):
            index = original_index(self)
            self.__dict__.setdefault("_forkpoint_ids", collections.deque()).append(index)
            return index

        @functools.wraps(original_next)
        def __next__(self):
            session.local.quiet += 1                              # transforms may be modules
            try:
                batch = original_next(self)
            finally:
                session.local.quiet -= 1
            ids = self.__dict__.get("_forkpoint_ids")
            ids = ids.popleft() if ids and getattr(self, "_in_order", True) else None
            ids = list(ids) if isinstance(ids, (list, tuple)) and all(type(i) is int for i in ids) else None
            batch = session.disturbed_batch(batch)
            session.batch_fetched(self.__dict__.get("_forkpoint_loader"), batch, ids)
            return batch

        for name, new in (("__init__", __init__), ("_reset", _reset), ("_next_index", _next_index), ("__next__", __next__)):
            self.replace(cls, name, new)

    def pipelines(self):
        """Schedules interleave micro-batches; their stages say which one they run. The module is imported later, if at all."""
        name = "torch.distributed.pipelining.stage"
        if name in sys.modules:
            self.pipeline_stages(sys.modules[name])
        else:
            sys.meta_path.insert(0, ImportFinder(name, lambda: self.pipeline_stages(sys.modules[name])))

    def pipeline_stages(self, module):
        session, cls = self.session, module._PipelineStageBase
        if session.dead:
            return

        def make(original):
            @functools.wraps(original)
            def run(self, number, *args, **kwargs):
                session.chunk(number)
                return original(self, number, *args, **kwargs)
            return run

        for name in ("forward_one_chunk", "backward_one_chunk"):
            self.replace(cls, name, make(cls.__dict__[name]))
        for cls in [cls] + cls.__subclasses__():                      # a pass without values, to learn shapes
            for name in ("_shape_inference", "_prepare_forward_infra"):
                if name in cls.__dict__:
                    self.replace(cls, name, self.unobserved(cls.__dict__[name]))

    def exchanges(self):
        """What a script sends to and receives from single ranks, with whichever function of torch.distributed."""
        if not torch.distributed.is_available():
            return
        session, cls = self.session, torch.distributed.ProcessGroup

        def make(original, note):
            @functools.wraps(original)
            def exchange(self, *args, **kwargs):
                if not (session.dead or session.in_backward or session.local.stack):
                    note(args[0] if args else kwargs.get("tensors"))
                return original(self, *args, **kwargs)
            return exchange

        for name, note in (("send", session.tensors_sent), ("recv", session.tensors_received), ("recv_anysource", session.tensors_received)):
            self.replace(cls, name, make(cls.__dict__[name], note))

    def unobserved(self, original):
        local = self.session.local

        @functools.wraps(original)
        def run(*args, **kwargs):
            local.quiet += 1
            try:
                return original(*args, **kwargs)
            finally:
                local.quiet -= 1
        return run

    def seeds(self):
        session = self.session

        def make(original):
            def manual_seed(seed):
                if not session.dead and not session.local.quiet:
                    session.seeds.append(int(seed))
                return original(seed)
            return manual_seed

        self.replace_function(torch, "manual_seed", make)

    def ddp(self):
        session, cls = self.session, torch.nn.parallel.DistributedDataParallel

        def make(original):
            @functools.wraps(original)
            def register(self, *args, **kwargs):
                result = original(self, *args, **kwargs)
                hook = (args or tuple(kwargs.values()))[-1]
                session.comm_hooks[id(self)] = getattr(hook, "__name__", str(hook))
                return result
            return register

        for name in ("register_comm_hook", "_register_builtin_comm_hook"):
            if name in cls.__dict__:
                self.replace(cls, name, make(cls.__dict__[name]))


# ------------------------------------------------------------------------------------------------ switching it on

active = None                  # the Session of this process


def install(options):
    """Start recording in this process; PyTorch has been imported."""
    global torch, active
    torch = sys.modules["torch"]
    import torch.fx as _                                          # noqa: F401
    active = Session(options)
    active.patches = Patches(active)
    active.patches.install()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=active.before_fork, after_in_parent=active.after_fork_in_parent, after_in_child=active.after_fork)
    return active


class Recorder:
    """Records what runs inside `with Recorder("runs/a", steps="0:3") as recorder:`.

    Under the command line's recorder it joins that recording, so that a script can use it in both cases.
    """

    def __init__(self, out, steps="0:3", level="module", name=None, overwrite=False, **selection):
        """`selection`: modules, ranks, phases, write, every, like, budget, ring, band and noise, as the command line's options."""
        known = [option for option in Selection.OPTIONS if option != "steps"] + ["noise"]
        unknown = [option for option in selection if option not in known]
        if unknown:
            raise TypeError("Recorder has no option %s; there are %s" % (", ".join(unknown), ", ".join(known)))
        self.options = Options(out, steps, level, name, overwrite, **selection)
        self.session, self.joined = None, False

    def start(self):
        import torch as _                                         # noqa: F401
        if active is not None and not active.dead:
            self.session, self.joined = active, True
        else:
            try:
                claim_output(self.options)
            except UsageError as error:
                raise FileExistsError(str(error)) from None
            self.session = install(self.options)
        return self

    def stop(self, error=None):
        if self.session is not None and not self.joined:
            self.session.close(error)
            self.session.patches.restore()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, error, trace):
        self.stop(None if isinstance(error, SystemExit) and not error.code else error)

    def step(self, number):
        """The training is in step `number` from here on; without it, steps are counted by the optimizer's."""
        self.session.user_step(number)

    def scalar(self, name, value):
        """Record a number of the current step, such as an evaluation's accuracy."""
        self.session.user_scalar(name, value)

    def tensor(self, name, tensor):
        """Record a tensor under a name of your own."""
        self.session.user_tensor(name, tensor)

    def placement(self, name, axis, type, dim=None, op=None):
        """Say how tensors are spread over ranks: names may hold * and ?; `type` is replicate, shard (along `dim`) or partial (`op` sum or mean).

            recorder.placement("layers.*.up.weight", axis="tp", type="shard", dim=0)
        """
        if type not in ("replicate", "shard", "partial"):
            raise ValueError("placement type %r: expected replicate, shard or partial" % (type,))
        placement = {"axis": axis, "type": type}
        if type == "shard":
            placement["dim"] = int(dim)
        if type == "partial":
            placement["op"] = op or "sum"
        self.session.user_placement(name, placement)


# ------------------------------------------------------------------------------------------------ reading a bundle


class Sketch:
    """What a sketch keeps: `values` of the elements at the flat indices `indices` of this rank's tensor of shape `shape`, and statistics."""

    def __init__(self, record, indices, values):
        self.record, self.indices, self.values = record, indices, values
        self.shape, self.stats, self.fold = record["shape"], record.get("stats"), record.get("fold")

    def __repr__(self):
        return "<sketch of %s: %d elements of shape %s>" % (tensor_name(self.record), self.record["sketch"]["samples"], self.shape)


def tensor_name(record, spelling=0):
    """`phase/kind/name[#call][:slot]`, in a micro-step other than the first `mN/...`; `spelling`: which of spellings()."""
    path = spellings(join(record["module"], record.get("param") or ""))[spelling]
    name = "%s/%s/%s" % (record["phase"], record["kind"], path)
    name += "#%d" % record["call"] if record.get("call") else ""
    name += ":" + record["slot"] if record.get("slot") else ""
    name += "!recompute" if record.get("recompute") else ""
    return "m%d/%s" % (record["micro"], name) if record.get("micro") else name


def is_record(line):
    """Whether a line of tensors.jsonl has what it needs to be found and named; others are skipped (FORMAT.md, section 7)."""
    required = {"step": int, "order": int, "phase": str, "kind": str, "module": str, "dtype": str, "shape": list}
    optional = {"micro": int, "call": int, "param": str, "slot": str}
    return isinstance(line, dict) and all(isinstance(line.get(key), kind) for key, kind in required.items()) and all(
        line.get(key) is None or isinstance(line[key], kind) for key, kind in optional.items())


def is_size(value, limit=(1 << 63) - 1):
    return type(value) is int and 0 <= value <= limit


def count_of(record, shape):
    """Number of elements of a shape, which no one has checked yet. PyTorch and numpy have up to 64 dimensions."""
    count = 1
    for length in shape if isinstance(shape, list) and len(shape) <= 64 else [None]:
        count *= max(1, length) if is_size(length) else 0
        if not is_size(count) or not count:
            raise ValueError("%s: no tensor has the shape %s" % (tensor_name(record), str(shape)[:80]))
    return 0 if 0 in shape else count


def zstd_decompressor():
    """A function (bytes, raw size) -> bytes, from whatever this Python has."""
    for module in ("compression.zstd", "zstandard", "pyzstd"):
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        if module == "zstandard":
            return lambda data, size: found.ZstdDecompressor().decompress(data, max_output_size=size)
        return lambda data, size: found.decompress(data)
    from ctypes import util
    for name in filter(None, (util.find_library("zstd"), "libzstd.so.1")):
        with contextlib.suppress(OSError, AttributeError, TypeError):
            function = ctypes.CDLL(name).ZSTD_decompress
            function.restype, function.argtypes = ctypes.c_size_t, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

            def decompress(data, size):
                out = ctypes.create_string_buffer(max(1, size))
                return out.raw[:size] if function(out, size, bytes(data), len(data)) == size else b""
            return decompress
    raise RuntimeError("this tensor is compressed with zstd, which this Python cannot read: pip install zstandard, or install libzstd")


class Bundle:
    """A bundle, opened for reading with open(): `bundle[step, name, rank]` is a tensor.

    `name` is `PHASE/KIND/NAME`, as in "forward/output/layers.0"; a part of it is enough where it is unique ("layers.0.weight" of phase start).
    `rank` may be left out if there is one rank only. What is returned is a torch.Tensor if PyTorch can be imported, else a numpy array, else a
    memoryview.
    """

    def __init__(self, path):
        path = os.fspath(path)
        if not os.path.isdir(path) and os.path.isdir(path + ".forkpoint"):
            path += ".forkpoint"
        self.path, self.folders = path, rank_folders(path)
        if not self.folders:
            raise FileNotFoundError("%s is no bundle: there is no rank folder in it" % path)
        self.ranks = [int(name[4:]) for name in self.folders]
        self.records, self.scalars, self.info = {}, {}, {}
        for rank, folder in zip(self.ranks, self.folders):
            self.records[rank], self.scalars[rank] = list(filter(is_record, self.lines(folder, "tensors.jsonl"))), self.lines(folder, "scalars.jsonl")
            with contextlib.suppress(OSError, ValueError, RecursionError), io.open(os.path.join(path, folder, "rank.json"), encoding="utf-8") as file:
                self.info[rank] = json.load(file)
            if self.info.get(rank, {}).get("version", FORMAT_VERSION)[0] > FORMAT_VERSION[0]:
                raise ValueError("%s was written in format %s; this file reads %d.x" % (path, self.info[rank]["version"], FORMAT_VERSION[0]))
        self.decompress = None

    def lines(self, folder, name):
        result = []
        with contextlib.suppress(FileNotFoundError), io.open(os.path.join(self.path, folder, name), "rb") as file:
            for line in file:
                if line.endswith(b"\n"):                          # a torn last line does not count
                    with contextlib.suppress(ValueError, RecursionError):
                        result.append(json.loads(line))
        return result

    @property
    def steps(self):
        return sorted({record["step"] for records in self.records.values() for record in records})

    def names(self, step, rank=None):
        """Names of all tensors of a step, in the order in which they were made."""
        records = [record for record in self.records[self.only_rank(rank)] if record["step"] == step]
        return [tensor_name(record) for record in sorted(records, key=lambda record: record["order"])]

    def only_rank(self, rank):
        if rank is None:
            if len(self.ranks) > 1:
                raise KeyError("%s has the ranks %s: which one?" % (self.path, ", ".join(map(str, self.ranks))))
            return self.ranks[0]
        if rank not in self.records:
            raise KeyError("%s has no rank %s; it has %s" % (self.path, rank, ", ".join(map(str, self.ranks))))
        return rank

    def record(self, step, name, rank=None):
        """The record (a dictionary, FORMAT.md section 6) of a tensor."""
        records = [record for record in self.records[self.only_rank(rank)] if record["step"] == step]
        if not records:
            raise KeyError("step %s was not recorded; steps: %s" % (step, ", ".join(map(str, self.steps))))
        for spelling in range(4):
            full = [(tensor_name(record, spelling), record) for record in records]
            found = [item for item in full if item[0] == name] or [item for item in full if item[0].endswith("/" + name)]
            if found:
                break
        if not found:
            near = [known for known, _ in full if name.split("/")[-1] in known][:5] or [known for known, _ in full][:5]
            raise KeyError("step %s has no tensor %s; it has %s, ..." % (step, name, ", ".join(near)))
        if len(found) > 1:
            raise KeyError("step %s has several tensors %s: %s" % (step, name, ", ".join(known for known, _ in found[:8])))
        return found[0][1]

    def __getitem__(self, key):
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise KeyError("bundle[step, name] or bundle[step, name, rank]")
        record, rank = self.record(*key), self.only_rank(key[2] if len(key) == 3 else None)
        if record.get("not_observed"):
            raise LookupError("%s was not observed: %s" % (tensor_name(record), record["not_observed"]))
        if record.get("detail", "full") != "full":
            raise LookupError("only a %s of %s was recorded%s" % (record["detail"], tensor_name(record),
                                                                  ": use .sketch(step, name, rank)" if record["detail"] == "sketch" else ""))
        return as_tensor(self.data(record, rank), record["dtype"], record["shape"])

    def sketch(self, step, name, rank=None):
        """The Sketch of a tensor that was recorded as one. Its indices need PyTorch; without it they are None."""
        record = self.record(step, name, rank)
        if "sketch" not in record:
            raise LookupError("%s was not recorded as a sketch" % tensor_name(record))
        kept = dict(record, shape=[record["sketch"].get("samples")], **{key: record["sketch"].get(key) for key in ("file", "offset")})
        count_of(record, record["shape"]), count_of(record, record.get("global_shape") or [])
        values = as_tensor(self.data(kept, self.only_rank(rank)), record["dtype"], kept["shape"])
        indices = None
        with contextlib.suppress(ImportError):
            use_torch()
            indices = Piece(record["shape"], record.get("global_shape"), record.get("global_offset")).samples()
        return Sketch(record, indices, values)

    def data(self, record, rank):
        """The raw bytes of a record."""
        name, item, size = tensor_name(record), ITEM_SIZES.get(record["dtype"]), count_of(record, record["shape"])
        if item is None:
            raise ValueError("%s: dtype %s is unknown to this version" % (name, record["dtype"]))
        size *= item
        if not size:
            return bytearray()
        if not record.get("file"):
            raise LookupError("%s has no bytes" % name)
        if not isinstance(record["file"], str) or os.path.basename(record["file"]) != record["file"] or record["file"] in (".", "..") \
                or "\0" in record["file"]:
            raise ValueError("%s: a bundle's files have plain names, which %s is not" % (name, record["file"]))
        path, codec, offset = os.path.join(self.path, "rank%05d" % rank, record["file"]), record.get("codec") or "raw", record.get("offset")
        frame_size, result = record.get("frame_size") or 1 << 20, bytearray()
        if codec not in ("raw", "zstd"):
            raise ValueError("%s: codec %s is unknown to this version" % (name, codec))
        if not is_size(frame_size, 1 << 28):
            raise ValueError("%s: frames of %s bytes are more than the format allows" % (name, frame_size))
        # Checked against the file before anything is made of it: a record may say what it wants.
        status = os.lstat(path)                                   # links are not followed, and a pipe would be waited for
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("%s: %s is no plain file" % (name, path))
        there = status.st_size
        if not is_size(offset, there) or offset % 64:
            raise ValueError("%s: no tensor begins at offset %s of %s, which has %d bytes" % (name, offset, record["file"], there))
        stored = record.get("frames") if codec == "zstd" else [size]
        if not isinstance(stored, list) or not all(is_size(length) and length for length in stored) or sum(stored) > there - offset:
            raise ValueError("%s: its bytes are damaged, or missing from %s" % (name, record["file"]))
        if codec == "zstd":
            self.decompress = self.decompress or zstd_decompressor()
        else:
            stored = [min(frame_size, size - begin) for begin in range(0, size, frame_size)]
        with io.open(path, "rb") as file:
            file.seek(offset)
            for length in stored:
                frame, raw = file.read(length), min(frame_size, size - len(result))
                if codec == "zstd":
                    frame = self.decompress(frame, raw)
                if len(frame) != raw:
                    raise ValueError("%s: its bytes are damaged, or missing from %s" % (name, record["file"]))
                result += unshuffled(frame, item) if record.get("filter") == "shuffle" else frame
        if len(result) != size:
            raise ValueError("%s: %d bytes are there, %d are needed" % (name, len(result), size))
        return result


ITEM_SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "int64": 8, "int32": 4, "int16": 2,
              "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16}


def unshuffled(frame, item):
    """Undo the filter `shuffle` of one frame."""
    count, result = len(frame) // item, bytearray(frame)
    for place in range(item):
        result[place:count * item:item] = frame[place * count:(place + 1) * count]
    return result


def use_torch():
    global torch
    if torch is None:
        import torch as imported
        torch = imported


def as_tensor(data, dtype, shape):
    try:
        use_torch()
        tensor = torch.empty(shape, dtype=getattr(torch, dtype), device="cpu")
        if data:
            ctypes.memmove(tensor.data_ptr(), (ctypes.c_char * len(data)).from_buffer(data), len(data))
        return tensor
    except (ImportError, AttributeError):                         # without PyTorch, or one that lacks the type
        pass
    names = {"bool": "?", "complex64": "c8", "complex128": "c16"}
    try:
        import numpy
        return numpy.frombuffer(data, dtype=numpy.dtype(names.get(dtype, dtype))).reshape(shape)
    except (ImportError, TypeError):                              # numpy has no bfloat16
        pass
    code = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
            "bool": "?"}.get(dtype)
    view = memoryview(data)
    return view.cast(code, shape) if code and all(shape) and shape else view


# ------------------------------------------------------------------------------------------------ before PyTorch is there


class ImportFinder(importlib.abc.MetaPathFinder):
    """Calls `installed()` right after a module has been imported, whoever imports it."""

    def __init__(self, module, installed):
        self.module, self.installed = module, installed

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute, installed = spec.loader.exec_module, self.installed

        def exec_module(module):
            execute(module)
            installed()

        spec.loader.exec_module = exec_module
        return spec


def when_torch_is_imported(options):
    def installed():
        try:
            install(options)
        except Exception as error:
            say("this process is not recorded: %s: %s" % (type(error).__name__, error))

    if "torch" in sys.modules:
        installed()
    else:
        sys.meta_path.insert(0, ImportFinder("torch", installed))


# ------------------------------------------------------------------------------------------------ child processes

# Python imports sitecustomize at its start. Ours costs nothing in processes that do not import PyTorch, and runs the one that it hides.
SITECUSTOMIZE = '''# Written by forkpoint_recorder for the time of one recording.
def _forkpoint():
    import importlib.machinery, importlib.util, json, os, sys
    here = os.path.dirname(os.path.abspath(__file__))

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "torch":
                return None
            sys.meta_path.remove(Finder)
            try:
                options = json.loads(os.environ["FORKPOINT_RECORDER"])
                spec = importlib.util.spec_from_file_location("forkpoint_recorder", options["recorder"])
                recorder = sys.modules["forkpoint_recorder"] = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(recorder)
                recorder.begin_in_child()
            except Exception as error:
                sys.stderr.write("forkpoint: this process is not recorded: %s\\n" % error)
            return importlib.util.find_spec("torch")

    if "FORKPOINT_RECORDER" in os.environ:
        sys.meta_path.insert(0, Finder)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_forkpoint()
'''


def begin_in_child():
    """Called by sitecustomize in a process below a recorded one, when it is about to import PyTorch."""
    watch_exit()
    when_torch_is_imported(Options.from_json(os.environ[OPTIONS_VARIABLE]))


def watch_exit():
    """Learn how a script ends that we do not run ourselves: uncaught exceptions, and sys.exit with a status."""
    hook, leave = sys.excepthook, sys.exit

    def excepthook(kind, error, trace):
        if active is not None:
            active.fail(error)
        hook(kind, error, trace)

    def leave_with(status=None):
        if active is not None and status:
            active.fail(SystemExit(status))
        leave(status)

    sys.excepthook, sys.exit = excepthook, leave_with
    quitter = type(getattr(builtins, "exit", None))               # exit() and quit(), which raise by themselves
    if quitter.__name__ == "Quitter":
        def quit_with(self, code=None):
            leave_with(code)
        quitter.__call__ = quit_with


@contextlib.contextmanager
def children_recorded(options, environment):
    """While open, Python processes that get `environment` are recorded. The folder lies beside the bundle: other nodes see it too."""
    parent, name = os.path.split(options.out)
    site = os.path.join(parent, ".%s.site-%s-%d" % (name, socket.gethostname(), os.getpid()))
    try:
        os.makedirs(site, exist_ok=True)
        with io.open(os.path.join(site, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(SITECUSTOMIZE)
    except OSError as error:
        raise UsageError("cannot write to %s: %s" % (parent, error.strerror)) from None
    environment["PYTHONPATH"] = os.pathsep.join([site] + [p for p in [environment.get("PYTHONPATH")] if p])
    environment[OPTIONS_VARIABLE] = options.to_json()
    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:
            shutil.rmtree(site, ignore_errors=True)


# ------------------------------------------------------------------------------------------------ the command line


def lacks_torch(python):
    """Whether a command is a Python without PyTorch."""
    if not re.fullmatch(r"python[0-9.]*", os.path.basename(python)):
        return False
    try:
        look = "import importlib.util, sys; sys.exit(7 if importlib.util.find_spec('torch') is None else 0)"
        return subprocess.run([python, "-c", look], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30).returncode == 7
    except (OSError, subprocess.SubprocessError):
        return False


def run_command(options, command):
    """Run any command with recording switched on in the processes below it; returns its exit status."""
    options.run_id = str(uuid.uuid4())
    environment = dict(os.environ)
    with children_recorded(options, environment):
        try:
            process = subprocess.Popen(command, env=environment)
        except OSError as error:
            raise UsageError("cannot run %s: %s" % (command[0], error.strerror)) from None
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: process.send_signal(received))
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:                             # the terminal has sent it to the command as well
                continue
    if status and lacks_torch(command[0]):
        say("nothing was recorded: %s has no PyTorch. Name the Python that has it in the command, such as -- /usr/bin/python3 train.py" % command[0])
    elif not options.plan and not rank_folders(options.out):
        chosen = options.selection.ranks
        ranks = "" if chosen is None else " as a rank that --ranks %s selects (a process that is alone is rank 0)" % ranges_text(chosen)
        say("nothing was recorded: no process below the command trained with PyTorch%s, or Python's options -I and -E hid the recorder from it"
            % ranks)
    return 128 - status if status < 0 else status


def script_code(arguments, as_module):
    """(code, module object for __main__, argv) of what is to run."""
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    if as_module:
        sys.path[0] = os.getcwd()
        try:
            spec = importlib.util.find_spec(arguments[0])
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(arguments[0] + ".__main__")
        except ModuleNotFoundError:
            spec = None
        code = spec.loader.get_code(spec.name) if spec is not None and spec.loader is not None else None
        if code is None:
            raise UsageError("no module named %s" % arguments[0])
        main.__spec__, main.__file__, main.__package__, main.__loader__ = spec, spec.origin, spec.parent, spec.loader
        return code, main, [spec.origin] + arguments[1:]
    path = arguments[0]
    if os.path.isdir(path):
        raise UsageError("%s is a folder; to record a command, put -- before it" % path)
    try:
        with io.open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        hint = "; to record a command, put -- before it" if shutil.which(path) else ""
        raise UsageError("cannot read %s: %s%s" % (path, error.strerror, hint)) from None
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    path = os.path.abspath(path) if sys.version_info >= (3, 9) else path
    main.__file__, main.__spec__ = path, None
    try:
        return compile(source, path, "exec", dont_inherit=True), main, list(arguments)
    except (SyntaxError, ValueError) as error:
        raise UsageError("%s is no Python script (%s); to record a command, put -- before it" % (path, error)) from None


def run_script(options, arguments, as_module):
    """Run a script in this process as Python would; ends with its exit status.

    The module `__main__` stays the script's after it returned: what it registered for the exit, and what it pickles there, needs it.
    """
    code, main, sys.argv = script_code(arguments, as_module)
    sys.modules[MODULE_NAME] = sys.modules["__main__"]
    sys.modules["__main__"] = main
    when_torch_is_imported(options)
    stack = contextlib.ExitStack()
    stack.enter_context(children_recorded(options, os.environ))
    atexit.register(stack.close)
    error = None
    try:
        exec(code, main.__dict__)
    except BaseException as raised:
        error = raised
    failed = error if not isinstance(error, SystemExit) or error.code else None
    without_torch = isinstance(error, ModuleNotFoundError) and error.name == "torch"
    rank, _ = rank_from_environment()
    if active is not None:
        wanted = not options.plan and options.selection.has_rank(rank or 0)
        if active.writer is None and wanted and (rank is not None or not rank_folders(options.out)):
            say("nothing was recorded: no training forward or backward ran in this process")
        elif not wanted and not options.plan and rank is None and active.world == 1:
            say("nothing was recorded: --ranks %s does not select rank 0, which a process that is alone is" % ranges_text(options.selection.ranks))
        active.close(failed)
    elif not without_torch and (rank is not None or not rank_folders(options.out)):
        say("nothing was recorded: the script did not import PyTorch")
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        raise error
    if error is not None:
        error.__traceback__ = error.__traceback__.tb_next         # without our own frame
        sys.excepthook(type(error), error, error.__traceback__)
        if without_torch:
            say("nothing was recorded: %s has no PyTorch. Start the recorder with the Python that has it" % sys.executable)
        sys.exit(1)


def split_arguments(argv):
    """(our options, "script" or "module" or "command" or None, what follows)."""
    with_value = ("--out", "-o", "--level", "--name") + tuple("--" + name for name in Selection.OPTIONS)
    position = 0
    while position < len(argv):
        argument = argv[position]
        if argument == "--":
            return argv[:position], "command", argv[position + 1:]
        if argument == "-m":
            return argv[:position], "module", argv[position + 1:]
        if not argument.startswith("-"):
            return argv[:position], "script", argv[position:]
        position += 2 if argument in with_value else 1
    return argv, None, []


MANUAL = """\
A script runs in this process: with several ranks, start each one so, with the same --out. After --, any command is run (torchrun, srun,
accelerate, a shell script), and every Python process below it that trains is recorded. The script is not changed, nor are its numbers.

one-liners:
  %(prog)s --out runs/one train.py --lr 0.1
  %(prog)s --out runs/ddp -- torchrun --nproc_per_node 2 train.py         the same for accelerate launch
  srun --ntasks 8 python3 %(prog)s --out /shared/big train.py             Slurm: each task is a rank; all nodes see the folder
  %(prog)s --out runs/trainer -- python3 run_clm.py --output_dir out      Hugging Face Trainer: nothing else is needed
  %(prog)s --out runs/lightning fit.py                                    Lightning, with the processes that it starts
  %(prog)s --out runs/one-noise --noise train.py --lr 0.1                 a noise run, for forkpoint-cli compare --noise

small and long runs:
  %(prog)s --out runs/small --write sketch --write 'layers.0.*=full' train.py
                                                      statistics and up to 4096 elements of each tensor, but layer 0 in full
  %(prog)s --out runs/long --every 100 train.py                           which step is the first that differs?
  %(prog)s --out runs/flight --ring 8 --band grad_norm=:100 train.py      the last 8 steps, when something happens
  %(prog)s --out runs/b --like runs/a.forkpoint train.py                  record in B exactly what A has

what is left when:
  the script raises, or calls sys.exit(1)      a complete bundle of status "failed", with the exception
  the process is killed (also by SIGTERM)      everything up to then, of status "recording"; with --ring, SIGTERM writes the ring first
  the disk is full                             everything up to then; the training goes on

What could not be seen is counted in rank.json (coverage) and said in the last line: calls of compiled modules, which hide the modules inside
(the line has the command of the eager twin); tensors that were changed behind autograd's back after they had been recorded; local
gradients under FullyShardedDataParallel, or in fused kernels that add to main_grad; evaluation, which is left out.

in Python:
  with forkpoint_recorder.Recorder("runs/a", steps="0:3") as recorder: train()
  forkpoint_recorder.open("runs/a.forkpoint")[0, "forward/output/head", 1]      (step, name, rank): a tensor
"""


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="forkpoint_recorder.py", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s --out RUN [options] script.py ARGS\n"
              "       %(prog)s --out RUN [options] -m MODULE ARGS\n"
              "       %(prog)s --out RUN [options] -- COMMAND ARGS",
        description="Record a PyTorch training run into the bundle RUN.forkpoint.",
        epilog=MANUAL)
    parser.add_argument("-o", "--out", metavar="RUN", required=True, help="folder of the bundle; .forkpoint is added to it")
    chosen = parser.add_argument_group("what is recorded")
    chosen.add_argument("--steps", metavar="LIST",
                        help="steps whose tensors are recorded: half-open ranges and single ones, counted from 0, such as 0:3,100 (default: 0:3, or "
                             "none with --ring or --every); scalars are recorded in all steps")
    chosen.add_argument("--level", default="module", metavar="LEVEL",
                        help="module: inputs, outputs and gradients of modules (default); op: every operator of forward and backward too")
    chosen.add_argument("--modules", metavar="REGEX", help="only modules whose path matches somewhere, and their parameters; batch and loss always")
    chosen.add_argument("--ranks", metavar="LIST", help="only these ranks, such as 0,3 or 0:4; the others leave nothing")
    chosen.add_argument("--phases", metavar="LIST", help="only these phases: %s" % ", ".join(PHASES))
    chosen.add_argument("--write", action="append", default=[], metavar="[PATTERN=]DETAIL",
                        help="how much is written of the tensors whose name matches: full, sketch (statistics and up to 4096 elements), digest, "
                             "fold (a sum over all bits) or none. PATTERN may hold * and ?, and one with a / is matched with PHASE/KIND/NAME; "
                             "batches stay full unless data/batch/ is named. The last match counts. Repeatable: --write sketch "
                             "--write 'layers.0.*=full' --write 'optimizer/*=digest'")
    chosen.add_argument("--like", metavar="BUNDLE", help="record exactly the tensors, steps and details that another bundle has")
    chosen.add_argument("--every", metavar="N", help="also at every N-th step: folds of batch, parameters and reduced gradients, for long runs")
    chosen.add_argument("--budget", metavar="SIZE",
                        help="limit for all ranks together, such as 4GiB: what does not fit is sketched only, by name, alike on all ranks, "
                             "and listed")
    chosen.add_argument("--plan", action="store_true",
                        help="run two training steps, print what recording would take, by step and rank, and end there; nothing is written")
    flight = parser.add_argument_group("flight recorder")
    flight.add_argument("--ring", metavar="N",
                        help="keep sketches of the last N steps in memory and write them when a loss or gradient norm is not finite or leaves its "
                             "band, on SIGUSR1 and SIGTERM, or when the script ends with an exception")
    flight.add_argument("--band", action="append", default=[], metavar="NAME=LOW:HIGH",
                        help="band of loss, grad_norm or another scalar (default: around the median of the last values). Repeatable")
    parser.add_argument("--name", help="name of the run (default: the name of the folder)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing recording")
    parser.add_argument("--noise", action="store_true",
                        help="disturb the training by one unit in the last place, in each batch or else in the first activations: a noise run, for "
                             "forkpoint-cli compare --noise; the bundle says so")
    parser.add_argument("--version", action="version", version=VERSION)
    own, kind, rest = split_arguments(sys.argv[1:] if argv is None else argv)
    given = parser.parse_args(own)
    if kind is None or not rest:
        parser.error("what is to be recorded? Give a script, -m MODULE, or -- COMMAND")
    try:
        if given.like and given.steps is not None:
            raise UsageError("--like and --steps contradict each other: the other bundle says which steps")
        steps = given.steps if given.steps is not None else "none" if given.ring or given.every else "0:3"
        options = Options(given.out, steps, given.level, given.name, given.overwrite, noise=given.noise, plan=given.plan,
                          **{name: getattr(given, name) for name in Selection.OPTIONS if name != "steps"})
        before = {"script": [], "module": ["-m"], "command": ["--"]}[kind]
        twin = re.sub(r"(\.forkpoint)?/*$", "-eager", given.out, count=1)
        options.launch = ["python3", os.path.basename(__file__)] + own + ["--out", twin] + before + rest
        if not options.plan:
            claim_output(options)
        if kind == "command":
            sys.exit(run_command(options, rest))
        run_script(options, rest, kind == "module")
    except UsageError as error:
        say(error)
        sys.exit(2)


def open(path):
    """Open a bundle for reading: forkpoint_recorder.open("runs/a.forkpoint")[0, "forward/output/head", 0] is a tensor."""
    return Bundle(path)


if __name__ == "__main__":
    main()
