// fcgi.mjs - FastCGI by hand, for what nginx never sends.

import net from 'node:net'

export function record(type, id, content = Buffer.alloc(0), padding = 0) {
  const head = Buffer.from([1, type, id >> 8, id & 255, content.length >> 8, content.length & 255,
    padding, 0])
  return Buffer.concat([head, content, Buffer.alloc(padding)])
}

const length = (n) => n < 128 ? Buffer.from([n])
  : Buffer.from([0x80 | n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255])

export function params(object) {
  const parts = []
  for (const [k, v] of Object.entries(object)) {
    const name = Buffer.from(k)
    const value = Buffer.from(v)
    parts.push(length(name.length), length(value.length), name, value)
  }
  return Buffer.concat(parts)
}

export const begin = (id = 1, role = 1, flags = 0) =>
  record(1, id, Buffer.from([role >> 8, role & 255, flags, 0, 0, 0, 0, 0]))

// A whole request as bytes.
export function requestBytes(fields = {}, body = '', { id = 1, flags = 0 } = {}) {
  const all = { REQUEST_METHOD: 'GET', REQUEST_URI: '/nb2/health', DOCUMENT_URI: '/nb2/health',
    QUERY_STRING: '', HTTP_HOST: 'localhost', NB2_LISTENER: 'main', SERVER_ADDR: '127.0.0.1',
    CONTENT_LENGTH: body ? String(Buffer.byteLength(body)) : '', ...fields }
  const parts = [begin(id, 1, flags), record(4, id, params(all)), record(4, id)]
  if (body) parts.push(record(5, id, Buffer.from(body)))
  parts.push(record(5, id))
  return Buffer.concat(parts)
}

// A connection to a slot socket: what came, and whether it was closed.
export class Slot {
  constructor(path) {
    this.socket = net.connect(path)
    this.data = Buffer.alloc(0)
    this.socket.on('data', (d) => { this.data = Buffer.concat([this.data, d]) })
    this.socket.on('error', () => {})
    this.closed = new Promise((resolve) => this.socket.on('close', resolve))
  }

  send(...parts) {
    this.socket.write(Buffer.concat(parts))
    return this
  }

  // STDOUT of all records that came.
  get stdout() {
    const out = []
    for (let i = 0; i + 8 <= this.data.length;) {
      const n = this.data.readUInt16BE(i + 4)
      if (this.data[i + 1] === 6) out.push(this.data.subarray(i + 8, i + 8 + n))
      i += 8 + n + this.data[i + 6]
    }
    return Buffer.concat(out).toString()
  }
}

export async function ask(path, fields, body) {
  const slot = new Slot(path).send(requestBytes(fields, body))
  await slot.closed
  return slot.stdout
}
