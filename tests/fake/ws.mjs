// ws.mjs - RFC 6455 by hand: frames, fragments, ping, close, both ends.
// Knows bytes, not Jupyter: what a message means is wire.mjs's business.
// The server end is lenient towards nothing: a client's unmasked frame, a
// reserved bit or a broken fragment order fails the connection with 1002.
// The knobs (fragmentBytes, dribbleBytes, cutNext) exist so that a test can
// send what a well-behaved library never would.

import { createHash, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import http from 'node:http'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export const OP = { CONT: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 }

// The Sec-WebSocket-Accept value that answers a client's key.
export function acceptKey(key) {
  return createHash('sha1').update(key + GUID).digest('base64')
}

// Flip payload bytes with the mask; masking and unmasking are one operation.
export function applyMask(payload, mask) {
  const out = Buffer.allocUnsafe(payload.length)
  for (let i = 0; i < payload.length; i++) out[i] = payload[i] ^ mask[i & 3]
  return out
}

// One frame as bytes. masked: what a client must do and a server must not.
export function encodeFrame(opcode, payload, { fin = true, masked = false } = {}) {
  const length = payload.length
  const extra = length < 126 ? 0 : length < 65536 ? 2 : 8
  const head = Buffer.alloc(2 + extra)
  head[0] = (fin ? 0x80 : 0) | opcode
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) head.writeUInt16BE(length, 2)
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (!masked) return Buffer.concat([head, payload])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, applyMask(payload, mask)])
}

// Thrown by FrameParser; code is the close code that the sin deserves.
export class ProtocolError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

// Bytes in, whole frames out. Keeps pieces apart until a frame is complete,
// so that a 64 MiB message that comes in 64 KiB pieces is joined only once.
export class FrameParser {
  constructor({ expectMasked, maxBytes = Infinity }) {
    this.expectMasked = expectMasked
    this.maxBytes = maxBytes
    this.pieces = []
    this.have = 0
    this.need = 2
  }

  // Add bytes; returns the frames that are now complete.
  push(bytes) {
    const frames = []
    this.pieces.push(bytes)
    this.have += bytes.length
    while (this.have >= this.need) {
      let all = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces)
      const frame = this.take(all)
      if (frame) all = all.subarray(frame.size)
      this.pieces = all.length ? [all] : []
      this.have = all.length
      if (!frame) break
      this.need = 2
      frames.push(frame)
    }
    return frames
  }

  // One frame from the front of all, or null with this.need set to a larger size.
  take(all) {
    const length7 = all[1] & 0x7f
    const masked = (all[1] & 0x80) !== 0
    const extra = length7 === 126 ? 2 : length7 === 127 ? 8 : 0
    const headSize = 2 + extra + (masked ? 4 : 0)
    this.check(all[0], masked, length7)
    if (all.length < headSize) return this.wait(headSize)
    const length = extra === 0 ? length7 : extra === 2 ? all.readUInt16BE(2)
      : Number(all.readBigUInt64BE(2))
    if (length > this.maxBytes) throw new ProtocolError(0, `frame of ${length} bytes`)
    const size = headSize + length
    if (all.length < size) return this.wait(size)
    const payload = all.subarray(headSize, size)
    return {
      size,
      fin: (all[0] & 0x80) !== 0,
      opcode: all[0] & 0x0f,
      payload: masked ? applyMask(payload, all.subarray(headSize - 4, headSize)) : payload,
    }
  }

  wait(size) {
    this.need = size
    return null
  }

  // What can be judged from the first two bytes.
  check(byte0, masked, length7) {
    const opcode = byte0 & 0x0f
    if (byte0 & 0x70) throw new ProtocolError(1002, 'reserved bit set')
    if (masked !== this.expectMasked) throw new ProtocolError(1002, 'wrong masking')
    if (opcode > 10 || (opcode > 2 && opcode < 8)) throw new ProtocolError(1002, 'opcode')
    if (opcode >= 8 && (length7 > 125 || !(byte0 & 0x80))) {
      throw new ProtocolError(1002, 'control frame too long or fragmented')
    }
  }
}

// A WebSocket over a socket that has left HTTP behind.
// Events: message(Buffer, isText), ping(Buffer), pong(Buffer), close({code, clean}), exactly once.
export class WsConnection extends EventEmitter {
  constructor(socket, { server, maxBytes, head }) {
    super()
    this.socket = socket
    this.masked = !server
    this.maxBytes = maxBytes ?? Infinity
    this.parser = new FrameParser({ expectMasked: server, maxBytes: this.maxBytes })
    this.fragments = null
    this.fragmentBytes = 0
    this.fragmentPing = false
    this.dribbleBytes = 0
    this.cutNext = false
    this.muted = false
    this.closeSent = false
    this.closeCode = undefined
    this.ended = false
    this.output = Promise.resolve()
    socket.setNoDelay?.(true)
    socket.on('data', (bytes) => this.receive(bytes))
    socket.on('error', () => {})
    // Tornado answers a half-closed peer by closing; so do we, without waiting for it.
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.finish())
    if (head?.length) setImmediate(() => this.receive(head))
  }

  receive(bytes) {
    if (this.ended || this.muted) return
    try {
      for (const frame of this.parser.push(bytes)) this.frame(frame)
    } catch (e) {
      if (!(e instanceof ProtocolError)) throw e
      this.protocolError = e.message
      // Over the size limit the real server drops the line without a close frame.
      if (e.code) this.close(e.code)
      this.destroy()
    }
  }

  frame({ fin, opcode, payload }) {
    if (opcode === OP.PING) {
      this.control(OP.PONG, payload)
      this.emit('ping', payload)
    } else if (opcode === OP.PONG) {
      this.emit('pong', payload)
    } else if (opcode === OP.CLOSE) {
      this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005
      this.close(payload.length >= 2 ? this.closeCode : undefined)
      this.socket.end()
    } else {
      this.dataFrame(fin, opcode, payload)
    }
  }

  dataFrame(fin, opcode, payload) {
    if ((opcode === OP.CONT) === (this.fragments === null)) {
      throw new ProtocolError(1002, 'fragment order')
    }
    if (opcode !== OP.CONT) this.fragments = { opcode, parts: [], bytes: 0 }
    const message = this.fragments
    message.parts.push(payload)
    message.bytes += payload.length
    if (message.bytes > this.maxBytes) throw new ProtocolError(0, 'message too big')
    if (!fin) return
    this.fragments = null
    const whole = message.parts.length === 1 ? payload : Buffer.concat(message.parts)
    this.emit('message', whole, message.opcode === OP.TEXT)
  }

  // Send one message, as the knobs say.
  send(payload, { text = false } = {}) {
    if (this.closeSent || this.ended) return
    const frames = this.framesOf(text ? OP.TEXT : OP.BINARY, payload)
    if (this.cutNext) {
      const all = Buffer.concat(frames)
      this.cutNext = false
      this.closeSent = true
      this.write(all.subarray(0, Math.max(1, all.length >> 1)))
      this.output = this.output.then(() => this.dropAfterFlush())
      return
    }
    for (const frame of frames) this.write(frame)
  }

  framesOf(opcode, payload) {
    const size = this.fragmentBytes
    if (!size || payload.length <= size) {
      return [encodeFrame(opcode, payload, { masked: this.masked })]
    }
    const frames = []
    for (let at = 0; at < payload.length; at += size) {
      frames.push(encodeFrame(at ? OP.CONT : opcode, payload.subarray(at, at + size),
        { fin: at + size >= payload.length, masked: this.masked }))
      // A control frame may stand between the fragments of a message (5.4).
      if (at === 0 && this.fragmentPing) {
        frames.push(encodeFrame(OP.PING, Buffer.from('between'), { masked: this.masked }))
      }
    }
    return frames
  }

  // Bytes to the socket, in order; in small pieces when dribbling.
  write(bytes) {
    if (!this.dribbleBytes) {
      if (this.dribbling) this.output = this.output.then(() => this.put(bytes))
      else this.put(bytes)
      return
    }
    const step = this.dribbleBytes
    this.dribbling = true
    this.output = this.output.then(async () => {
      for (let at = 0; at < bytes.length && !this.ended; at += step) {
        this.put(bytes.subarray(at, at + step))
        await new Promise(setImmediate)
      }
    })
  }

  put(bytes) {
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(bytes)
  }

  control(opcode, payload) {
    this.write(encodeFrame(opcode, payload, { masked: this.masked }))
  }

  ping(payload = Buffer.alloc(0)) {
    this.control(OP.PING, payload)
  }

  // Begin or answer the closing handshake. No code = an empty close frame (1005).
  close(code) {
    if (this.closeSent || this.ended) return
    this.closeSent = true
    const body = code === undefined ? Buffer.alloc(0) : Buffer.from([code >> 8, code & 255])
    this.control(OP.CLOSE, body)
  }

  // Cut the line without a word.
  destroy() {
    this.socket.destroy()
  }

  // An empty write calls back once everything before it has left.
  dropAfterFlush() {
    if (this.socket.writable) this.socket.write('', () => this.destroy())
    else this.destroy()
  }

  finish() {
    if (this.ended) return
    this.ended = true
    this.emit('close', { code: this.closeCode ?? 1006, clean: this.closeCode !== undefined })
  }
}

// Answer an upgrade request with 101. subprotocol: null to select none.
export function acceptUpgrade(req, socket, head, { subprotocol, maxBytes }) {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(req.headers['sec-websocket-key'])}`]
  if (subprotocol) lines.push(`Sec-WebSocket-Protocol: ${subprotocol}`)
  socket.write(lines.join('\r\n') + '\r\n\r\n')
  return new WsConnection(socket, { server: true, maxBytes, head })
}

// The client end: resolves to a WsConnection, or rejects with err.status set.
// target: { socketPath } or { host, port }.
export function wsConnect(target, path, { headers = {}, protocols = [] } = {}) {
  const key = randomBytes(16).toString('base64')
  const all = { Host: 'localhost', ...headers, Connection: 'Upgrade', Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': key }
  if (protocols.length) all['Sec-WebSocket-Protocol'] = protocols.join(', ')
  return new Promise((resolve, reject) => {
    const req = http.request({ ...target, path, headers: all, agent: false })
    req.on('upgrade', (res, socket, head) => {
      const ws = new WsConnection(socket, { server: false, head })
      ws.subprotocol = res.headers['sec-websocket-protocol']
      if (res.headers['sec-websocket-accept'] === acceptKey(key)) return resolve(ws)
      ws.destroy()
      reject(new Error('wrong Sec-WebSocket-Accept'))
    })
    req.on('response', (res) => {
      res.resume()
      reject(Object.assign(new Error(`handshake ${res.statusCode}`), { status: res.statusCode }))
    })
    req.on('error', reject)
    req.end()
  })
}
