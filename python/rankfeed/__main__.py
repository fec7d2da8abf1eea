# SPDX-License-Identifier: MIT
"""python -m rankfeed compile --from-transformers DIR -o IMAGE: what the `rankfeed` program cannot do without Python."""

import argparse
import sys
from typing import List, Optional

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


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rankfeed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compile", description=COMPILE, help="a folder of transformers into an image",
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--from-transformers", required=True, metavar="DIR",
                         help="folder with tokenizer.json and tokenizer_config.json, as save_pretrained writes it")
    command.add_argument("-o", "--output", required=True, metavar="IMAGE", help="image file to write (replaced by rename)")
    try:
        compile_command(parser.parse_args(argv))
    except (RankfeedError, OSError, TypeError, ValueError) as problem:
        print(f"rankfeed: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
