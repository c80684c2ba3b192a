"""How many single rows a second the service answers: ``python load.py PORT ROW.json [CLIENTS] [SECONDS]``.

So many clients ask at the same time, each the next question when the last one is answered.
"""

import asyncio
import json
import sys
import time
from pathlib import Path


async def client(port, body, end, times):
    """Ask one question after the other over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    while time.perf_counter() < end:
        start = time.perf_counter()
        writer.write(head.encode() + b"\r\n\r\n" + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in answer.decode().lower().split("\r\n")[1:] if line)
        await reader.readexactly(int(lines["content-length"]))
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer)
        times.append(time.perf_counter() - start)
    writer.close()


async def main(port, body, n_clients, seconds):
    """Print the rate, and how long questions take."""
    times = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, body, end, times) for _ in range(n_clients)))
    times.sort()
    middle, late = times[len(times) // 2], times[int(0.99 * len(times))]
    rate = len(times) / seconds
    print(f"{n_clients} clients: {rate:.0f} a second, {1e3 * middle:.1f} ms, 99 % within {1e3 * late:.1f} ms")


if __name__ == "__main__":
    row = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    question = json.dumps({"rows": [row]}).encode()
    n_clients, seconds = (int(each) for each in (*sys.argv[3:], "32", "5")[:2])
    asyncio.run(main(int(sys.argv[1]), question, n_clients, seconds))
