"""A model behind HTTP: predictions, whether to trust them and why, labels when they come, metrics.

    gbmap fit houses.csv --target price --out houses.gbmap
    GBMAP_MODEL=houses.gbmap uvicorn serve:app --port 8000

Requests that come at the same time are answered together, in one pass over their rows.
"""

import asyncio
import os
import threading
from contextlib import asynccontextmanager

import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

import gbmap
from gbmap.drift import DriftMonitor

MOST_ROWS, MOST_BYTES, MOST_WAITING = 100, 1_000_000, 1000  # of a request, of its body, requests at a time

model = gbmap.load(os.environ["GBMAP_MODEL"])
state = os.environ.get("GBMAP_STATE")  # where the monitor is kept over a restart
is_old = state is not None and os.path.exists(state)
monitor = gbmap.load(state) if is_old else DriftMonitor(model.detector_, random_state=0)
one_at_a_time = threading.Lock()  # a monitor is no more safe to change from two threads than a list
columns = [column.name for column in model.schema_.used]


class Rows(BaseModel):
    """Rows to predict: a value for each column, null where it is missing; and ids, if labels will come."""

    rows: list[dict[str, float | str | None]] = Field(min_length=1, max_length=MOST_ROWS)
    ids: list[str] | None = Field(default=None, max_length=MOST_ROWS)


class Labels(BaseModel):
    """The targets of rows that came before."""

    ids: list[str] = Field(min_length=1, max_length=MOST_ROWS)
    targets: list[float | str] = Field(min_length=1, max_length=MOST_ROWS)


def answer(rows, ids):
    """Return a prediction for each row, whether to trust it, and by which column not."""
    features = model.features(pd.DataFrame(rows, columns=columns))
    predicted = model.model_.predict(features)
    found = model.detector_.alarms(features)
    because = np.full(len(predicted), None, dtype=object)
    if found["is_alarm"].any():
        because[found["is_alarm"]] = model.detector_.explain(features[found["is_alarm"]]).because_of
    with_id = np.array([each is not None for each in ids])
    for which, names in ((with_id, [each for each in ids if each is not None]), (~with_id, None)):
        if which.any():
            with one_at_a_time:
                monitor.update(features[which], ids=names)
    return [
        {"prediction": f, "trusted": not alarm, "p_value": p, "because_of": reason}
        for f, alarm, p, reason in zip(
            predicted.tolist(), found["is_alarm"].tolist(), found["p_value"].tolist(), because
        )
    ]


async def answer_together(queue):
    """Take all requests that wait, answer their rows in one pass, and begin again."""
    while True:
        waiting = [await queue.get()]
        while not queue.empty():
            waiting.append(queue.get_nowait())
        try:
            rows = [row for request, _ in waiting for row in request.rows]
            ids = [name for request, _ in waiting for name in request.ids or [None] * len(request.rows)]
            answers = iter(await asyncio.to_thread(answer, rows, ids))
            for request, future in waiting:
                future.set_result([next(answers) for _ in request.rows])
        except Exception:  # one request spoils it for all: each by itself
            for request, future in waiting:
                try:
                    ids = request.ids or [None] * len(request.rows)
                    future.set_result(await asyncio.to_thread(answer, request.rows, ids))
                except Exception as error:
                    future.set_exception(error)


@asynccontextmanager
async def lifespan(app):
    """Answer while the server runs, and keep the monitor when it ends."""
    app.state.queue = asyncio.Queue(MOST_WAITING)
    task = asyncio.create_task(answer_together(app.state.queue))
    yield
    task.cancel()
    if state:
        gbmap.save(monitor, state)


app = FastAPI(title="gbmap", lifespan=lifespan)


class Bound:
    """Refuse a body that is too long, or that does not say how long it is."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        """Pass on what is short enough."""
        answer = self.app
        if scope["type"] == "http":
            length = dict(scope["headers"]).get(b"content-length", b"0" if scope["method"] == "GET" else b"")
            if not length.isdigit() or int(length) > MOST_BYTES:
                answer = JSONResponse({"detail": f"a body of at most {MOST_BYTES} bytes is read"}, 413)
        await answer(scope, receive, send)


app.add_middleware(Bound)


@app.post("/predict")
async def predict(request: Rows):
    """Predict rows."""
    if request.ids is not None and len(request.ids) != len(request.rows):
        raise HTTPException(422, "ids must be as many as rows")
    future = asyncio.get_running_loop().create_future()
    try:
        app.state.queue.put_nowait((request, future))
    except asyncio.QueueFull:
        raise HTTPException(503, "too many requests wait; try again") from None
    try:
        return JSONResponse({"rows": await future, "drift": bool(monitor.alarms_)})
    except ValueError as error:
        raise HTTPException(422, str(error)) from error


@app.post("/labels")
def labels(request: Labels):
    """Take labels of rows that were predicted before."""
    try:
        with one_at_a_time:
            update = monitor.add_labels(request.ids, request.targets)
    except ValueError as error:
        raise HTTPException(422, str(error)) from error
    return {"used": update.n_labelled, "unknown": update.n_unknown, "drift": update.is_drifting}


@app.get("/drift")
def drift():
    """Say whether the monitor has raised its alarm, and why."""
    return {"drift": bool(monitor.alarms_), "alarms": [alarm.to_dict() for alarm in monitor.alarms_]}


@app.get("/metrics", response_class=PlainTextResponse)
def metrics():
    """Give what Prometheus reads."""
    with one_at_a_time:
        return monitor.to_prometheus()
