// client.mjs - the smallest Jupyter client that can test the fake (and the real server beside it).
// REST over node:http, channels over ws.mjs. Collects everything; waits on conditions, not on time.

import http from 'node:http'
import { wsConnect } from './ws.mjs'
import { V1, decodeLegacy, decodeV1, encodeLegacy, encodeV1, makeHeader } from './wire.mjs'

// Parse `unix:/path` or `http://host:port` into what node:http wants.
export function targetOf(url) {
  if (url.startsWith('unix:')) return { socketPath: url.slice(5) }
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

// One REST call: { status, headers, text, json }.
export function rest(url, token, method, path, body, headers = {}) {
  const data = body === undefined ? undefined : typeof body === 'string' ? body
    : JSON.stringify(body)
  const all = { Host: 'localhost', ...headers }
  if (token) all.Authorization = `token ${token}`
  if (data !== undefined) all['Content-Length'] = Buffer.byteLength(data)
  return new Promise((resolve, reject) => {
    const req = http.request({ ...targetOf(url), method, path, headers: all, agent: false })
    req.on('error', reject)
    req.on('response', (res) => {
      const parts = []
      res.on('data', (part) => parts.push(part))
      res.on('end', () => {
        const text = Buffer.concat(parts).toString()
        let json
        try { json = JSON.parse(text) } catch { /* not every answer is JSON */ }
        resolve({ status: res.statusCode, headers: res.headers, text, json })
      })
    })
    req.end(data)
  })
}

// How the tests name a message: type, with the state or the stream's text where there is one.
export function label(message) {
  const type = message.header?.msg_type
  if (type === 'status') return message.content.execution_state
  if (type === 'stream') return `${message.content.name}:${message.content.text}`
  return type
}

export class Channels {
  // Open the WebSocket of a kernel. legacy: do not offer the v1 subprotocol.
  static async open(url, token, kernel, session, { legacy = false } = {}) {
    const ws = await wsConnect(targetOf(url),
      `/api/kernels/${kernel}/channels?session_id=${session}`,
      { headers: { Authorization: `token ${token}` }, protocols: legacy ? [] : [V1] })
    return new Channels(ws, session)
  }

  constructor(ws, session) {
    this.ws = ws
    this.session = session
    this.messages = []
    this.closed = null
    this.waiters = new Set()
    ws.on('message', (payload, isText) => {
      this.messages.push(ws.subprotocol === V1 ? decodeV1(payload)
        : decodeLegacy(payload, isText))
      this.check()
    })
    ws.on('close', (how) => {
      this.closed = how
      this.check()
    })
  }

  // Send a request; returns its msg_id.
  send(channel, msg_type, content, { parent_header = {}, msg_id } = {}) {
    const header = makeHeader(msg_type, this.session, { msg_id })
    const message = { channel, header, parent_header, metadata: {}, content }
    if (this.ws.subprotocol === V1) this.ws.send(encodeV1(message))
    else this.ws.send(encodeLegacy(message).payload, { text: true })
    return header.msg_id
  }

  execute(code, options = {}) {
    const { msg_id, ...content } = options
    return this.send('shell', 'execute_request', { code, silent: false, store_history: true,
      stop_on_error: true, allow_stdin: false, user_expressions: {}, ...content }, { msg_id })
  }

  // Everything that came with this parent, in order of arrival.
  of(id) {
    return this.messages.filter((m) => m.parent_header?.msg_id === id)
  }

  labels(id) {
    return this.of(id).map(label)
  }

  reply(id) {
    return this.of(id).find((m) => /_reply$/.test(m.header.msg_type) && m.channel !== 'iopub')
  }

  // Resolves when test() is true; rejects after ms with what had come until then.
  until(test, ms = 5000) {
    return new Promise((resolve, reject) => {
      const waiter = () => {
        if (!test(this)) return false
        clearTimeout(timer)
        resolve(this)
        return true
      }
      const timer = setTimeout(() => {
        this.waiters.delete(waiter)
        reject(new Error(`waited ${ms} ms; have ${JSON.stringify(this.messages.map(label))}`))
      }, ms)
      if (!waiter()) this.waiters.add(waiter)
    })
  }

  check() {
    for (const waiter of this.waiters) if (waiter()) this.waiters.delete(waiter)
  }

  // Reply and idle both here: the end of a request.
  done(id, ms) {
    return this.until(() => this.reply(id) && this.labels(id).includes('idle'), ms)
  }

  async run(code, options) {
    const id = this.execute(code, options)
    await this.done(id)
    return id
  }

  // kernel_info on control until an iopub status with our own id is back.
  async probe() {
    for (let i = 0; i < 100; i++) {
      const id = this.send('control', 'kernel_info_request', {})
      const seen = this.until(() => this.labels(id).includes('idle'), 100)
      if (await seen.then(() => true, () => false)) return
    }
    throw new Error('no answer to the probe')
  }

  drop() {
    this.ws.destroy()
    return this.until(() => this.closed)
  }
}
