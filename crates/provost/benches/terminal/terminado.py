"""A terminal as Jupyter serves it."""
import asyncio
import sys

import terminado
import tornado.httpserver
import tornado.netutil
import tornado.web


async def main():
    manager = terminado.UniqueTermManager(shell_command=["/bin/bash", "--norc"])
    handlers = [(r"/", terminado.TermSocket, {"term_manager": manager})]
    server = tornado.httpserver.HTTPServer(tornado.web.Application(handlers))
    sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    with open(sys.argv[1], "w") as said:
        said.write("127.0.0.1:%d" % sockets[0].getsockname()[1])
    await asyncio.Event().wait()


asyncio.run(main())
