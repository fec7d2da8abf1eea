# SPDX-License-Identifier: MIT
"""bench_models.py LIBRARY_FOLDER --texts XQUAD/en.jsonl --vocabulary TOKENIZER.json [--json FILE]: the forward pass of rerankers on one
thread of a CPU, beside PyTorch (transformers with SDPA; DeBERTa has its eager attention alone there) and ONNX Runtime (the graph that
torch.onnx.export makes of the same model), for the shapes of ModernBERT-base, DeBERTa-v3-base, ettin-17m and MiniLM-L6, in float32.

All have the same random weights and rows, and scores are compared first. A vocabulary is cut to 1,000 ids: looking one up costs the same.
Rows are of the lengths of one question with each of --documents passages, by TOKENIZER, or of --equal tokens; packed in one call here,
padded there, sorted by length in calls of 8, 16 or 32, of which the fastest in the first round goes on. Rounds take turns. CPU time of
the process, for machines that are not quiet: medians, and the medians, lowest and highest of the ratios within each round.
LIBRARY_FOLDER has the shared libraries of a build. Needs torch, transformers, onnxruntime, onnx and onnxscript."""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import bench_forward  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

VOCAB = 1000
IDS = dict(vocab_size=VOCAB, pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2, num_labels=1)
SHAPES = {  # class, and sizes as the published config.json has them
    "ModernBERT-base": ("ModernBert", dict(hidden_size=768, num_hidden_layers=22, num_attention_heads=12, intermediate_size=1152)),
    "DeBERTa-v3-base": ("DebertaV2", dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, type_vocab_size=0,
                                          relative_attention=True, position_buckets=256, pos_att_type="p2c|c2p", share_att_key=True,
                                          norm_rel_ebd="layer_norm", position_biased_input=False, pooler_hidden_act="gelu")),
    "ettin-17m": ("ModernBert", dict(hidden_size=256, num_hidden_layers=7, num_attention_heads=4, intermediate_size=384)),
    "MiniLM-L6": ("Bert", dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)),
}
OWN, TORCH, ONNX = "rankfeed", "PyTorch", "ONNX Runtime"


def batches(rows, together):
    """Rows sorted by length in padded calls: which they are, ids and mask."""
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    for begin in range(0, len(rows), together):
        some = order[begin:begin + together]
        ids, mask = (np.zeros((len(some), len(rows[some[0]])), np.int64) for _ in range(2))
        for place, i in enumerate(some):
            ids[place, :len(rows[i])], mask[place, :len(rows[i])] = rows[i], 1
        yield some, ids, mask


def calls_of(run, rows, together):
    """A call that scores the rows by run(ids, mask), so many at a time."""
    prepared, scores = list(batches(rows, together)), np.zeros(len(rows), np.float32)

    def call():
        for some, ids, mask in prepared:
            scores[some] = run(ids, mask)
        return scores
    return call


class Graph(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def export(model, folder):
    """The path of its graph, exported for any number of rows and any length."""
    path = os.path.join(folder, "model.onnx")
    ids = torch.ones(2, 24, dtype=torch.int64)
    ids[1, 12:] = 0
    rows, length = torch.export.Dim("rows"), torch.export.Dim("length", max=512)
    torch.onnx.export(Graph(model), (ids, (ids != 0).long()), path, dynamo=True, input_names=["input_ids", "attention_mask"],
                      output_names=["logits"], dynamic_shapes=({0: rows, 1: length}, {0: rows, 1: length}), verbose=False)
    return path


def onnx_runs(model, folder):
    path = export(model, folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0][:, 0]


def engines_of(shape, rows, arguments, left):
    """Calls by name and how many rows they take at a time; engines that cannot run are told in left."""
    kind, sizes = SHAPES[shape]
    if arguments.layers:
        sizes = sizes | dict(num_hidden_layers=arguments.layers)
    torch.manual_seed(3)
    config = getattr(transformers, kind + "Config")(**sizes, **IDS, max_position_embeddings=512)
    model = getattr(transformers, kind + "ForSequenceClassification")._from_config(
        config, attn_implementation="eager" if kind == "DebertaV2" else "sdpa").eval()
    calls = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        own = bench_forward.Rankfeed(arguments.libraries, folder, 1)
        calls[OWN, len(rows)] = own.prepare([(row, np.zeros(len(row))) for row in rows])

        def of_torch(ids, mask):
            with torch.inference_mode():
                return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).logits[:, 0].numpy()
        runs = {TORCH: of_torch}
        if ONNX in arguments.engines:
            try:
                exported = type(model)._from_config(config, attn_implementation="eager").eval()
                exported.load_state_dict(model.state_dict())
                runs[ONNX] = onnx_runs(exported, folder)
            except Exception as error:  # of the exporter or the runtime: said, not hidden
                left.append(f"{shape}: {ONNX}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
        for name, run in runs.items():
            for together in arguments.together:
                if together < 2 * len(rows):
                    calls[name, together] = calls_of(run, rows, together)
    return calls, sum(weights.numel() for weights in model.parameters())


def measured(shape, rows, arguments, left):
    calls, parameters = engines_of(shape, rows, arguments, left)
    want, took, order = None, {}, random.Random(1)
    for number in range(arguments.rounds + 1):
        for key in order.sample(list(calls), len(calls)):
            begin = time.process_time()
            scores = calls[key]()
            took.setdefault(key, []).append(time.process_time() - begin)
            want = scores.copy() if want is None else want
            apart = np.abs(scores - want).max() / max(1, np.abs(want).max())
            if not apart <= 1e-4:
                raise SystemExit(f"{shape}, {key}: scores differ by {apart}")
        if number == 0:  # the fastest of each engine go on; this round does not count
            best = {min((key for key in calls if key[0] == name), key=lambda key: took[key][0]) for name, _ in calls}
            calls, took = {key: call for key, call in calls.items() if key in best}, {}
    own = next(times for (name, _), times in took.items() if name == OWN)
    engines = []
    for (name, together), times in took.items():
        ratios = sorted(mine / theirs for mine, theirs in zip(own, times))
        engines.append({"name": name, "together": together, "ms": round(1e3 * statistics.median(times), 1),
                        "ratio": {"median": round(statistics.median(ratios), 3), "min": round(ratios[0], 3), "max": round(ratios[-1], 3)}})
    row = {"shape": shape, "layers": arguments.layers or SHAPES[shape][1]["num_hidden_layers"], "parameters": parameters, "rows": len(rows),
           "tokens": sum(map(len, rows)), "longest": max(map(len, rows)), "load": round(os.getloadavg()[0], 1), "engines": engines}
    print(json.dumps(row), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries")
    parser.add_argument("--texts", required=True)
    parser.add_argument("--vocabulary", required=True, help="tokenizer.json that gives the texts' lengths")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--equal", type=int, default=256, help="tokens of equal rows; 0: none")
    parser.add_argument("--equal-documents", type=int, default=32)
    parser.add_argument("--together", type=int, nargs="+", default=[8, 16, 32], help="rows in a call of the peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=0, help="layers of each model instead of its own number")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--engines", nargs="*", choices=[TORCH, ONNX], default=[TORCH, ONNX])
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    draw = np.random.default_rng(5)
    report, left = [], []
    for shape in arguments.shapes:
        for lengths in [list(bench_forward.real_lengths(arguments, draw))[:arguments.documents]] + [[arguments.equal] * arguments.equal_documents] * bool(arguments.equal):
            report.append(measured(shape, [draw.integers(3, VOCAB, n) for n in lengths], arguments, left))
    if arguments.json:
        versions = {"torch": torch.__version__, "transformers": transformers.__version__, "onnxruntime": onnxruntime.__version__}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": versions, "rows": report, "not_run": sorted(set(left))}, file, indent=1)
    print("\n".join(sorted(set(left))), file=sys.stderr)


if __name__ == "__main__":
    main()
