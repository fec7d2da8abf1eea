# SPDX-License-Identifier: MIT
"""python -m rankfeed compile --from-transformers DIR -o IMAGE, python -m rankfeed pretokenize: what the `rankfeed`
program cannot do without Python."""

import argparse
import sys
from typing import Any, List, Optional

from . import RankfeedError, Tokenizer

COMPILE = """Compile the tokenizer that AutoTokenizer of the installed transformers makes of a folder.

transformers 5 replaces normalizer and pre-tokenizer of many tokenizer.json files, so AutoTokenizer gives other ids than the
file as it is written, which is what `rankfeed compile FILE -o IMAGE` follows. This command follows AutoTokenizer. Nothing is
downloaded, and code in the folder is not run."""


def compile_command(arguments: argparse.Namespace) -> None:
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise RankfeedError("--from-transformers needs the transformers package: pip install transformers") from None
    loaded = AutoTokenizer.from_pretrained(arguments.from_transformers, local_files_only=True, trust_remote_code=False)
    tokenizer = Tokenizer.from_transformers(loaded)
    tokenizer.save_image(arguments.output)
    info = tokenizer.info
    print(f"{arguments.output}: {info['id_count']} ids, {info['piece_count']} pieces, huggingface parity, as "
          f"{type(loaded).__name__}")


PRETOKENIZE = """Tokenize documents on a Ray cluster into the shards of a corpus, and write a manifest of them.

Every command that takes a corpus takes the manifest. A run that was stopped goes on where it was when it is started
again with the same documents, vocabulary and number of shards."""


def pretokenize_command(arguments: argparse.Namespace) -> None:
    from . import ray as on_ray
    with on_ray.connected(arguments.address):
        made = on_ray.pretokenize(
            arguments.docs, arguments.output, arguments.vocab, shards=arguments.shards, id_column=arguments.id_column,
            text_column=arguments.text_column, split_special_tokens=arguments.split_special_tokens,
            progress=lambda line: print(f"rankfeed: {line}", file=sys.stderr, flush=True))
    print(f"{made.manifest}: {made.documents} documents, {made.tokens} tokens in {made.shards} shards, "
          f"{made.made} of them made and {made.skipped} found, {made.seconds:.1f} s")


def add_pretokenize(commands: Any) -> None:
    command = commands.add_parser("pretokenize", description=PRETOKENIZE, help="documents into the shards of a corpus, on Ray",
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--vocab", required=True, help="image, SentencePiece .model or tokenizer.json")
    command.add_argument("--docs", required=True, nargs="+", metavar="FILE",
                         help="JSONL (.jsonl, .ndjson, .json) or Parquet files that all machines can read")
    command.add_argument("-o", "--output", required=True, metavar="FOLDER",
                         help="folder for shards and manifest.json, of a file system that all machines share")
    command.add_argument("--shards", type=int, default=16, help="stores to part the documents into (default: 16)")
    command.add_argument("--id-column", default="id", help="field or column of the ids (default: id)")
    command.add_argument("--text-column", default="text", help="field or column of the texts (default: text)")
    command.add_argument("--split-special-tokens", action="store_true", help="special tokens in texts are plain text")
    command.add_argument("--address", help="of a Ray cluster, for example auto; default: RAY_ADDRESS, or a Ray of this machine")
    command.set_defaults(run=pretokenize_command)


def without_program() -> int:
    """The command `rankfeed` of wheels that bring no program along."""
    print("rankfeed: this wheel has no program: the command line, the service and the forward pass were not ported to this system; they are "
          "in the wheels for Linux. rankfeed.Tokenizer compiles and encodes; python -m rankfeed has the commands that need Python.",
          file=sys.stderr)
    return 1


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rankfeed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compile", description=COMPILE, help="a folder of transformers into an image",
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--from-transformers", required=True, metavar="DIR",
                         help="folder with tokenizer.json and tokenizer_config.json, as save_pretrained writes it")
    command.add_argument("-o", "--output", required=True, metavar="IMAGE", help="image file to write (replaced by rename)")
    command.set_defaults(run=compile_command)
    add_pretokenize(commands)
    arguments = parser.parse_args(argv)
    try:
        arguments.run(arguments)
    except (RankfeedError, OSError, TypeError, ValueError) as problem:
        print(f"rankfeed: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
