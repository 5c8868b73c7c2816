// Serves the folder `site` on a free port of this machine.
const { readFile } = require('node:fs')
const { createServer } = require('node:http')
const { join } = require('node:path')

const FILES = { '/': ['index.html', 'text/html'], '/board.json': ['board.json', 'application/json'] }

const server = createServer((request, response) => {
  const found = FILES[request.url.split('?')[0]]
  if (found === undefined) return response.writeHead(404).end()
  readFile(join('site', found[0]), (error, bytes) => {
    if (error) response.writeHead(500).end()
    else response.writeHead(200, { 'content-type': `${found[1]}; charset=utf-8` }).end(bytes)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`The board is at http://127.0.0.1:${server.address().port}/`))
