// A terminal as the usual recipe makes it: node-pty to ws, nothing kept.
import { writeFileSync } from 'node:fs'
import { spawn } from 'node-pty'
import { WebSocketServer } from 'ws'

const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
server.on('listening', () => writeFileSync(process.argv[2], `127.0.0.1:${server.address().port}`))
server.on('connection', socket => {
  const terminal = spawn('/bin/bash', ['--norc'], { cols: 80, rows: 24, encoding: null })
  terminal.onData(data => socket.send(data))
  socket.on('message', keys => terminal.write(keys.toString()))
  socket.on('close', () => terminal.kill())
})
