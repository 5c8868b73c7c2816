"""Serves the folder `site` on a free port of this machine."""
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

handler = partial(SimpleHTTPRequestHandler, directory="site")
server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(f"The board is at http://127.0.0.1:{server.server_port}/")
server.serve_forever()
