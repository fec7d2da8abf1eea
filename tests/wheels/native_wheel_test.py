# SPDX-License-Identifier: MIT
"""native_wheel_test.py WHEELS: audits the one wheel that pip built in that folder, as docs/install.md describes it: it is
tagged for this machine and claims no manylinux, it needs ICU, oneTBB, simdjson, Highway and fmt of the system,
its program zlib too, and no other library than those of C and C++, and it hands out its PyInit function and nothing of the C API, so that it can be
loaded beside librankfeed. (Portable wheels: scripts/wheels.sh, in the long run.)"""

import glob
import io
import os
import platform
import re
import subprocess
import sys
import unittest
import zipfile

from elftools.elf.elffile import ELFFile

WHEELS = sys.argv[1]
LINKED = ["libfmt", "libhwy", "libicuuc", "libsimdjson", "libtbb"]
OF_C = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", f"ld-linux-{platform.machine().replace('_', '-')}.so.2"}


class NativeWheel(unittest.TestCase):
    def setUp(self):
        (self.wheel,) = glob.glob(os.path.join(WHEELS, "*.whl"))
        with zipfile.ZipFile(self.wheel) as file:
            (name,) = [n for n in file.namelist() if n.endswith(".so")]
            (program,) = [n for n in file.namelist() if n.endswith(".data/scripts/rankfeed")]
            self.elf, self.program = (ELFFile(io.BytesIO(file.read(one))) for one in (name, program))

    def test_auditwheel(self):
        done = subprocess.run([os.path.join(os.path.dirname(sys.executable), "auditwheel"), "show", self.wheel],
                              capture_output=True, text=True, check=True)
        said = " ".join(done.stdout.split())
        print(said)
        tag = f"linux_{platform.machine()}"
        self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)
        self.assertTrue(self.wheel.endswith(f"-{tag}.whl"), self.wheel)
        # What it calls in the C library is in this one.
        needs = re.search(r'constrains the platform tag to "manylinux_(\d+)_(\d+)_', said)
        self.assertLessEqual([int(n) for n in needs.groups()], [int(n) for n in platform.libc_ver()[1].split(".")])
        self.assertLess(os.path.getsize(self.wheel), 6_000_000)

    def test_libraries(self):
        for elf, more in ((self.elf, []), (self.program, ["libz"])):
            needed = {t.needed for t in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")} - OF_C
            self.assertEqual(sorted({n.partition(".so")[0] for n in needed}), sorted(LINKED + more))

    def test_symbols(self):
        given = {s.name for s in self.elf.get_section_by_name(".dynsym").iter_symbols() if s["st_shndx"] != "SHN_UNDEF"}
        self.assertIn("PyInit__core", given)
        self.assertEqual([n for n in sorted(given) if not n.startswith("_Z") and n != "PyInit__core"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
