"""An Airflow DAG (2.9 or later): enriches the leads of each day. The checkpoint lies beside the output, so a retry resumes."""

from datetime import datetime, timedelta

from airflow.decorators import dag, task
from airflow.exceptions import AirflowFailException

RESUMABLE = {69, 74, 75}


@dag(schedule="15 2 * * *", start_date=datetime(2026, 11, 1), catchup=False, max_active_runs=1)
def enrich_leads() -> None:
    # Airflow waits longer before each retry, as a service that is away needs time.
    @task(retries=5, retry_delay=timedelta(minutes=1), retry_exponential_backoff=True)
    def run(ds: str) -> None:
        import subprocess

        result = subprocess.run(["millrace", "run", "/srv/leads/job.yaml", "--date", ds, "--progress", "log"], check=False)
        if result.returncode in RESUMABLE:
            raise RuntimeError(f"stopped early with exit code {result.returncode}: the retry resumes")
        if result.returncode != 0:
            raise AirflowFailException(f"exit code {result.returncode}: a retry would not help")

    run(ds="{{ ds }}")


enrich_leads()
