#!/usr/bin/env node
// jupyter.mjs - a scripted Jupyter Server for tests: the door (token, Host), the upgrade, the control plane.
//   node tests/fake/jupyter.mjs --unix PATH | --port N [--token T] [--base /b] [--set JSON]
// prints `ready` (and the URL) once it listens. Importable: see startFake. The language: README.md.

import http from 'node:http'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Modes } from './modes.mjs'
import { HttpError, Rest } from './rest.mjs'
import { V1 } from './wire.mjs'
import { acceptUpgrade } from './ws.mjs'

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

class FakeServer {
  constructor({ token = '', base = '', settings = {} }) {
    this.token = token
    this.base = base.replace(/\/$/, '')
    this.modes = new Modes(settings)
    this.rest = new Rest(this.modes)
    this.sockets = new Set()
    this.http = http.createServer((req, res) => this.request(req, res))
    // As patient as tornado: a pooled connection of the client's must not be closed under it.
    this.http.keepAliveTimeout = 0
    this.http.requestTimeout = 0
    this.http.on('upgrade', (req, socket, head) => this.upgrade(req, socket, head))
    this.http.on('connection', (socket) => {
      this.sockets.add(socket)
      socket.on('close', () => this.sockets.delete(socket))
    })
    this.modes.listeners.add(() => this.applyHold())
  }

  // A held server reads nothing: what clients send waits in their sockets.
  applyHold() {
    const held = this.modes.held !== null
    if (held === this.wasHeld) return
    this.wasHeld = held
    for (const kernel of this.everyKernel()) {
      kernel.hub.each((ws) => (held ? ws.socket.pause() : ws.socket.resume()))
    }
  }

  everyKernel() {
    return [...this.rest.kernels.values(), ...this.rest.graveyard]
  }

  // The path below base and the query, or null when it is not under base.
  locate(req) {
    const url = new URL(req.url, 'http://localhost')
    if (!url.pathname.startsWith(this.base + '/')) return null
    return { path: url.pathname.slice(this.base.length), query: url.searchParams }
  }

  // Who may come in: the status that refuses, or 0.
  door(req, { path, query }) {
    if (!LOCAL.test(req.headers.host ?? '')) return 403
    if (!this.token || path === '/api') return 0
    const given = /^token (.*)$/i.exec(req.headers.authorization ?? '')?.[1] ?? query.get('token')
    return given === this.token ? 0 : 403
  }

  async request(req, res) {
    const text = await readBody(req)
    if (req.url.startsWith('/_fake')) return this.control(req, res, text)
    await this.modes.free()
    const where = this.locate(req)
    const [status, body, headers] = await this.answer(req, where, text)
    this.modes.log('rest', { method: req.method, path: where?.path ?? req.url, status,
      ...(text ? { body: text.slice(0, 65536) } : {}) })
    await this.modes.free()
    respond(res, status, body, headers)
  }

  async answer(req, where, text) {
    try {
      if (!where) throw new HttpError(404, 'Not Found')
      if (this.door(req, where)) {
        const known = req.headers.authorization || where.query.has('token')
        throw new HttpError(403, req.method === 'GET' || known ? 'Forbidden'
          : `'_xsrf' argument missing from ${req.method}`)
      }
      if (where.path === '/api') return [200, { version: '1.23.3' }]
      return await this.rest.handle(req.method, where.path, text)
    } catch (e) {
      if (!(e instanceof HttpError)) throw e
      return [e.status, { message: e.message, ...e.extra }]
    }
  }

  async upgrade(req, socket, head) {
    socket.on('error', () => {})
    await this.modes.free()
    const where = this.locate(req)
    const match = /^\/api\/kernels\/([\w-]+)\/channels$/.exec(where?.path ?? '')
    const kernel = match && this.rest.kernels.get(match[1])
    const session = where?.query.get('session_id') ?? ''
    this.modes.log('handshake', { kernel: match?.[1], session, protocols:
      req.headers['sec-websocket-protocol'] ?? '' })
    if (this.modes.take('hangHandshakes')) return
    if (this.modes.take('refuseHandshakes')) return refuse(socket, this.modes.settings.refuseStatus)
    if (this.door(req, where ?? { query: new Map() })) return refuse(socket, 403)
    if (!kernel) return refuse(socket, 404)
    await kernel.hub.evict(session)
    await kernel.ready(this.modes.settings.kernelInfoTimeoutMs)
    await this.modes.free()
    if (!socket.destroyed) this.open(req, socket, head, kernel, session)
  }

  open(req, socket, head, kernel, session) {
    const { legacyOnly, maxMessageBytes } = this.modes.settings
    const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',').map((p) => p.trim())
    const subprotocol = !legacyOnly && offered.includes(V1) ? V1 : null
    const ws = acceptUpgrade(req, socket, head, { subprotocol, maxBytes: maxMessageBytes })
    ws.subprotocol = subprotocol
    if (this.modes.take('closeAfterOpen')) {
      this.modes.log('close-after-open', { kernel: kernel.id, session })
      ws.dropAfterFlush()
      return
    }
    kernel.hub.attach(ws, session, { nudge: kernel.up && kernel.state !== 'busy' })
  }

  // The control plane. Never held, never asks for the token.
  async control(req, res, text) {
    const url = new URL(req.url, 'http://localhost')
    try {
      const key = `${req.method} ${url.pathname}`
      if (key === 'POST /_fake') return respond(res, 200, this.command(JSON.parse(text)))
      if (key === 'GET /_fake') return respond(res, 200, this.state())
      if (key === 'GET /_fake/log') return respond(res, 200, this.logAnswer(url.searchParams))
      if (key === 'DELETE /_fake/log') {
        this.modes.entries.length = 0
        return respond(res, 204)
      }
      if (key === 'GET /_fake/wait') return respond(res, 200, await this.waitFor(url.searchParams))
      respond(res, 404, { message: `no such control: ${key}` })
    } catch (e) {
      respond(res, 400, { message: e.message })
    }
  }

  // {reset, mute, stallMs, open, do, kernel, ...settings}
  command({ reset, mute, stallMs, open, do: action, kernel, code, ...settings }) {
    if (reset) this.modes.reset()
    this.modes.set(settings)
    if (open !== undefined) this.modes.openGate(open)
    if (mute !== undefined || stallMs) mute === false ? this.modes.release() : this.modes.hold()
    if (stallMs) setTimeout(() => this.modes.release(), stallMs)
    if (action) for (const k of this.chosen(kernel)) this.act(k, action, code)
    return this.state()
  }

  chosen(id) {
    const found = this.everyKernel().filter((k) => !id || k.id === id)
    if (!found.length) throw new Error(`no such kernel: ${id}`)
    return found
  }

  act(kernel, action, code) {
    this.modes.log('fault', { kernel: kernel.id, action })
    if (action === 'drop-socket') kernel.hub.drop()
    else if (action === 'close-socket') kernel.hub.close(code)
    else if (action === 'half-frame') kernel.hub.each((ws) => { ws.cutNext = true })
    else if (action === 'ping') kernel.hub.each((ws) => ws.ping(Buffer.from('fake')))
    else if (action === 'forget') kernel.remove()
    else if (['die', 'die-silent', 'dead'].includes(action)) kernel.fault(action)
    else throw new Error(`no such action: ${action}`)
  }

  state() {
    const kernels = {}
    for (const kernel of this.everyKernel()) {
      kernels[kernel.id] = { ...kernel.model(), gone: kernel.gone, queued: kernel.queue.length,
        websockets: kernel.hub.model() }
    }
    return { settings: this.modes.settings, held: this.modes.held !== null, kernels,
      sessions: this.rest.listSessions() }
  }

  logAnswer(query) {
    const { kernels } = this.state()
    const websockets = {}
    for (const [id, kernel] of Object.entries(kernels)) websockets[id] = kernel.websockets
    return { entries: this.modes.find(Object.fromEntries(query)), websockets,
      interrupts: this.modes.find({ kind: 'interrupt' }) }
  }

  // ?n=2&ms=5000&kind=message&msg_type=...: until n entries match, the other fields by equality.
  async waitFor(query) {
    const { n = 1, ms = 5000, ...match } = Object.fromEntries(query)
    const met = await this.modes.until(() => this.modes.find(match).length >= Number(n), Number(ms))
    if (!met) throw new Error(`waited ${ms} ms for ${n} of ${JSON.stringify(match)}, have `
      + this.modes.find(match).length)
    return { entries: this.modes.find(match) }
  }

  async close() {
    this.modes.reset()
    for (const kernel of this.everyKernel()) kernel.kill()
    this.http.close()
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function respond(res, status, body, headers = {}) {
  if (res.destroyed) return
  if (body === undefined) {
    res.writeHead(status, headers).end()
    return
  }
  const text = JSON.stringify(body)
  res.writeHead(status, { 'Content-Type': 'application/json', Server: 'TornadoServer/6.2',
    'Content-Length': Buffer.byteLength(text), ...headers }).end(text)
}

// Refuse an upgrade; status 0 cuts the line.
function refuse(socket, status) {
  if (!status) return socket.destroy()
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Refused'}\r\n`
    + 'Content-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
}

async function readBody(req) {
  const parts = []
  for await (const part of req) parts.push(part)
  return Buffer.concat(parts).toString()
}

// Start one. options: {unix | port (0 = any), token, base, settings}. Resolves to
// {url, port, control(command), log(match), wait(match, n, ms), state(), close()}.
export async function startFake({ unix, port = 0, ...options } = {}) {
  const server = new FakeServer(options)
  if (unix) rmSync(unix, { force: true })
  await new Promise((resolve, reject) => {
    server.http.once('error', reject)
    server.http.listen(unix ? { path: unix } : { port, host: '127.0.0.1' }, resolve)
  })
  const bound = unix ? undefined : server.http.address().port
  return {
    url: unix ? `unix:${unix}` : `http://127.0.0.1:${bound}${server.base}`,
    port: bound,
    control: (command) => server.command(command),
    state: () => server.state(),
    log: (match = {}) => server.modes.find(match),
    wait: (match, n = 1, ms = 5000) => server.waitFor(Object.entries({ ...match, n, ms })),
    close: () => server.close(),
  }
}

// --name value pairs.
function options(argv) {
  const out = {}
  for (let i = 0; i < argv.length; i += 2) out[argv[i].replace(/^--/, '')] = argv[i + 1]
  return out
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { unix, port, token, base, set } = options(process.argv.slice(2))
  if (!unix && port === undefined) {
    console.error('usage: jupyter.mjs --unix PATH | --port N [--token T] [--base /b] [--set JSON]')
    process.exit(2)
  }
  const fake = await startFake({ unix, port: Number(port), token, base,
    settings: JSON.parse(set ?? '{}') })
  console.log(`ready ${fake.url}`)
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => fake.close().then(() => process.exit(0)))
  }
}
