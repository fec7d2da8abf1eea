# SPDX-License-Identifier: MIT
"""Corpora that outgrow one machine: documents tokenized on a Ray cluster into shards, opened as one corpus.

    import rankfeed, rankfeed.ray
    made = rankfeed.ray.pretokenize(["docs.jsonl"], "/shared/docs", "vocab.rfimg", shards=64)
    corpus = rankfeed.Corpus(made.manifest, map_file=True)

A document belongs into the shard that its id's hash names, so what is in a shard depends on the documents alone: not
on how the input is cut into files and blocks, in which order these come, or on how many machines there are. A shard's
file is named after the hash of its documents, the vocabulary and the options. A run that finds a file of that name, and
finds it sound, does not make it again: a run that was stopped goes on where it was, and one over documents of
which few have changed makes only the shards of those. Needs ray and pyarrow, and this package on every machine."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib
import json
import os
import sys
import tempfile
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._corpus import Corpus, CorpusWriter
from ._errors import RankfeedError
from ._tokenizer import Tokenizer

Path = Union[str, "os.PathLike[str]"]

_PUT_AT_ONCE = 8192  # documents tokenized before they are written
_ROWS_AT_ONCE = 32768  # of a datasets.Dataset
_CONTENT_VERSION = b"rankfeed shard 1"


class DocumentError(ValueError):
    """A document that cannot be stored: no id, no text, or an id that two different texts have."""


class Pretokenized(NamedTuple):
    """What a run has done."""

    manifest: str
    documents: int
    tokens: int
    shards: int
    made: int
    skipped: int  # found from an earlier run
    seconds: float


class _Job(NamedTuple):
    """What every task knows."""

    folder: str
    shards: int
    id_column: str
    text_column: str
    split_special_tokens: bool
    config_hash: str
    image_hash: str


class _Shard(NamedTuple):
    file: str
    bytes: int
    documents: int
    tokens: int
    sha256: str
    content: str
    made: bool  # not found


class _Lines(NamedTuple):
    """Those lines of a JSONL file that begin in a range of bytes."""

    path: str
    begin: int
    end: int


class _RowGroup(NamedTuple):
    """Of a Parquet file."""

    path: str
    number: int


def _needs(name: str, install: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise RankfeedError(f"rankfeed.ray needs the {name} package: pip install {install}") from None


# ---- reading: runs in tasks --------------------------------------------------------------------


def _read_lines(job: _Job, lines: _Lines) -> Any:
    """A table of the documents; their ids are strings or integers."""
    pyarrow = _needs("pyarrow", "pyarrow")
    ids: List[str] = []
    texts: List[str] = []
    with open(lines.path, "rb") as file:
        begin = end = lines.begin
        if begin > 0:  # the line that the range before reads to its end
            file.seek(begin - 1)
            end += len(file.readline()) - 1
        for line in file:
            begin, end = end, end + len(line)
            if begin >= lines.end:
                break
            try:
                row = json.loads(line.decode())
                id, text = row[job.id_column], row[job.text_column]
                if type(id) is int:
                    id = str(id)
                if type(id) is not str or type(text) is not str:
                    raise TypeError(f"\"{job.id_column}\" must be a string or an integer, \"{job.text_column}\" a string")
            except (KeyError, TypeError, ValueError, RecursionError) as problem:
                if not line.strip():
                    continue
                raise DocumentError(f"{lines.path}: byte {begin}: {type(problem).__name__}: {problem}") from None
            ids.append(id)
            texts.append(text)
    large = pyarrow.large_string()
    try:
        return pyarrow.table({"id": pyarrow.array(ids, large), "text": pyarrow.array(texts, large)})
    except UnicodeEncodeError as problem:  # JSON may spell half of a pair of surrogates
        raise DocumentError(f"{lines.path}: {_not_utf8(ids, texts)}: {problem}") from None


def _not_utf8(ids: Sequence[str], texts: Sequence[str]) -> str:
    """Names the first document of which a string is not Unicode."""
    for id, text in zip(ids, texts):
        try:
            (id + text).encode()
        except UnicodeEncodeError:
            return f"the document {id!r}"
    return "a document"


def _documents(job: _Job, piece: Any) -> Any:
    """A table of two columns of large strings, "id" and "text", of any kind of piece."""
    pyarrow = _needs("pyarrow", "pyarrow")
    if isinstance(piece, _Lines):
        return _read_lines(job, piece)
    where = "a block"
    if isinstance(piece, _RowGroup):
        where = f"{piece.path}: row group {piece.number}"
        parquet = _needs("pyarrow.parquet", "pyarrow")
        with parquet.ParquetFile(piece.path) as file:
            for name in (job.id_column, job.text_column):
                if name not in file.schema_arrow.names:
                    raise DocumentError(f"{piece.path}: no column \"{name}\"")
            piece = file.read_row_group(piece.number, columns=[job.id_column, job.text_column])
    large = pyarrow.large_string()
    if piece.num_rows == 0:  # such a block may have no columns either
        return pyarrow.table({"id": pyarrow.array([], large), "text": pyarrow.array([], large)})
    columns = {}
    for name, column, integers in (("id", job.id_column, True), ("text", job.text_column, False)):
        if column not in piece.column_names:
            raise DocumentError(f"{where}: no column \"{column}\"")
        values = piece.column(column)
        kind = values.type.value_type if pyarrow.types.is_dictionary(values.type) else values.type
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or
                (integers and pyarrow.types.is_integer(kind)) or str(kind) == "string_view"):
            raise DocumentError(f"{where}: \"{column}\" is of type {values.type}; it must be strings" +
                                (" or integers" if integers else ""))
        if values.null_count:
            raise DocumentError(f"{where}: \"{column}\" is null in {values.null_count} rows")
        columns[name] = values.cast(kind).cast(large)
    return pyarrow.table(columns)


def _split(job: _Job, piece: Any) -> Any:
    """Of a piece of the input, the documents of each shard."""
    numpy = importlib.import_module("numpy")
    table = _documents(job, piece)
    shard = numpy.array(_core.shards_of(table.column("id").to_pylist(), job.shards), dtype=numpy.int64)
    order = numpy.argsort(shard, kind="stable")
    bounds = numpy.searchsorted(shard[order], numpy.arange(job.shards + 1))
    # take, not slice: a slice would be sent with all of the piece after it.
    parts = [table.take(order[bounds[k]:bounds[k + 1]]) for k in range(job.shards)]
    return tuple(parts) if job.shards > 1 else parts[0]


# ---- making a shard: runs in tasks -------------------------------------------------------------


_tokenizers: Dict[str, Tokenizer] = {}  # of this process, by the image's hash


def _tokenizer(job: _Job, image: bytes) -> Tokenizer:
    found = _tokenizers.get(job.image_hash)
    if found is None:
        with tempfile.NamedTemporaryFile(suffix=".rfimg") as file:
            file.write(image)
            file.flush()
            # Ray's tasks are the threads.
            found = _tokenizers[job.image_hash] = Tokenizer.from_file(file.name, threads=1)
    return found


def _ordered(parts: Sequence[Any]) -> Tuple[Any, Any]:
    """Ids and texts of a shard in the order of the ids' bytes, each document once."""
    pyarrow, compute = _needs("pyarrow", "pyarrow"), _needs("pyarrow.compute", "pyarrow")
    table = pyarrow.concat_tables(parts)
    table = table.take(compute.sort_indices(table.column("id")))
    ids, texts = (_one_chunk(table.column(name)) for name in ("id", "text"))
    if len(ids) < 2:
        return ids, texts
    again = compute.equal(ids[1:], ids[:-1])
    if not compute.any(again).as_py():
        return ids, texts
    other = compute.and_(again, compute.not_equal(texts[1:], texts[:-1]))
    where = compute.index(other, True).as_py()
    if where >= 0:
        raise DocumentError(f"two documents have the id \"{ids[where].as_py()}\" and different texts")
    keep = pyarrow.concat_arrays([pyarrow.array([True]), _one_chunk(compute.invert(again))])
    return ids.filter(keep), texts.filter(keep)


def _one_chunk(column: Any) -> Any:
    pyarrow = _needs("pyarrow", "pyarrow")
    if isinstance(column, pyarrow.ChunkedArray):
        chunks = column.chunks
        return pyarrow.concat_arrays(chunks) if chunks else pyarrow.array([], column.type)
    return column


def _content(job: _Job, shard: int, ids: Any, texts: Any) -> str:
    """The hash of all that a shard's bytes follow from."""
    numpy = importlib.import_module("numpy")
    digest = hashlib.sha256()
    digest.update(b"\0".join([_CONTENT_VERSION, job.config_hash.encode(), str(job.split_special_tokens).encode(),
                              str(shard).encode(), str(job.shards).encode(), str(len(ids)).encode()]))
    for column in (ids, texts):
        if len(column) == 0:
            continue
        _, offsets, data = column.buffers()
        begins = numpy.frombuffer(offsets, "<i8")[column.offset:column.offset + len(column) + 1]
        digest.update(numpy.diff(begins).astype("<i8").tobytes())
        if data is not None:
            digest.update(memoryview(data)[int(begins[0]):int(begins[-1])])
    return digest.hexdigest()


def _facts(job: _Job, path: str, tokenizer: Tokenizer) -> Tuple[int, int, int, str]:
    """Bytes, documents, tokens and SHA-256 of a store, which is verified."""
    corpus = Corpus(path, tokenizer, split_special_tokens=job.split_special_tokens)
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as file:
        while True:
            chunk = file.read(1 << 20)
            if not chunk:
                break
            digest.update(chunk)
            size += len(chunk)
    return size, len(corpus), corpus.token_count, digest.hexdigest()


def _make(job: _Job, image: bytes, shard: int, *parts: Any) -> _Shard:
    """Makes a shard, or finds it made."""
    tokenizer = _tokenizer(job, image)
    ids, texts = _ordered(parts)
    content = _content(job, shard, ids, texts)
    name = f"shard-{shard:05d}-{content[:32]}.rfc"
    path = os.path.join(job.folder, name)
    if os.path.exists(path):
        try:
            facts = _facts(job, path, tokenizer)
            if facts[1] == len(ids):
                return _Shard(name, *facts, content, False)
        except RankfeedError:
            pass  # damaged: made again
    # Two runs of one task never share a name, and whichever comes last leaves the same bytes.
    temporary = f"{path}.{uuid.uuid4().hex}.part"
    try:
        with CorpusWriter(temporary, tokenizer, split_special_tokens=job.split_special_tokens) as writer:
            for at in range(0, len(ids), _PUT_AT_ONCE):
                writer.put_all(ids.slice(at, _PUT_AT_ONCE), texts.slice(at, _PUT_AT_ONCE))
        facts = _facts(job, temporary, tokenizer)
        os.replace(temporary, path)
    except BaseException as problem:
        _remove([temporary, temporary + ".tmp"])
        if isinstance(problem, RankfeedError) and problem.name == "RANKFEED_E_IO":
            raise OSError(str(problem)) from None  # Ray runs the task again
        raise
    return _Shard(name, *facts, content, True)


def _remove(paths: Sequence[str]) -> None:
    for path in paths:
        try:
            os.remove(path)
        except OSError:
            pass


# ---- the run -----------------------------------------------------------------------------------


def _pieces(ray: Any, source: Any, block_bytes: int) -> Iterator[Any]:
    """Of the input: ranges of lines, row groups, or references to blocks."""
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)):
        for name in source:
            path = os.path.abspath(os.fspath(name))
            if path.endswith((".jsonl", ".ndjson", ".json")):
                size = os.path.getsize(path)
                for begin in range(0, size, block_bytes):
                    yield _Lines(path, begin, min(begin + block_bytes, size))
            elif path.endswith(".parquet"):
                with _needs("pyarrow.parquet", "pyarrow").ParquetFile(path) as file:
                    groups = file.num_row_groups
                for number in range(groups):
                    yield _RowGroup(path, number)
            else:
                raise ValueError(f"{path}: must end in .jsonl, .ndjson, .json (an object a line) or .parquet")
        return
    if hasattr(source, "to_arrow_refs"):  # ray.data: blocks that Ray can make again
        yield from source.to_arrow_refs()
    elif hasattr(source, "with_format") and hasattr(source, "iter"):  # datasets: read by this process
        for table in source.with_format("arrow").iter(batch_size=_ROWS_AT_ONCE):
            yield ray.put(table)
    else:
        raise TypeError(f"source is a {type(source).__name__}; it must be paths, a ray.data.Dataset or a datasets.Dataset")


def _give_up(ray: Any, tasks: List[Any]) -> None:
    """Ends tasks, and reads their errors, which Ray would print otherwise."""
    for task in tasks:
        ray.cancel(task, force=False)
    for task in ray.wait(tasks, num_returns=len(tasks), timeout=30)[0] if tasks else []:
        try:
            ray.get(task)
        except ray.exceptions.RayError:
            pass


def _collect(ray: Any, tasks: List[Any], progress: Optional[Callable[[str], None]]) -> List[_Shard]:
    """Waits for all shards; the first failure ends the others."""
    done: List[_Shard] = []
    pending, said = list(tasks), 0.0
    try:
        while pending:
            ready, pending = ray.wait(pending, num_returns=1, timeout=1.0)
            done += ray.get(ready)
            if progress is not None and (time.monotonic() - said >= 1 or not pending):
                said = time.monotonic()
                found = sum(not shard.made for shard in done)
                progress(f"{len(done)} of {len(tasks)} shards, {found} of them found; "
                         f"{sum(shard.documents for shard in done)} documents")
    except ray.exceptions.RayTaskError as problem:
        _give_up(ray, pending)
        cause = getattr(problem, "cause", None)
        if isinstance(cause, (DocumentError, RankfeedError, OSError)):
            raise cause from None
        raise
    return done


def _write_manifest(job: _Job, name: str, shards: Sequence[_Shard]) -> str:
    manifest = {
        "format": "rankfeed-corpus-manifest", "version": 1, "config_hash": job.config_hash, "routing": "hash",
        "documents": sum(s.documents for s in shards), "tokens": sum(s.tokens for s in shards),
        "shards": [{"file": s.file, "bytes": s.bytes, "documents": s.documents, "tokens": s.tokens, "sha256": s.sha256,
                    "content": s.content} for s in shards],
    }
    path = os.path.join(job.folder, name)
    temporary = f"{path}.{uuid.uuid4().hex}.part"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        _remove([temporary])
        raise
    return path


@contextlib.contextmanager
def connected(address: Optional[str]) -> Iterator[None]:
    """Ray of a cluster, or of this machine, for a program whose output is its own: what Ray's threads print about lost
    machines, which can be late, goes to the standard error, and they have ended when this ends."""
    ray = _needs("ray", "'ray[data]'")
    with contextlib.redirect_stdout(sys.stderr):
        ray.init(address=address, log_to_driver=False)
        try:
            yield
        finally:
            ray.shutdown()


def pretokenize(source: Any, folder: Path, tokenizer: Union[Tokenizer, Path], *, shards: int = 16,
                id_column: str = "id", text_column: str = "text", split_special_tokens: bool = False,
                manifest: str = "manifest.json", max_retries: int = 3, block_bytes: int = 64 << 20,
                progress: Optional[Callable[[str], None]] = None) -> Pretokenized:
    """Tokenizes documents on Ray into `shards` stores in `folder`, and writes a manifest of them, last and by rename.

    source: paths of JSONL or Parquet files that all machines can read, a ray.data.Dataset, or a datasets.Dataset (which
    goes through this process); with columns of ids (strings or integers, each once) and of texts. A document that comes again as it was is stored once;
    two texts of one id are a DocumentError. folder: of a file system that all machines share; one run at a time.
    tokenizer: any Tokenizer, or the path of a vocabulary; it is sent to the machines.
    shards: a look-up opens none but its own, so many cost nothing; one has to fit into a worker's memory, texts and
    ids. The same number finds the shards of an earlier run again.
    max_retries: of a task whose worker or machine is lost, or that ended with an OSError. block_bytes: of a JSONL file
    that one task reads. progress: called with a line of text about once a second, for example print.

    Uses the Ray that is initialized, or else ray.init(). Shards of earlier runs that the manifest no longer names stay
    in the folder."""
    if not 1 <= shards <= 32768:
        raise ValueError(f"shards is {shards}; it must be from 1 to 32768")
    if os.path.basename(manifest) != manifest or not manifest:
        raise ValueError(f"manifest is {manifest!r}; it must be a file name, without a folder")
    ray = _needs("ray", "'ray[data]'")
    _needs("pyarrow", "pyarrow")
    start = time.monotonic()
    if not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer.from_file(tokenizer)
    folder = os.path.abspath(os.fspath(folder))
    os.makedirs(folder, exist_ok=True)
    image = bytes(tokenizer._model.image())
    job = _Job(folder, shards, id_column, text_column, split_special_tokens,
               str(tokenizer._model.info()["config_hash"]), hashlib.sha256(image).hexdigest())
    if not ray.is_initialized():
        ray.init()
    options = {"num_cpus": 1, "max_retries": max_retries, "retry_exceptions": [OSError]}
    split = ray.remote(**options, num_returns=shards)(_split)
    make = ray.remote(**options)(_make)
    pieces = [split.remote(job, piece) for piece in _pieces(ray, source, block_bytes)]
    if shards == 1:
        pieces = [[piece] for piece in pieces]
    if not pieces:
        raise DocumentError("no documents")
    image_ref = ray.put(image)
    tasks = [make.remote(job, image_ref, k, *[piece[k] for piece in pieces]) for k in range(shards)]
    del pieces  # a part is freed when its shard is made
    made = sorted(_collect(ray, tasks, progress), key=lambda shard: shard.file)
    _remove(glob.glob(os.path.join(glob.escape(folder), "shard-*.part*")))  # of workers that were killed
    path = _write_manifest(job, manifest, made)
    count = sum(shard.made for shard in made)
    return Pretokenized(path, sum(s.documents for s in made), sum(s.tokens for s in made), len(made), count,
                        len(made) - count, time.monotonic() - start)
