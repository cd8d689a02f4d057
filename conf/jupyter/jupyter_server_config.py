"""Jupyter Server as nb2 wants it: a kernel host on a unix socket, nothing else.

Made for jupyter_server 1.23 (Debian 12). What reaches into its insides is
guarded: on another version the server starts without it, and the worker copes.
The environment says where things are:
  NB2_WORKSPACE            root directory; kernels start in or below it
  NB2_JUPYTER_TOKEN_FILE   file with the token (not on the command line, where
                           every user of the machine would see it)
"""
import os

import zmq

c = get_config()  # noqa: F821 (traitlets provides it)

# ---- who may call --------------------------------------------------------------
_token_file = os.environ.get("NB2_JUPYTER_TOKEN_FILE")
if _token_file:
    with open(_token_file, encoding="ascii") as f:
        c.ServerApp.token = f.read().strip()
c.ServerApp.password = ""
c.ServerApp.open_browser = False
c.ServerApp.terminals_enabled = False
c.ServerApp.quit_button = False

_workspace = os.environ.get("NB2_WORKSPACE")
if _workspace:
    c.ServerApp.root_dir = _workspace

# ---- nothing may be lost or cut on the way ----------------------------------------
# The server's own limits delete output and say so on stderr; the bridge has its
# own (maxOutputBytes). The second name is jupyter_server 2's.
c.ServerApp.limit_rate = False
c.ZMQChannelsWebsocketConnection.limit_rate = False

# Past 10 MiB, tornado's default, it closes the socket without a word. maxCodeBytes
# of code can grow sixfold when JSON escapes it; and maxBodyBytes bounds it too.
c.ServerApp.tornado_settings = {"websocket_max_message_size": 160 * 1024 * 1024}

# How long opening a kernel's WebSocket may wait for that kernel's first word.
c.MappingKernelManager.kernel_info_timeout = 15
c.ZMQChannelsWebsocketConnection.kernel_info_timeout = 15


def _more_sockets(limit=16383):
    """Each WebSocket takes four ZMQ sockets; the default of 1023 a context
    ends at about 254 of them."""
    init = zmq.Context.__init__

    def patched(self, *args, **kwargs):
        init(self, *args, **kwargs)
        try:
            self.set(zmq.MAX_SOCKETS, limit)
        except zmq.ZMQError:
            pass  # a shadow of a context that is in use: its limit stands

    zmq.Context.__init__ = patched


def _iopub_without_limit():
    """A server that stalls for a moment must not drop a kernel's messages: at
    the default high-water mark the last "idle" goes too."""
    try:
        from jupyter_server.services.kernels.handlers import ZMQChannelsHandler as channels
        if not hasattr(channels, "create_stream"):
            raise ImportError
    except ImportError:
        from jupyter_server.services.kernels.connection.channels import (
            ZMQChannelsWebsocketConnection as channels,
        )
    create = channels.create_stream

    def patched(self):
        create(self)
        self.channels["iopub"].socket.setsockopt(zmq.RCVHWM, 0)

    channels.create_stream = patched


for _patch in (_more_sockets, _iopub_without_limit):
    try:
        _patch()
    except (ImportError, AttributeError) as e:
        print(f"nb2: {_patch.__name__} does not fit this version: {e}")
