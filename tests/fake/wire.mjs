// wire.mjs - a Jupyter message as bytes: the v1 WebSocket framing and the legacy JSON one.
// A message here is { channel, header, parent_header, metadata, content, buffers? }. Each JSON
// part may also be a Buffer, which goes out untouched: that is how a test sends broken JSON.

import { randomUUID } from 'node:crypto'

export const V1 = 'v1.kernel.websocket.jupyter.org'

const PARTS = ['header', 'parent_header', 'metadata', 'content']

// A part's JSON bytes.
function partBytes(part) {
  return Buffer.isBuffer(part) ? part : Buffer.from(JSON.stringify(part ?? {}))
}

// v1: u64 count, count offsets from the frame's start, then the segments, all little-endian.
export function encodeV1(message) {
  const segments = [Buffer.from(message.channel), ...PARTS.map((p) => partBytes(message[p])),
    ...(message.buffers ?? [])]
  const count = segments.length + 1
  const head = Buffer.alloc(8 * (count + 1))
  let at = head.length
  head.writeBigUInt64LE(BigInt(count), 0)
  segments.forEach((segment, i) => {
    head.writeBigUInt64LE(BigInt(at), 8 * (i + 1))
    at += segment.length
  })
  head.writeBigUInt64LE(BigInt(at), 8 * count)
  return Buffer.concat([head, ...segments])
}

// The reverse; throws on anything malformed.
export function decodeV1(frame) {
  const count = Number(frame.readBigUInt64LE(0))
  if (count < 6 || 8 * (count + 1) > frame.length) throw new Error(`v1: ${count} offsets`)
  const offsets = []
  for (let i = 0; i < count; i++) offsets.push(Number(frame.readBigUInt64LE(8 * (i + 1))))
  const segments = []
  for (let i = 0; i + 1 < count; i++) {
    if (offsets[i] > offsets[i + 1] || offsets[i + 1] > frame.length) throw new Error('v1: order')
    segments.push(frame.subarray(offsets[i], offsets[i + 1]))
  }
  const message = { channel: segments[0].toString(), buffers: segments.slice(5) }
  message.raw = {}
  PARTS.forEach((part, i) => {
    message.raw[part] = segments[i + 1]
    message[part] = parseLoose(segments[i + 1])
  })
  return message
}

// JSON, or undefined: a test that reads broken content looks at raw instead.
function parseLoose(bytes) {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

// Legacy: one JSON object; with buffers a binary frame of u32 offsets, big-endian.
// Returns { payload, text }.
export function encodeLegacy(message) {
  const fields = PARTS.map((part) => Buffer.concat([Buffer.from(`"${part}": `),
    partBytes(message[part]), Buffer.from(', ')]))
  const header = message.header ?? {}
  const tail = { msg_id: header.msg_id, msg_type: header.msg_type, channel: message.channel,
    buffers: [] }
  const json = Buffer.concat([Buffer.from('{'), ...fields,
    Buffer.from(JSON.stringify(tail).slice(1))])
  if (!message.buffers?.length) return { payload: json, text: true }
  const parts = [json, ...message.buffers]
  const head = Buffer.alloc(4 * (parts.length + 1))
  let at = head.length
  head.writeUInt32BE(parts.length, 0)
  parts.forEach((part, i) => {
    head.writeUInt32BE(at, 4 * (i + 1))
    at += part.length
  })
  return { payload: Buffer.concat([head, ...parts]), text: false }
}

export function decodeLegacy(payload, isText) {
  if (isText) return JSON.parse(payload.toString())
  const count = payload.readUInt32BE(0)
  const offsets = []
  for (let i = 0; i < count; i++) offsets.push(payload.readUInt32BE(4 * (i + 1)))
  const parts = offsets.map((at, i) => payload.subarray(at, offsets[i + 1] ?? payload.length))
  return { ...JSON.parse(parts[0].toString()), buffers: parts.slice(1) }
}

// A header as jupyter_client writes it.
export function makeHeader(msg_type, session, { msg_id = newId(), username = 'username' } = {}) {
  return { msg_id, msg_type, username, session, date: new Date().toISOString(), version: '5.3' }
}

export function newId() {
  return randomUUID()
}
