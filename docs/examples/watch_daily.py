"""Look at the rows of the day, and the labels that have come: what a scheduler runs.

    python watch_daily.py houses.gbmap new.csv labels.csv houses-monitor.gbmap

As it stands it is a script for cron. Where Prefect is installed the same functions are a flow and its tasks,
with a record of each run; in Airflow, `look` is the function of a PythonOperator.
"""

import json
import sys
from pathlib import Path

import pandas as pd

import gbmap
from gbmap.drift import DriftMonitor

try:
    from prefect import flow, task
except ImportError:

    def task(function):
        """Leave a function as it is, without Prefect."""
        return function

    flow = task


@task
def monitor_of(model, state):
    """Return the monitor to go on with, or a new one; that of another model is refused."""
    if not Path(state).exists():
        return DriftMonitor(model.detector_, random_state=0)
    monitor = gbmap.load(state)
    if not monitor.is_of(model.detector_):
        raise ValueError(f"{state} belongs to another model; move it away to begin anew.")
    return monitor


@task
def show_rows(monitor, model, rows):
    """Let the monitor see the rows that have come since, hour by hour."""
    rows = rows.sort_values("when", kind="stable")
    rows = rows[rows["when"] > monitor.last_time_]  # texts of one form, which sort as their times do
    return [
        monitor.update(model.features(hour), ids=hour["id"], time=hour["when"].to_numpy()).to_dict()
        for _, hour in rows.groupby(rows["when"].str[:13])
    ]


@task
def show_labels(monitor, model, labels):
    """Let it see the labels that have come; those that it has had are not counted again."""
    return monitor.add_labels(labels["id"], model.targets(labels)).to_dict()


@flow
def look(model_file, rows_file, labels_file, state):
    """Look once, keep the state, and return all alarms there have been."""
    model = gbmap.load(model_file)
    monitor = monitor_of(model, state)
    told = show_rows(monitor, model, pd.read_csv(rows_file, dtype=str))
    if Path(labels_file).exists():
        told.append(show_labels(monitor, model, pd.read_csv(labels_file, dtype=str)))
    gbmap.save(monitor, state)
    for line in told:
        print(json.dumps(line))
    return monitor.alarms_


if __name__ == "__main__":
    alarms = look(*sys.argv[1:])
    for alarm in alarms:
        print(alarm.summary, file=sys.stderr)
    sys.exit(1 if alarms else 0)
