# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Checks a bundle against core/bundle/FORMAT.md, line by line. Standard library only, and nothing of the recorder: it must not share its errors.

    format_check.py BUNDLE...       prints what is wrong; exit status 1 if anything is
"""
import collections
import hashlib
import json
import os
import re
import struct
import sys

ITEM_SIZE = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "int64": 8, "int32": 4, "int16": 2,
             "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16}
NUMBER = (int, float)
# (phase, kind) -> which of micro, param a record has
RECORDS = {("start", "param"): ("param",), ("start", "buffer"): ("param",), ("data", "batch"): ("micro",), ("forward", "input"): ("micro",),
           ("forward", "output"): ("micro",), ("backward", "grad_output"): ("micro",), ("backward", "grad"): ("micro", "param"),
           ("backward", "input"): ("micro",), ("backward", "output"): ("micro",), ("reduce", "grad"): ("param",),
           ("optimizer", "grad"): ("param",), ("optimizer", "optimizer_state"): ("param",), ("optimizer", "param"): ("param",),
           ("optimizer", "buffer"): ("param",)}
WORD_BITS = (1 << 64) - 1


def mix(n):
    n = (n + 0x9E3779B97F4A7C15) & WORD_BITS
    n = ((n ^ (n >> 30)) * 0xBF58476D1CE4E5B9) & WORD_BITS
    n = ((n ^ (n >> 27)) * 0x94D049BB133111EB) & WORD_BITS
    return n ^ (n >> 31)


def weight(n):
    return (mix(n % 65536) | 1) * (mix((1 << 32) + n // 65536) | 1)


def fold(data, dtype, indices):
    """The fold of little-endian bytes whose elements have these global indices."""
    item = ITEM_SIZE[dtype]
    size = min(item, 4)
    words = struct.unpack("<%d%s" % (len(data) // size, {1: "b", 2: "h", 4: "i"}[size]), data)
    per = item // size
    return "%016x" % (sum(weight(indices[k // per] * per + k % per) * word for k, word in enumerate(words)) & WORD_BITS)


def sample_positions(count):
    if count <= 4096:
        return list(range(count))
    begin = [k * count // 4096 for k in range(4097)]
    return [begin[k] + mix(k) % (begin[k + 1] - begin[k]) for k in range(4096)]


def global_indices(shape, whole, offset):
    """Global index of each element of a piece, in the piece's order."""
    indices = [0]
    for size, total, start in zip(shape, whole, offset):
        indices = [index * total + start + place for index in indices for place in range(size)]
    return indices


def unwrapped(path):
    """A path without the names that wrappers insert."""
    return [word for word in path.split(".") if word not in ("", "module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")]


def refuse(constant):
    raise ValueError("%s is no JSON" % constant)


class Check:
    def __init__(self, bundle):
        self.bundle, self.problems = bundle, []

    def wrong(self, where, text):
        self.problems.append("%s: %s" % (where, text))

    def keys(self, where, value, required, optional=()):
        """`required` and `optional` are {key: type or types}."""
        for key, kinds in dict(required).items():
            if key not in value:
                self.wrong(where, "lacks %s" % key)
            else:
                self.typed(where, key, value[key], kinds)
        for key, kinds in dict(optional).items():
            if value.get(key) is not None:
                self.typed(where, key, value[key], kinds)
        for key in set(value) - set(required) - set(optional):
            self.wrong(where, "unknown key %s" % key)

    def typed(self, where, key, value, kinds):
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, kinds) or isinstance(value, bool) and bool not in kinds:
            self.wrong(where, "%s is a %s: %r" % (key, type(value).__name__, value))
        if isinstance(value, str) and value in ("nan", "inf", "-inf"):
            self.wrong(where, "%s is %s" % (key, value))

    def integers(self, where, key, value):
        if not isinstance(value, list) or not all(type(i) is int for i in value):
            self.wrong(where, "%s is no list of integers: %r" % (key, value))
            return False
        return True

    def json(self, path):
        try:
            with open(os.path.join(self.bundle, path), encoding="utf-8") as file:
                value = json.load(file, parse_constant=refuse)
            if isinstance(value, dict):
                return value
            self.wrong(path, "is no object")
        except (OSError, ValueError) as error:
            self.wrong(path, str(error))
        return None

    def lines(self, path):
        try:
            with open(os.path.join(self.bundle, path), "rb") as file:
                data = file.read()
        except OSError as error:
            self.wrong(path, str(error))
            return
        if data and not data.endswith(b"\n"):
            self.wrong(path, "the last line is torn")
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            try:
                value = json.loads(line.decode("utf-8"), parse_constant=refuse)
            except ValueError as error:
                self.wrong("%s:%d" % (path, number), str(error))
                continue
            if isinstance(value, dict):
                yield "%s:%d" % (path, number), value
            else:
                self.wrong("%s:%d" % (path, number), "is no object")

    def version(self, where, value):
        if not (self.integers(where, "version", value.get("version")) and value["version"][:1] == [1]):
            self.wrong(where, "version %r" % value.get("version"))

    def run(self):
        folders = []
        for name in sorted(os.listdir(self.bundle)):
            path = os.path.join(self.bundle, name)
            if re.fullmatch(r"rank\d{5}", name) and os.path.isdir(path) and not os.path.islink(path):
                folders.append(name)
            elif name != "bundle.json":
                self.wrong(name, "does not belong into a bundle")
        value = self.json("bundle.json")
        if value:
            self.keys("bundle.json", value, {"format": str, "version": list, "name": str, "world_size": int},
                      {"run_id": str, "attempt": int, "created": str, "command": list, "producer": dict})
            self.version("bundle.json", value)
            if value.get("format") != "forkpoint-bundle":
                self.wrong("bundle.json", "format %r" % value.get("format"))
        if not folders:
            self.wrong(self.bundle, "has no rank")
        for folder in folders:
            self.rank(folder, value or {})
        return self.problems

    def rank(self, folder, bundle):
        where = folder + "/rank.json"
        value = self.json(where) or {}
        self.keys(where, value, {"format": str, "version": list, "run": str, "world_size": int, "rank": int, "status": str},
                  {"run_id": str, "attempt": int, "created": str, "command": list, "producer": dict, "error": str, "steps": str,
                   "coordinates": dict, "device": str, "environment": dict, "flags": dict, "config": dict, "seeds": dict,
                   "process_groups": list, "code": dict, "coverage": dict, "selection": dict, "noise": dict, "triggers": list})
        self.version(where, value)
        if value.get("format") != "forkpoint-rank" or value.get("status") not in ("recording", "complete", "failed"):
            self.wrong(where, "format %r, status %r" % (value.get("format"), value.get("status")))
        if folder != "rank%05d" % value.get("rank", -1):
            self.wrong(where, "is rank %r" % value.get("rank"))
        for key in ("run_id", "world_size", "attempt"):
            if value.get(key) != bundle.get(key):
                self.wrong(where, "%s %r, bundle.json has %r" % (key, value.get(key), bundle.get(key)))
        for key in ("environment", "flags"):
            for name, item in (value.get(key) or {}).items():
                if not isinstance(item, (str, bool) + NUMBER):
                    self.wrong(where, "%s.%s is not flat" % (key, name))
        extra = set(os.listdir(os.path.join(self.bundle, folder))) - {"rank.json", "graph.jsonl", "scalars.jsonl", "tensors.jsonl", "tensors-0000.bin"}
        if extra:
            self.wrong(folder, "holds %s" % sorted(extra))
        self.ring = bool((value.get("selection") or {}).get("ring"))
        orders = collections.Counter()
        graph = self.graph(folder, orders)
        self.scalars(folder)
        self.tensors(folder, graph, orders)
        for order, count in orders.items():
            if count > 1:
                self.wrong(folder, "order %d is used %d times" % (order, count))

    def graph(self, folder, orders):
        modules, calls, backwards, edges, ties = {}, {}, [], [], []
        self.operators, described = set(), collections.Counter()
        last = -1
        for where, line in self.lines(folder + "/graph.jsonl"):
            kind = line.pop("type", None)
            if kind == "module":
                self.keys(where, line, {"path": str, "class": str, "parameters": list, "buffers": list}, {"wrapper": str})
                described[line.get("path")] += 1                  # once more if the model was first met by a part of it
                if described[line.get("path")] > 2:
                    self.wrong(where, "module %s again" % line["path"])
                earlier = modules.get(line.get("path"), {"parameters": [], "buffers": []})
                modules[line.get("path")] = dict(line, **{key: line.get(key, []) + earlier[key] for key in ("parameters", "buffers")})
            elif kind in ("call", "backward"):
                if kind == "call":
                    self.keys(where, line, {"step": int, "micro": int, "module": str, "call": int, "order": int, "parent": (str, type(None)),
                                            "parent_call": (int, type(None)), "training": bool}, {"source": str, "recompute": bool})
                    key = (line.get("step"), line.get("micro"), line.get("module"), line.get("call"), bool(line.get("recompute")))
                    if key in calls:
                        self.wrong(where, "call %r twice" % (key,))
                    calls[key] = line
                    if line.get("parent") is not None:
                        parent = (line["step"], line["micro"], line["parent"], line.get("parent_call"), False)
                        if parent not in calls:
                            self.wrong(where, "parent %r was not called" % (parent,))
                    elif line.get("parent_call") is not None:
                        self.wrong(where, "parent_call without parent")
                    if line.get("module") not in modules:
                        self.wrong(where, "unknown module %r" % line.get("module"))
                else:
                    self.keys(where, line, {"step": int, "micro": int, "root": str, "order": int}, {"source": str})
                    backwards.append(line)
                if line.get("source") and not re.fullmatch(r"[^/].*:\d+", line["source"]):
                    self.wrong(where, "source %r" % line["source"])
                orders[line.get("order")] += 1
                if line.get("order", -1) <= last and not self.ring:    # the flight recorder writes late
                    self.wrong(where, "order %r after %r" % (line.get("order"), last))
                last = line.get("order", last)
            elif kind == "edge":
                self.keys(where, line, {"step": int, "micro": int, "from": dict, "to": dict, "direct": bool})
                for end in ("from", "to"):
                    self.keys(where, line.get(end, {}), {"module": str, "call": int, "slot": str})
                edges.append((where, line))
            elif kind == "op":
                self.keys(where, line, {"step": int, "micro": int, "phase": str, "module": str, "op": str, "schema": str, "call": int, "order": int,
                                        "arguments": list, "keywords": dict, "returns": list})
                key = (line.get("step"), line.get("micro"), line.get("phase"), line.get("module"), line.get("op"), line.get("call"))
                if key in self.operators or not str(line.get("schema")).startswith(str(line.get("op"))):
                    self.wrong(where, "operator %r twice, or schema %r" % (key, line.get("schema")))
                self.operators.add(key)
                orders[line.get("order")] += 1
            elif kind == "tie":
                self.keys(where, line, {"names": list})
                ties.append(line.get("names"))
            else:
                self.wrong(where, "type %r" % kind)
        for where, line in edges:
            for end in ("from", "to"):
                name = line[end]["module"]
                key = (line["step"], line["micro"], name, line[end]["call"], False)
                if not self.called(calls, key, line[end]["slot"]) and not (end == "to" and re.fullmatch(r"loss(#\d+)?", name)):
                    self.wrong(where, "%s %r was not called" % (end, key))
        return modules, calls, backwards

    def scalars(self, folder):
        seen = set()
        for where, line in self.lines(folder + "/scalars.jsonl"):
            self.keys(where, line, {"step": int, "name": str, "value": NUMBER + (str,)}, {"micro": int})
            if isinstance(line.get("value"), str) and line["value"] not in ("NaN", "Infinity", "-Infinity"):
                self.wrong(where, "value %r" % line["value"])
            key = (line.get("step"), line.get("micro"), line.get("name"))
            if key in seen:
                self.wrong(where, "scalar %r twice" % (key,))
            seen.add(key)

    def tensors(self, folder, graph, orders):
        modules, calls, _ = graph
        path = os.path.join(self.bundle, folder, "tensors-0000.bin")
        with open(path, "rb") as file:
            data = memoryview(file.read())
        seen, ids, places = set(), set(), {}
        for where, line in self.lines(folder + "/tensors.jsonl"):
            self.keys(where, line, {"id": int, "step": int, "phase": str, "kind": str, "module": str, "order": int, "dtype": str, "shape": list},
                      {"micro": int, "level": str, "param": str, "call": int, "slot": str, "global_shape": list, "global_offset": list,
                       "placement": list, "recompute": bool, "sample_ids": list, "not_observed": str, "stats": dict, "digest": str, "fold": str, "detail": str,
                       "sketch": dict,
                       "file": str, "offset": int, "codec": str, "filter": str, "frame_size": int, "frames": list})
            if line.get("id") in ids or line.get("id", -1) < 0:
                self.wrong(where, "id %r" % line.get("id"))
            ids.add(line.get("id"))
            orders[line.get("order")] += 1
            self.record(where, line, modules, calls)
            key = tuple(line.get(k) or 0 for k in ("step", "micro", "phase", "kind", "level", "module", "param", "call", "slot", "recompute"))
            if key in seen:
                self.wrong(where, "recorded twice: %r" % (key,))
            seen.add(key)
            self.content(where, line, data, places)

    @staticmethod
    def called(calls, key, slot):
        """Whether there is such a call; for what a wrapper makes of its module's output, one of that module."""
        if not re.fullmatch(r"outer(\..*)?", slot):
            return key in calls
        path = unwrapped(key[2])
        return any(unwrapped(other[2]) == path and other[:2] + other[3:] == key[:2] + key[3:] for other in calls)

    def record(self, where, line, modules, calls):
        phase, kind, module = line.get("phase"), line.get("kind"), line.get("module")
        if line.get("level") == "op":
            path, _, name = str(module).rpartition("/")
            key = (line.get("step"), line.get("micro"), phase, path, name, line.get("call") or 0)
            if key not in self.operators or kind not in ("input", "output"):
                self.wrong(where, "%s of an operator that is not in the graph: %r" % (kind, key))
            return
        expected = RECORDS.get((phase, kind))
        if expected is None:
            self.wrong(where, "kind %r in phase %r" % (kind, phase))
            return
        for key in ("micro", "param"):
            if (key in line) != (key in expected):
                self.wrong(where, "%s/%s %s %s" % (phase, kind, "has" if key in line else "lacks", key))
        if (phase == "backward" and kind in ("input", "output")) != bool(line.get("recompute")):
            self.wrong(where, "recompute %r in %s/%s" % (line.get("recompute"), phase, kind))
        loss = kind == "output" and phase == "forward" and re.fullmatch(r"loss(#\d+)?", module or "")
        if kind == "batch" and module != "":
            self.wrong(where, "a batch of module %r" % module)
        if kind in ("param", "buffer", "grad", "optimizer_state"):
            names = modules.get(module, {}).get("buffers" if kind == "buffer" else "parameters")
            if names is None or line.get("param") not in names:
                self.wrong(where, "unknown %s %s of %r" % (kind, line.get("param"), module))
        elif kind in ("input", "output") and not loss:
            key = (line.get("step"), line.get("micro"), module, line.get("call") or 0, bool(line.get("recompute")))
            if not self.called(calls, key, line.get("slot", "")):
                self.wrong(where, "%s of a call that is not in the graph: %r" % (kind, key))
        elif kind == "grad_output" and module not in modules:
            self.wrong(where, "unknown module %r" % module)
        for place in line.get("placement") or ():
            if not isinstance(place, dict) or place.get("type") not in ("replicate", "shard", "partial") or not isinstance(place.get("axis"), str):
                self.wrong(where, "placement %r" % (place,))
        ids = line.get("sample_ids")
        if ids is not None and (kind != "batch" or not self.integers(where, "sample_ids", ids) or len(ids) != (line["shape"] or [0])[0]):
            self.wrong(where, "sample_ids %r" % (ids,))

    def content(self, where, line, data, places):
        if line.get("dtype") not in ITEM_SIZE:
            self.wrong(where, "dtype %r" % line.get("dtype"))
            return
        if not self.integers(where, "shape", line.get("shape")):
            return
        size = ITEM_SIZE[line["dtype"]]
        for length in line["shape"]:
            size *= length
        if line.get("not_observed"):
            if line.get("digest") or line.get("file"):
                self.wrong(where, "not observed, yet with bytes")
            return
        detail = line.get("detail", "full")
        if detail not in ("full", "sketch", "digest", "fold"):
            self.wrong(where, "detail %r" % detail)
            return
        if (detail in ("full", "digest") or "digest" in line) and not re.fullmatch(r"[0-9a-f]{64}", line.get("digest", "")):
            self.wrong(where, "digest %r" % line.get("digest"))
            return
        if detail != "full":
            self.less_than_bytes(where, line, detail, data)
            return
        if "file" not in line:
            if size:
                self.wrong(where, "no bytes")
            return
        offset = line.get("offset", -1)
        if line["file"] != "tensors-0000.bin" or offset < 0 or offset % 64 or offset + size > len(data):
            self.wrong(where, "file %r, offset %r, size %d of %d" % (line["file"], offset, size, len(data)))
            return
        if hashlib.sha256(data[offset:offset + size]).hexdigest() != line["digest"]:
            self.wrong(where, "the digest is not the bytes'")
        if places.setdefault(line["digest"], offset) != offset:
            self.wrong(where, "the same bytes are stored twice")

    def less_than_bytes(self, where, line, detail, data):
        """FORMAT.md, section 6.1."""
        if "file" in line or "offset" in line or not re.fullmatch(r"[0-9a-f]{16}", line.get("fold", "")):
            self.wrong(where, "a %s with bytes, or fold %r" % (detail, line.get("fold")))
        if (detail == "sketch") != ("sketch" in line):
            self.wrong(where, "detail %s, sketch %r" % (detail, line.get("sketch")))
            return
        if detail != "sketch":
            return
        sketch, shape = line["sketch"], line["shape"]
        self.keys(where, sketch, {"samples": int}, {"file": str, "offset": int, "zeros": int, "exponents": dict})
        whole, offset = line.get("global_shape") or shape, line.get("global_offset") or [0] * len(shape)
        count = local = 1
        for size, piece in zip(whole, shape):
            count, local = count * size, local * piece
        indices = global_indices(shape, whole, offset) if local <= 200000 else None
        kept = [index for index in sample_positions(count) if indices is None or index in set(indices)] if whole != shape else sample_positions(count)
        size = sketch["samples"] * ITEM_SIZE[line["dtype"]]
        if sketch["samples"] != len(kept):
            self.wrong(where, "%d samples, not %d" % (sketch["samples"], len(kept)))
        if (size > 0) != ("file" in sketch) or size and (sketch["file"] != "tensors-0000.bin" or sketch["offset"] % 64 or sketch["offset"] + size > len(data)):
            self.wrong(where, "samples at %r" % sketch)
            return
        if len(kept) == local and indices and sorted(indices) == indices:      # nothing is left out
            if fold(data[sketch["offset"]:sketch["offset"] + size], line["dtype"], indices) != line["fold"]:
                self.wrong(where, "the fold is not the elements'")
        counts = (sketch.get("exponents") or {}).get("counts", [])
        stats = line.get("stats") or {}
        if "zeros" in sketch and sum(counts) + sketch["zeros"] + stats.get("nan", 0) + stats.get("inf", 0) != local:
            self.wrong(where, "the exponents of %r do not add up to %d" % (sketch, local))


def check(bundle):
    """List of what is wrong with a bundle; empty when nothing is."""
    return Check(bundle).run()


if __name__ == "__main__":
    found = [(path, problem) for path in sys.argv[1:] for problem in check(path)]
    for path, problem in found:
        print("%s: %s" % (path, problem))
    sys.exit(1 if found else 0)
