# SPDX-License-Identifier: MIT
"""cli_docs.py RANKFEED VERSION OUT: the man page and the bash completion of the command line, made of what its --help
says: OUT/rankfeed.1.gz and OUT/rankfeed.bash."""
import gzip
import pathlib
import re
import subprocess
import sys


class Command:
    """A command's help, taken apart."""

    def __init__(self, program, words):
        text = subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
        self.words = words
        head, _, self.examples = text.partition("\nExamples:\n")
        self.summary = head.split("\n", 1)[0]
        body, _, subcommands = head.partition("\nSubcommands:\n")
        self.names = re.findall(r"^  ([a-z]+) ", subcommands, re.M)
        before, _, options = body.partition("\nOptions:\n")
        self.options = before.partition("\nPositionals:\n")[2] + options
        self.flags = re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", "\n".join(re.findall(r"^  (-.*?)(?:  |$)", self.options, re.M)))
        self.choices = {flag: values.split(",") for flag, values in
                        re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+) TEXT:\{([^}]*)\}", self.options, re.M)}
        self.children = [Command(program, [*words, name]) for name in self.names]

    def all(self):
        yield self
        for child in self.children:
            yield from child.all()


def roff(text):
    """Text as it stands, for a man page."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").split("\n")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in lines)


def man_page(top, version):
    out = [f'.TH RANKFEED 1 "" "rankfeed {version}" "User Commands"', ".SH NAME", "rankfeed \\- exact Unigram, WordPiece and BPE tokenization and reranker batches",
           ".SH SYNOPSIS", ".B rankfeed", ".I COMMAND", "[\\fIOPTIONS\\fR]", ".SH COMMANDS"]
    for command in top.all():
        if not command.words:
            continue
        out += [f'.SS "rankfeed {" ".join(command.words)}"', roff(command.summary)]
        # A name, what it is, and what it does, indented below.
        for entry in re.split(r"\n(?=  -|  [A-Z])", "\n" + command.options):
            if not entry.strip() or command.names:
                continue
            match = re.match(r"\s*(\S.*?)(?:\s{2,}|\n\s+)(.*)", entry, re.S)
            name, what = match.groups() if match else (entry.strip(), "")
            if name.startswith("-h,"):
                continue
            out += [".TP", ".B " + roff(name), roff(" ".join(what.split()))]
        if command.examples and not command.names:
            out += [".PP", "Example:", ".PP", ".nf", ".RS", roff(command.examples.strip("\n")), ".RE", ".fi"]
    out += [".SH ENVIRONMENT", ".TP", ".B RANKFEED_ISA", "The instruction set to run; \\fBrankfeed info\\fR lists them.",
            ".SH EXIT STATUS", "0 when all is done, 1 when something failed (standard error says what), 2 when the command line is wrong.",
            ".SH SEE ALSO", "The documents of the package librankfeed\\-dev."]
    return "\n".join(out) + "\n"


def completion(top):
    cases = []
    for command in top.all():
        words = " ".join([*command.names, *sorted(set(command.flags) | {"--help"})])
        choices = "".join(f"\n        {flag}) words=\"{' '.join(values)}\" ;;" for flag, values in sorted(command.choices.items()))
        inner = f"\n      case $previous in{choices}\n      esac" if choices else ""
        cases.append(f"    \"{' '.join(command.words)}\")\n      words=\"{words}\"{inner}\n      ;;")
    return f"""# bash completion of rankfeed, made of its --help.
_rankfeed() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= word words=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && break
    command+="${{command:+ }}$word"
  done
  case $command in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _rankfeed rankfeed
"""


def main():
    program, version, out = sys.argv[1:]
    top = Command(program, [])
    folder = pathlib.Path(out)
    page = man_page(top, version).encode()
    (folder / "rankfeed.1.gz").write_bytes(gzip.compress(page, 9, mtime=0))
    (folder / "rankfeed.bash").write_text(completion(top), encoding="utf-8")


main()
