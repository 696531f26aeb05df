#!/bin/sh
# Runs the job of the day that is given, or of today. A run that stopped early resumes, at most five times.
set -u
day=${1:-$(date -u +%F)}
cd "$(dirname "$0")/.." || exit 1
for pause in 60 300 900 1800 0; do
  millrace run job.yaml --date "$day" --progress log
  code=$?
  case $code in
    69 | 74 | 75) [ "$pause" -gt 0 ] && sleep "${ENRICH_PAUSE:-$pause}" ;;
    *) break ;;
  esac
done
# cron mails what is printed: nothing on a good night.
[ "$code" -eq 0 ] || echo "enriching the leads of $day ended with exit code $code: millrace status job.yaml --date $day"
exit "$code"
