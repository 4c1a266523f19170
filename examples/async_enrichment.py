"""Asynchronous enrichment: each order asks a web service for its customer; many requests are under way at once.
Mirrors Flink's AsyncIOExample, with a small HTTP server that the example starts and stops itself."""

from __future__ import annotations

import asyncio
import json
import threading

from penstock.common import Time
from penstock.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment

Order = tuple[int, int]  # customer and amount
Named = tuple[str, int]
CUSTOMERS = {"/1": "ann", "/2": "bob"}
ORDERS = [(1, 30), (2, 10), (1, 25), (3, 5)]


class AskForCustomer(AsyncFunction[Order, Named]):
    def __init__(self, port: int) -> None:
        self.port = port

    async def async_invoke(self, value: Order) -> list[Named]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET /{value[0]} HTTP/1.0\r\n\r\n".encode())
        _, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return [(json.loads(body), value[1])]

    def timeout(self, value: Order) -> list[Named]:
        return [("no answer", value[1])]


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
    writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(CUSTOMERS.get(path, "unknown")).encode())
    writer.close()


def main() -> list[Named]:
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))  # 0: any port that is free
    service = threading.Thread(target=loop.run_forever)
    service.start()
    ask = AskForCustomer(server.sockets[0].getsockname()[1])
    try:
        env = StreamExecutionEnvironment.get_execution_environment()
        named = AsyncDataStream.unordered_wait(env.from_collection(ORDERS), ask, Time.seconds(10), capacity=20)
        return list(named.execute_and_collect("customers of orders"))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        service.join()
        server.close()
        loop.close()


if __name__ == "__main__":
    print(main())
