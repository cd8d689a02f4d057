#!/usr/bin/python3
"""raw.py - the floor: one kernel, spoken to over ZeroMQ without anything between.

Own DEALER and SUB sockets on the connection file that is given. Reads one JSON line
{"code": …} a run from standard input, answers {"ms": …} when the reply and idle are here.
"""
import hashlib
import hmac
import json
import sys
import time
import uuid

import zmq

conn = json.load(open(sys.argv[1]))
key = conn["key"].encode()
session = uuid.uuid4().hex
ctx = zmq.Context()
shell = ctx.socket(zmq.DEALER)
shell.identity = session.encode()
iopub = ctx.socket(zmq.SUB)
iopub.subscribe(b"")
iopub.rcvhwm = 0
for sock, name in ((shell, "shell_port"), (iopub, "iopub_port")):
    sock.connect("tcp://%s:%d" % (conn["ip"], conn[name]))
poller = zmq.Poller()
poller.register(shell, zmq.POLLIN)
poller.register(iopub, zmq.POLLIN)


def send(kind, content):
    msg_id = uuid.uuid4().hex
    parts = [json.dumps(p).encode() for p in (
        {"msg_id": msg_id, "session": session, "username": "bench", "date": "", "msg_type": kind,
         "version": "5.3"}, {}, {}, content)]
    sign = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        sign.update(part)
    shell.send_multipart([b"<IDS|MSG>", sign.hexdigest().encode()] + parts)
    return msg_id


def wait(msg_id, limit):
    replied = idle = False
    end = time.monotonic() + limit
    while not (replied and idle):
        ready = dict(poller.poll(max(0, (end - time.monotonic()) * 1000)))
        if not ready:
            return False
        for sock in ready:
            frames = sock.recv_multipart()
            at = frames.index(b"<IDS|MSG>")
            if json.loads(frames[at + 3]).get("msg_id") != msg_id:
                continue
            if sock is shell:
                replied = True
            elif b'"status"' in frames[at + 2] and json.loads(frames[at + 5])["execution_state"] == "idle":
                idle = True
    return True


while not wait(send("kernel_info_request", {}), 1):
    pass
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    ok = wait(send("execute_request", {"code": json.loads(line)["code"], "silent": False,
                                       "store_history": True, "user_expressions": {},
                                       "allow_stdin": False, "stop_on_error": False}), 300)
    print(json.dumps({"ms": (time.perf_counter() - began) * 1000, "ok": ok}), flush=True)
