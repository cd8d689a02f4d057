// a_tools - the tests' own tools: what they call a byte, an end or a slot must be one.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, test } from 'node:test'
import { params, record, requestBytes } from './fcgi.mjs'
import { arrivals, open, request } from './http.mjs'
import { murmur2, slotOf } from './murmur.mjs'
import { records, until } from './stack.mjs'

let server
let port
let answer // what the next connection is told: (socket) => …
const seen = []
before(async () => {
  server = net.createServer((socket) => {
    socket.on('error', () => {})
    const peer = { bytes: '', end: 'none' }
    seen.push(peer)
    socket.on('data', (d) => { peer.bytes += d })
    socket.on('end', () => { peer.end = 'fin' })
    socket.on('error', (e) => { peer.end = e.code })
    socket.once('data', () => answer(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = server.address().port
})
after(() => server.close())

const head = 'HTTP/1.1 200 OK\r\nX-A: b: c\r\nTransfer-Encoding: chunked\r\n\r\n'
const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

// Slow on purpose: each byte is a packet of its own.
async function dribble(socket, text) {
  socket.setNoDelay(true)
  for (const byte of Buffer.from(text)) {
    socket.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  socket.end()
}

test('a chunked answer that comes byte by byte', async () => {
  answer = (socket) => dribble(socket, head + chunk('{"a": 1}\n{"b"') + chunk(': "\u00e9"}\n') + '0\r\n\r\n')
  const x = await request({ port })
  assert.deepEqual([x.status, x.headers['x-a'], x.text], [200, 'b: c', '{"a": 1}\n{"b": "\u00e9"}\n'])
  assert.ok(x.headMs > 0)
  assert.deepEqual(arrivals(x.parts).map((r) => Object.keys(r)), [['a', 'wall'], ['b', 'wall']])
})

test('an answer that is cut is told from one that ended', async () => {
  answer = (socket) => socket.end(head + chunk('{"a": 1}\n'))
  await assert.rejects(request({ port }), /the answer was cut: /)
  answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour')
  await assert.rejects(request({ port }), /the answer was cut/)
  answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour')
  assert.equal((await request({ port })).text, 'four')
})

test('what never comes is an error with a name', async () => {
  answer = (socket) => socket.write(head + chunk('here'))
  const x = open({ port })
  await x.has('here')
  await assert.rejects(x.when((y) => y.text.includes('more'), 50, 'more'), /more did not come within 50 ms/)
  await x.leave()
  await assert.rejects(until(() => false, 50, 'the impossible'), /the impossible did not come true/)
})

test('a body, its length and type are sent; null takes a header away', async () => {
  answer = (socket) => socket.end('HTTP/1.1 204 No\r\n\r\n')
  await request({ port, method: 'POST', path: '/p', body: { a: '\u00e9' }, headers: { 'Content-Type': null, X: 'y' } })
  const { bytes } = seen.at(-1)
  assert.match(bytes, /^POST \/p HTTP\/1\.1\r\nHost: localhost:\d+\r\n/)
  assert.match(bytes, /\r\nContent-Length: 10\r\n/)
  assert.ok(bytes.endsWith('\r\n\r\n{"a":"\u00e9"}') && !bytes.includes('Content-Type'))
})

test('leaving with FIN and with RST are what they say', async () => {
  answer = (socket) => socket.write(head + chunk('x'))
  for (const [how, end] of [['fin', 'fin'], ['rst', 'ECONNRESET']]) {
    const x = open({ port })
    await x.has('x')
    await x.leave(how)
    await until(() => seen.at(-1).end !== 'none', 2000, how)
    assert.equal(seen.at(-1).end, end)
  }
})

test('records: strict about lines', () => {
  assert.deepEqual(records('{"type": "a"}\n{"type": "keepalive"}\n{"type": "b"}\n'), [{ type: 'a' }, { type: 'b' }])
  assert.throws(() => records('{"type": "a"}'), /does not end with a newline/)
  assert.throws(() => records('{"type": "a"}\n\n'), SyntaxError)
  assert.throws(() => records('{"a": NaN}\n'), SyntaxError)
})

// 32 bits, seed 0, by a program of a few lines of C apart from this one.
const hashes = { '': 0, a: 2456313694, ab: 446775395, abc: 324500635, abcd: 646393889, default: 428786659,
  debug_sandbox_id: 770823597, 'hello, world: 0123456789': 2089657335, 'caf\u00e9': 1558355243 }

test('MurmurHash2', () => {
  for (const [key, hash] of Object.entries(hashes)) assert.equal(murmur2(key), hash, key)
  assert.equal(slotOf(''), 0)
  for (let i = 0; i < 1000; i++) assert.ok(slotOf(`k${i}`) >= 0 && slotOf(`k${i}`) <= 15)
})

test('FastCGI by hand', () => {
  assert.deepEqual([...record(5, 258, Buffer.from('ab'), 1)], [1, 5, 1, 2, 0, 2, 1, 0, 97, 98, 0])
  assert.deepEqual([...params({ a: 'x'.repeat(128) })].slice(0, 7), [1, 128, 0, 0, 128, 97, 120])
  const bytes = requestBytes({}, 'body')
  assert.deepEqual([...bytes.subarray(0, 16)], [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  assert.ok(bytes.includes('body') && bytes.includes('CONTENT_LENGTH4'))
})
