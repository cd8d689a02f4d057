#!/usr/bin/python3
"""through.py - the same runs as raw.py's, through nginx: one kept connection, a bare socket.

Timed inside, like raw.py, so that neither figure holds more of its client than the other. Reads
one JSON line, the body of POST /execute, a run; answers {"ms": …, "text": the NDJSON}.
"""
import json
import socket
import sys
import time


def connect():
    sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


conn = connect()


def run(body):
    """Until the last chunk of the answer is here: milliseconds and its bytes."""
    head = ("POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % len(body)).encode()
    parts = []
    tail = b""
    began = time.perf_counter()
    conn.sendall(head + body)
    while not tail.endswith(b"\r\n0\r\n\r\n"):
        part = conn.recv(1 << 18)
        if not part:
            raise EOFError("the connection ended")
        parts.append(part)
        tail = (tail + part)[-16:]
    return (time.perf_counter() - began) * 1000, b"".join(parts)


def text_of(answer):
    """The body without its chunks."""
    at = answer.index(b"\r\n\r\n") + 4
    out = []
    while True:
        end = answer.index(b"\r\n", at)
        size = int(answer[at:end], 16)
        if size == 0:
            return b"".join(out).decode()
        out.append(answer[end + 2:end + 2 + size])
        at = end + 2 + size + 2


print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    ms, answer = run(line.strip().encode())
    if b"\r\nConnection: close\r\n" in answer[:1000]:  # nginx, after a thousand requests
        conn.close()
        conn = connect()
    print(json.dumps({"ms": ms, "text": text_of(answer)}), flush=True)
