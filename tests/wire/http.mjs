// http.mjs - HTTP/1.1 over a raw socket: bytes as they come, ends as they are wanted.

import net from 'node:net'
import { once } from 'node:events'

export class Exchange {
  constructor({ port, method = 'GET', path = '/', body, headers = {}, host = 'localhost' }) {
    const data = body === undefined ? null
      : Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body)
        : Buffer.from(JSON.stringify(body))
    const all = { Host: `${host}:${port}`, Connection: 'close', ...headers }
    if (data && !('Content-Length' in all)) all['Content-Length'] = data.length
    if (data && !('Content-Type' in all)) all['Content-Type'] = 'application/json'
    const head = [`${method} ${path} HTTP/1.1`]
    for (const [k, v] of Object.entries(all)) if (v !== null) head.push(`${k}: ${v}`)
    this.method = method
    this.socket = net.connect(port, '127.0.0.1')
    this.socket.setNoDelay(true)
    this.began = performance.now()
    this.raw = Buffer.alloc(0)
    this.pieces = []
    this.parts = [] // { ms, wall, text }: each piece of the body and when it came
    this.listeners = new Set()
    this.ended = false
    this.socket.on('data', (data) => this.take(data))
    this.socket.on('error', (e) => { this.error = e })
    this.socket.on('close', () => { this.ended = true; this.tell() })
    this.socket.write(head.join('\r\n') + '\r\n\r\n')
    if (data) this.socket.write(data)
  }

  take(data) {
    this.raw = Buffer.concat([this.raw, data])
    if (this.status === undefined) {
      const end = this.raw.indexOf('\r\n\r\n')
      if (end < 0) return
      const lines = this.raw.subarray(0, end).toString('latin1').split('\r\n')
      this.status = Number(lines[0].split(' ')[1])
      this.headers = {}
      for (const line of lines.slice(1)) {
        const at = line.indexOf(':')
        this.headers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim()
      }
      this.headMs = performance.now() - this.began
      this.raw = this.raw.subarray(end + 4)
    }
    this.chunks()
    this.tell()
  }

  chunks() {
    if (this.headers['transfer-encoding'] !== 'chunked') {
      this.append(this.raw)
      this.raw = Buffer.alloc(0)
      return
    }
    for (;;) {
      const at = this.raw.indexOf('\r\n')
      if (at < 0) return
      const size = parseInt(this.raw.subarray(0, at).toString(), 16)
      if (this.raw.length < at + 2 + size + 2) return
      if (size === 0) this.complete = true
      this.append(this.raw.subarray(at + 2, at + 2 + size))
      this.raw = this.raw.subarray(at + 2 + size + 2)
      if (size === 0) return
    }
  }

  append(data) {
    if (data.length === 0) return
    const now = performance.now()
    this.pieces.push(data)
    this.parts.push({ ms: now - this.began, wall: performance.timeOrigin + now, text: data.toString('latin1') })
  }

  tell() {
    for (const listener of this.listeners) listener()
  }

  // Joined when it is asked for: a long answer is not copied once a piece.
  get body() {
    if (this.pieces.length > 1) this.pieces = [Buffer.concat(this.pieces)]
    return this.pieces[0] ?? Buffer.alloc(0)
  }

  get text() {
    return this.body.toString()
  }

  // Did the answer end where it said it would? Without a length only the close tells.
  get intact() {
    if (this.status === undefined) return false
    if (this.headers['transfer-encoding'] === 'chunked') return this.complete === true
    const length = this.headers['content-length']
    return length === undefined || this.method === 'HEAD' || this.body.length === Number(length)
  }

  // For messages: what failed, and no ten megabytes of it.
  get brief() {
    const { text } = this
    return `${this.error ?? this.status} ${text.length < 500 ? text : `${text.slice(0, 250)} ... ${text.slice(-250)}`}`
  }

  get json() {
    return JSON.parse(this.text)
  }

  // Until check(this) is truthy: the answer so far has it.
  when(check, ms = 30000, what = 'the answer') {
    return new Promise((resolve, reject) => {
      let timer
      const look = () => {
        const good = check(this)
        if (!good && !this.ended) return
        clearTimeout(timer)
        this.listeners.delete(look)
        if (good) resolve(this)
        else reject(new Error(`the connection ended before ${what}: ${this.brief}`))
      }
      timer = setTimeout(() => {
        this.listeners.delete(look)
        reject(new Error(`${what} did not come within ${ms} ms: ${this.brief}`))
      }, ms)
      this.listeners.add(look)
      look()
    })
  }

  head() {
    return this.when((x) => x.status !== undefined, 30000, 'the head')
  }

  has(text) {
    return this.when((x) => x.text.includes(text), 30000, JSON.stringify(text))
  }

  // The whole answer, and not one that was cut.
  async whole(ms = 60000) {
    await this.when((x) => x.ended, ms, 'the end')
    if (!this.intact) throw new Error(`the answer was cut: ${this.brief}`)
    return this
  }

  // Leave in mid-answer: 'fin' or 'rst'.
  async leave(how = 'fin') {
    if (how === 'rst') this.socket.resetAndDestroy()
    else this.socket.destroy()
    if (!this.ended) await once(this.socket, 'close')
  }
}

export const open = (options) => new Exchange(options)
export const request = (options) => new Exchange(options).whole(options.ms)

// The records of a stream, each with the wall clock's ms at which its last byte was here.
export function arrivals(parts) {
  const out = []
  let rest = ''
  for (const { text, wall } of parts) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) out.push({ ...JSON.parse(line), wall })
  }
  return out
}
