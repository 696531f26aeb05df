"""Runs a Millrace job from Python, and reads its report and its rows."""

import csv
import json
import os
import subprocess
import sys
import time

# The same command resumes after these exit codes: service away, storage failed, stopped early.
RESUMABLE = {69, 74, 75}


def enrich(source: str, target: str, *flags: str, attempts: int = 5, pause: float = 60) -> dict:
    """Enriches the file `source` into `target`, and returns the report. Raises `subprocess.CalledProcessError` when it cannot."""
    command = [os.environ.get("MILLRACE", "millrace"), "run", "--input", source, "--output", target, *flags]
    for attempt in range(attempts):
        result = subprocess.run(command, check=False)
        if result.returncode not in RESUMABLE:
            break
        if attempt + 1 < attempts:
            time.sleep(pause)
    # 1: finished, but more records failed than the job permits. The report says why.
    if result.returncode not in (0, 1):
        raise subprocess.CalledProcessError(result.returncode, command)
    with open(f"{target}.report.json", encoding="utf-8") as file:
        return json.load(file)


if __name__ == "__main__":
    source, target, *flags = sys.argv[1:]
    report = enrich(source, target, *flags)
    with open(target, encoding="utf-8", newline="") as file:
        deliverable = [row for row in csv.DictReader(file) if row["verify.result"] == "deliverable"]
    print(f"{report['records']['matched']} of {report['records']['total']} matched, {len(deliverable)} deliverable")
