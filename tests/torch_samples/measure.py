"""Run the whole database and print what differs, grouped by cause.

python -m tests.torch_samples.measure [--kind float64] [--op add] [--limit 20]
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict

from .convert import NotHere
from .database import known_ops
from .judge import Differs
from .kinds import KINDS, cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", action="append")
    parser.add_argument("--op", action="append")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    ops = known_ops()
    chosen = {t: i for t, i in ops.items() if not options.op or i.name in options.op}
    for kind in options.kind or KINDS:
        start, count, absent = time.process_time(), Counter(), Counter()
        causes = defaultdict(list)
        for name, info in chosen.items():
            print(name, file=sys.stderr) if options.verbose else None
            try:
                found = list(cases(info, kind))
            except Exception as error:
                causes[name, f"NO SAMPLES: {error!r}"[:200]].append("")
                continue
            if options.limit and len(found) > options.limit:
                found = random.Random(0).sample(found, options.limit)
            for case in found:
                try:
                    case.run()
                    count["agree"] += 1
                except NotHere as error:
                    absent[str(error)] += 1
                except Differs as error:
                    count["differ"] += 1
                    causes[name, re.sub(r"[-\d.e]+", "#", str(error))].append(
                        (case.label, str(error))
                    )
                except Exception as error:
                    count["differ"] += 1
                    causes[name, f"CRASH {error!r}"[:200]].append((case.label, str(error)))
        total = sum(count.values())
        seconds = time.process_time() - start
        print(
            f"\n=== {kind}: {count['agree']} of {total} = "
            f"{100 * count['agree'] / max(1, total):.2f} %, "
            f"{len(chosen)} ops, {seconds:.0f} s CPU; not here: {dict(absent)}"
        )
        for (name, cause), labels in sorted(causes.items(), key=lambda c: -len(c[1])):
            print(f"{len(labels):5} {name}: {labels[0][1] if labels[0] else cause}")
            for label in labels[: None if options.verbose else 1]:
                print(f"        {label[0] if label else ''}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
