# SPDX-License-Identifier: MIT
"""Calls of transformers' callable whose options are drawn at random, also those that are rarely asked together, and the
comparison of rankfeed.Tokenizer's answers with transformers'."""

import os
import warnings

import numpy as np

os.environ["RUST_BACKTRACE"] = "0"  # some calls make tokenizers panic

# More of what a call may say; each option with the values that are drawn.
EXTRAS = {"add_special_tokens": (False,), "return_token_type_ids": (True, True, False), "return_attention_mask": (False, True),
          "return_special_tokens_mask": (True,), "return_offsets_mapping": (True,), "return_length": (True,),
          "padding_side": ("left", "right"), "pad_to_multiple_of": (3, 8), "return_overflowing_tokens": (True,), "stride": (1, 2, 4, 30),
          "split_special_tokens": (True,), "verbose": (False,)}

# What docs/python.md says that rankfeed refuses and transformers answers.
REFUSED = (r"^(max_length is \d+; (it must be at least \d+(, the special tokens of a (text|pair))?, or None for no limit$"
           r"|with return_overflowing_tokens it must be at least \d+$)"
           r"|truncation is '\w+'; with return_overflowing_tokens and pairs it must be 'only_second'"
           r"|stride is \d+; with max_length \d+ it must be at most \d+$)")


def options(rng):
    arguments = dict(truncation=rng.choice((True, False, None, "longest_first", "only_first", "only_second")),
                     padding=rng.choice((True, False, "max_length", "longest")),
                     max_length=rng.choice((None, None, 0, 1, 3, 4, 5, 8, 9, 12, 24, 60)), return_tensors=rng.choice((None, "np")))
    for name in rng.sample(sorted(EXTRAS), rng.choice((0, 0, 1, 2, 3, 5, 8))):
        arguments[name] = rng.choice(EXTRAS[name])
    if arguments.get("return_overflowing_tokens") and rng.random() < 0.7:  # else few calls have windows
        arguments.update(truncation=rng.choice((True, "only_second")), max_length=rng.choice((8, 9, 12, 24)))
    return arguments


def inputs(rng, texts):
    a, b = rng.choices(texts, k=6), rng.choices(texts, k=6)
    return rng.choice(((a,), (a, b), ([a[0]] * 6, b), ([(x, y) for x, y in zip(a, b)],), ([[x, y] for x, y in zip(a, b)],), (a[0],),
                       (a[0], b[0]), (a[0], ""), (a[0], []), (a[:1], b[:1])))


def as_lists(batch):
    return {key: (type(value).__name__, [np.asarray(x).tolist() for x in value]) if isinstance(value, np.ndarray) else value
            for key, value in batch.items()}


def same_answer(case, mine, theirs, arguments, keywords):
    """Whether both answer, equally. An error of transformers' must be one here, one here must be a documented refusal."""
    what = (str(arguments)[:300], keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = theirs(*arguments, **keywords)
        except BaseException as error:  # panics of tokenizers are no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            with case.assertRaises((ValueError, TypeError), msg=(what, error)):
                mine(*arguments, **keywords)
            return False
        try:
            got = mine(*arguments, **keywords)
        except (ValueError, TypeError) as error:
            case.assertRegex(str(error), REFUSED, what)
            return False
    case.assertEqual(list(got.keys()), list(expected.keys()), what)
    case.assertEqual(as_lists(got), as_lists(expected), what)
    return True


def draw_calls(case, mine, theirs, texts, rng, rounds):
    """How many of so many calls both answer."""
    return sum(same_answer(case, mine, theirs, inputs(rng, texts), options(rng)) for _ in range(rounds))
