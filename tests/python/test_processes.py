# SPDX-License-Identifier: MIT
"""Processes: forked while other threads encode, of multiprocessing in its three ways, and programs that a forked
child becomes. Each case runs in an interpreter of its own, which is given up after a time: what is looked for is a
child that waits for ever for threads of its parent, as huggingface/tokenizers#187 and huggingface/datasets#688 had."""

import os
import subprocess
import sys
import textwrap
import unittest

from support import MODEL, hf_file

COMMON = '''
    import os, signal, sys, threading, time
    import numpy as np
    import rankfeed

    MODEL, JSON = sys.argv[1:3]
    TEXTS = ["A panda is a bear. It eats bamboo, all day long. " * 40 + str(i) for i in range(64)]  # more than 64 KiB
    PAIR = dict(max_length=64, truncation="only_second")

    def work(tok):
        """Every call that takes several texts, and what goes with them."""
        batch = tok.encode_pairs("What is a panda?", TEXTS, **PAIR)["input_ids"]
        rows = [part.tensors["input_ids"].numpy().tolist() for part in tok.request("q", TEXTS, max_rows_per_batch=16, **PAIR)]
        called = tok(TEXTS, padding=True, truncation=True, max_length=32, return_tensors="np")["input_ids"]
        stream = list(tok.encode_stream(TEXTS))
        tok.trim()
        return ([e.ids for e in tok.encode_batch(TEXTS)], [e.offsets for e in tok.encode_batch(TEXTS, offsets="bytes")],
                batch.tolist(), rows, called.tolist(), [list(ids) for ids in stream], tok.decode(batch[0]), tok.isa)

    def child(run):
        """The exit status of a forked child that runs it."""
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            try:
                os._exit(0 if run() else 1)
            finally:
                os._exit(2)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
'''


class Processes(unittest.TestCase):
    def run_program(self, program, *arguments):
        source = textwrap.dedent(COMMON) + textwrap.dedent(program)
        done = subprocess.run([sys.executable, "-c", source, MODEL, hf_file("roberta"), *arguments], timeout=300,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_fork_while_another_thread_encodes(self):
        self.run_program('''
            tok = rankfeed.Tokenizer.from_file(MODEL, threads=4)
            wanted = work(tok)
            done = False
            def encode():
                while not done: tok.encode_batch(TEXTS)
            threads = [threading.Thread(target=encode) for _ in range(2)]
            for thread in threads: thread.start()
            def grandchild(): return child(lambda: work(tok) == wanted) == 0
            for i in range(10):
                assert child(lambda: work(tok) == wanted) == 0, i
            assert child(grandchild) == 0
            def another(): return work(rankfeed.Tokenizer.from_file(MODEL, threads=4)) == wanted
            assert child(another) == 0
            done = True
            for thread in threads: thread.join()
            assert work(tok) == wanted
        ''')

    def test_a_child_that_ends_as_programs_do(self):  # what the parent's threads held is let go there
        self.run_program('''
            tok = rankfeed.Tokenizer.from_file(MODEL, threads=4)
            wanted = work(tok)
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                assert work(tok) == wanted
                del tok
                sys.exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        ''')

    def test_fork_while_another_thread_reads_a_file(self):
        self.run_program('''
            thread = threading.Thread(target=lambda: rankfeed.Tokenizer.from_file(JSON))
            thread.start()
            for i in range(10):
                assert child(lambda: rankfeed.Tokenizer.from_file(JSON).encode("a").ids) == 0
                time.sleep(0.01)
            thread.join()
        ''')

    def test_multiprocessing(self):
        program = '''
            import multiprocessing

            def ids(texts):
                return [e.ids for e in tok.encode_batch(texts)]

            def isa_of(tokenizer):  # which is pickled on its way
                return tokenizer.isa

            tok = rankfeed.Tokenizer.from_file(MODEL, threads=4)
            if __name__ == "__main__":
                wanted = ids(TEXTS)
                for method in ("fork", "forkserver", "spawn"):
                    with multiprocessing.get_context(method).Pool(2) as pool:
                        assert pool.map_async(ids, [TEXTS] * 4).get(100) == [wanted] * 4, method
                        assert pool.map_async(isa_of, [tok]).get(100) == [tok.isa]
        '''
        path = os.path.join(os.environ.get("RANKFEED_WORK_DIR", "/tmp"), f"multiprocessing_{os.getpid()}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(COMMON) + textwrap.dedent(program))
        self.addCleanup(os.remove, path)
        done = subprocess.run([sys.executable, path, MODEL, MODEL], timeout=300, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_program_after_fork(self):
        self.run_program('''
            tok = rankfeed.Tokenizer.from_file(MODEL, threads=4)
            tok.encode_batch(TEXTS)
            code = "import sys, rankfeed; rankfeed.Tokenizer.from_file(sys.argv[1], threads=4).encode_batch(['a' * 999] * 99)"
            assert child(lambda: os.execv(sys.executable, [sys.executable, "-c", code, MODEL])) == 0
        ''')

    def test_a_ring_stays_with_its_process(self):
        self.run_program('''
            tok = rankfeed.Tokenizer.from_file(MODEL)
            ring = rankfeed.Ring.open(slots=2, slot_bytes=1 << 20, device_slots=True)
            request = tok.request("q", TEXTS, max_arena_bytes=ring.slot_bytes, **PAIR)
            request.next(ring).submit()
            def refused():
                try:
                    tok.request("q", TEXTS, max_arena_bytes=ring.slot_bytes, **PAIR).next(ring)
                except rankfeed.RankfeedError as error:
                    return "the process that this one was forked from" in str(error)
            assert child(refused) == 0
            def own():
                here = rankfeed.Ring.open(slots=2, slot_bytes=1 << 20, device_slots=True)
                batch = tok.request("q", TEXTS, max_arena_bytes=here.slot_bytes, **PAIR).next(here)
                batch.submit()
                return True
            assert child(own) == 0
        ''')

    def test_allowed_processors(self):  # nanoporetech/dorado#1223, huggingface/text-embeddings-inference#404
        self.run_program('''
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            tok = rankfeed.Tokenizer.from_file(MODEL)
            def threads(): return len(os.listdir("/proc/self/task"))
            before = threads()
            tok.encode_batch(TEXTS)
            assert threads() == before
        ''')


if __name__ == "__main__":
    unittest.main()
