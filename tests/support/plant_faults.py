#!/usr/bin/env python3
"""plant_faults.py [NAME ...] [--check] [--build FOLDER]: plants faults in src, one at a time, and asks the short run to find them.

Each fault is a change that a programmer could make: a condition left out, a bound off by one. The script makes it, builds the
test programs of its room, runs their tests, and takes it back. A fault that no test finds survived, and the exit status is 1.
docs/tests.md lists the faults with what found them. --check only tells whether each old text is in its file once. A build of the
preset release must be in FOLDER (build-release); the files must not have changes of their own."""
import argparse
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# name: file in src, old text, new text, test programs to build, tests to run.
FAULTS = {
    # base, trie
    "overlong": ("base/utf8.h", "if (lead == 0xf0) low = 0x90;", "if (lead == 0xf0) low = 0x80;", "utf8_test", "utf8_test"),
    "leaf": ("trie/double_array.h", "if (Label(next) != code || (u & kLeafBit) != 0) return false;",
             "if (Label(next) != code) return false;", "double_array_build_test", "double_array_build_test"),
    # unicode
    "emoji": ("unicode/grapheme.h", "} else if (!(IsExtend(c) && emoji_ == Emoji::kPictographic)) {", "} else {", "grapheme_test", "grapheme_test"),
    "crlf": ("unicode/grapheme.h", "return pos + (byte(pos) == '\\r' && byte(pos + 1) == '\\n' ? 2 : 1);", "return pos + 1;",
             "grapheme_test", "grapheme_test"),
    # normalize
    "blocks": ("normalize/unicode_forms.cc", "last_class_ >= 0 && last_class_ >= ccc", "last_class_ >= 0 && last_class_ > ccc",
               "unicode_forms_test", "unicode_forms_test"),
    "six_bytes": ("normalize/precompiled.cc", "cluster_end - pos < kWholeClusterBytes", "cluster_end - pos <= kWholeClusterBytes",
                  "precompiled_test charsmap_test", "(precompiled|charsmap)_test"),
    # image
    "charsmap_end": ("image/verify.cc", "((pos ^ offset) | 0xff) >= units.size()", "(pos ^ offset) >= units.size()",
                     "verify_image_test", "verify_image_test"),
    "low_score": ("image/verify.cc", "!(score <= -lowest && score >= lowest)", "!(score <= -lowest)", "verify_image_test", "verify_image_test"),
    # reference
    "fused_two": ("reference/hf_encode.cc", "while (e < size && IsUnknown(lattice.value[lattice.link[e]])) e =",
                  "if (e < size && IsUnknown(lattice.value[lattice.link[e]])) e =", "hf_encode_test", "hf_encode_(wheel_)?test"),
    "fused_bytes": ("reference/sp_encode.cc", "lattice_.value[end] == trie::kNoValue && !byte_fallback_",
                    "lattice_.value[end] == trie::kNoValue", "sp_encode_test", "sp_encode_test"),
    # models/unigram
    "terms": ("models/unigram/exactness.h", "const uint32_t terms = steps + chars;", "const uint32_t terms = 1;",
              "search_test exactness_test", "(search|exactness)_test"),
    "third_edge": ("models/unigram/kernels/portable_search.cc", "  relax(sum(more[1]));\n",
                   "  uint64_t third = sum(more[1]);\n  Sort(&least, &third);\n", "search_test exactness_test", "(search|exactness)_test"),
    # fast, decoding
    "ascii_run": ("fast/decode.cc", "  run_.size = size;\n  run_.previous = previous;\n  return at;", "  run_.size = size;\n  return at;",
                  "decode_test", "decode_test"),
    "vanishes": ("fast/decode.cc", "previous = info.AsUnknown();  // the last code may be\n",
                 "previous = codes.empty() ? info : info.AsUnknown();\n", "decode_test", "decode_test"),
    # fast, look-up
    "repeats": ("fast/look_up.cc", "if (repeats[i].of < first) {", "if (repeats[i].of <= first) {", "roads_agree_test decode_test look_up_test",
                "(roads_agree_._test|decode_test|look_up_test)"),
    "long_keys": ("fast/kernels/portable_look_up.cc",
                  "        uint32_t{((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0} &\n"
                  "        uint32_t{batch.keys[i].size() <= SegmentKey::kMaxBytes};",
                  "        uint32_t{((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0};",
                  "decode_test look_up_test", "(decode|look_up)_test"),
    # rerank, encode
    "pads": ("rerank/batch_layout.cc", "next += !pad;", "++next;", "rerank_parts_test", "rerank_parts_test"),
    "refused": ("encode/text_encoder.cc", "  if (status != RANKFEED_OK) sink.count = call.text_begin();\n", "", "roads_agree_test", "roads_agree_batches_test"),
    # builder
    "between": ("builder/normalize/growth.cc", "    ForEach([](double& cost, uint32_t size) { cost = std::max<double>(cost, size); });\n", "",
                "growth_test", "growth_test"),
    "crossing": ("builder/models/unigram/pruning.cc", "for (uint32_t k = 1; k < states_.depth[x]; ++k) {",
                 "for (uint32_t k = 2; k < states_.depth[x]; ++k) {", "search_test", "search_test"),
    # split
    "any_case": ("split/pattern.cc", "return Has(kAnyCase) && IsLatin(text[i]) ?", "return IsLatin(text[i]) ?",
                 "split_scan_test split_pattern_test bpe_test rankfeed_test_driver", "(split_scan_test|split_pattern_test|bpe_test|oracle_split_.*_test)"),
    "metaspace": ("split/pretokenize.cc", "part.starts_with(replacement) || part.starts_with(' ')", "part.starts_with(replacement)",
                  "hf_encode_test", "hf_encode_(wheel_)?test"),
    # models/bpe
    "stale": ("models/bpe/merge.cc", "if (number == none_ || Rank(number) != least >> 32) continue;", "if (number == none_) continue;",
              "merge_test bpe_test", "(merge|bpe)_test"),
    "before": ("models/bpe/byte_symbols.cc", "std::min(begin == 0 ? image::kLoud : crossing(begin), right)", "right",
               "merge_test bpe_test", "(merge|bpe)_test"),
    # models/wordpiece
    "most_chars": ("models/wordpiece/greedy.cc", "if (left == 0) return true;", "if (left <= 1) return true;",
                   "wordpiece_test words_test", "(wordpiece_test|words_test|words_stress_test)"),
    "half_word": ("models/wordpiece/greedy.h", "if (id == trie::kNoValue) return false;", "if (id == trie::kNoValue) return begin != 0;",
                  "wordpiece_test words_test", "(wordpiece_test|words_test|words_stress_test)"),
    # fast, of the kinds with independent words
    "gaps": ("fast/words.h", "word.count == 1 && !word.gaps)", "word.count == 1)",
             "words_test", "words_(stress_)?test"),
    "space_run": ("fast/bpe.cc", "segment.size() <= space_run_ &&", "segment.size() < space_run_ &&",
                  "words_test", "words_(stress_)?test"),
    # rerank/templates
    "two_lines": ("rerank/templates/cuts.cc", "next == literal.size() || literal[next] <= ' ' ||", "next == literal.size() ||",
                  "template_test", "template_test"),
    "quarters": ("rerank/templates/row_template.cc", "limit / 4 * quarters + limit % 4 * quarters / 4);", "limit / 4 * quarters);",
                 "template_test", "template_test"),
    # capi/folders
    "prefix_space": ("capi/folders/tokenizer_json.cc", 'out.Flag("add_prefix_space", prefix_space).Flag("trim_offsets", true)',
                     'out.Flag("add_prefix_space", false).Flag("trim_offsets", true)', "vocabulary_folders_test", "vocabulary_folders_test"),
    "class": ("capi/folders/settings.cc", '  if (!named) named = model_.root().Find("tokenizer_class");\n', "",
              "vocabulary_folders_test", "vocabulary_folders_test"),
}


def plant(build, file, old, new, programs, tests):
    """Returns what became of the fault: (verdict, tests that failed)."""
    path = ROOT / "src" / file
    text = path.read_text()
    path.write_text(text.replace(old, new))
    try:
        if subprocess.run(["cmake", "--build", build, "--target", *programs.split()], capture_output=True).returncode:
            return "NOT BUILT", []
        done = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--timeout", "300", "-LE", "^long", "-R", f"^{tests}$"],
                              capture_output=True, text=True, errors="replace")
    finally:
        path.write_text(text)
    cases = dict.fromkeys(re.findall(r"^(?:\d+: )?\[  FAILED  \] ([A-Za-z]\w*[\w/.]*)", done.stdout, re.M))
    programs_failed = dict.fromkeys(re.findall(r"^\s*\d+ - (\S+) \((?!Skipped)", done.stdout, re.M))
    if not re.search(r"tests passed, \d+ tests? failed out of [1-9]", done.stdout):
        return "NO TEST RAN", []
    return ("found" if programs_failed else "SURVIVED"), [*programs_failed, *cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to plant (all): " + ", ".join(FAULTS))
    parser.add_argument("--check", action="store_true", help="plant nothing")
    parser.add_argument("--build", default=str(ROOT / "build-release"), metavar="FOLDER")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in FAULTS]
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}")
    bad = 0
    for name in arguments.names or FAULTS:
        file, old, new, programs, tests = FAULTS[name]
        count = (ROOT / "src" / file).read_text().count(old)
        changed = subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", f"src/{file}"]).returncode != 0
        if count != 1 or changed:
            print(f"{name}: src/{file} {'has changes' if changed else f'has the old text {count} times'}", flush=True)
            bad += 1
        elif not arguments.check:
            begin = time.time()
            verdict, failed = plant(arguments.build, file, old, new, programs, tests)
            bad += verdict != "found"
            print(f"{name}: {verdict} in {time.time() - begin:.0f} s {' '.join(failed[:6])}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
