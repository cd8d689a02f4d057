// n_refusals - what nginx answers itself: in the shape of the face that was asked, on both listeners,
// and without a token in any log.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { after, before, test } from 'node:test'
import { open } from './http.mjs'
import { slotOf } from './murmur.mjs'
import { Stack, until } from './stack.mjs'

let s
before(async () => { s = await new Stack({ workers: 1 }).start() })
after(() => s?.stop())

const json = 'application/json; charset=utf-8'
const text = 'text/plain; charset=utf-8'
const answer = (x) => [x.status, x.headers['content-type'], x.text]
const refusal = (status, error, message) => [status, json, JSON.stringify({ error, message })]

// Bytes that no client library would send: the status line and what follows the head.
async function raw(port, bytes) {
  const socket = net.connect(port, '127.0.0.1')
  socket.write(bytes)
  let got = ''
  socket.on('data', (d) => { got += d })
  await once(socket, 'close')
  const [head, body] = got.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), type: /content-type: ([^\r]*)/i.exec(head)?.[1], body }
}

// The head promises more than nginx takes; it answers before the body comes.
async function tooLarge(port, path) {
  const x = open({ port, method: 'POST', path, body: '', headers: { 'Content-Length': String(65 << 20), 'x-nb2-token': s.token } })
  await x.has('too large')
  await x.leave()
  return x
}

test('404', async () => {
  for (const path of ['/nope', '/nb2x', '/index.html', '/static/index.html'])
    assert.deepEqual(answer(await s.get(path)), refusal(404, 'not_found', 'There is no such path.'), path)
  for (const path of ['/nope', '/nb2/', '/nb2/health', '/executions/3-a', '/sandboxes', '/docs'])
    assert.deepEqual(answer(await s.e2b('GET', path)), [404, 'application/json', '{"detail":"Not Found"}'], path)
})

test('405 of a file that is only read', async () => {
  const x = await s.get('/nb2/', { method: 'POST', body: {} })
  assert.deepEqual(answer(x), refusal(405, 'method_not_allowed', 'This path does not have that method.'))
  assert.equal(x.headers.allow, 'GET, HEAD')
})

test('413 before the body has come', async () => {
  const nb2 = await tooLarge(s.port, '/nb2/auth')
  assert.deepEqual(answer(nb2), refusal(413, 'too_large', 'The request body is too large.'))
  for (const port of [s.port, s.e2bPort])
    for (const path of ['/execute', '/contexts'])
      assert.deepEqual(answer(await tooLarge(port, path)), [413, text, 'The request body is too large'])
})

test('400 and 414 of what is no request', async () => {
  for (const bytes of ['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n']) {
    const main = await raw(s.port, bytes)
    assert.deepEqual([main.status, main.type, main.body],
      refusal(400, 'bad_request', 'The request is malformed.'), bytes)
    const e2b = await raw(s.e2bPort, bytes)
    assert.deepEqual([e2b.status, e2b.type, e2b.body], [400, text, 'Invalid HTTP request received.'])
  }
  const long = await raw(s.port, `GET /${'x'.repeat(40000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  assert.deepEqual([long.status, JSON.parse(long.body).error], [414, 'bad_request'])
  const head = await raw(s.port, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40000)}\r\n\r\n`)
  assert.deepEqual([head.status, JSON.parse(head.body).error], [400, 'bad_request'])
})

test('a path that escapes, a NUL, a link out of the files', async () => {
  for (const path of ['/nb2/assets/../../conf/nb2.conf', '/nb2/assets/..%2f..%2fREADME.md', '/nb2/assets/%2e%2e/%2e%2e/README.md']) {
    const x = await s.get(path)
    assert.ok([400, 404].includes(x.status), `${path}: ${x.status}`)
    assert.equal(typeof x.json.error, 'string')
  }
  assert.equal((await s.get('/nb2/assets/a%00b')).status, 400)
})

test('no token in a log, whatever nginx thought of the request', async () => {
  const token = 'f00d'.repeat(16)
  await s.get(`/nope?token=${token}`)
  await s.get(`/nb2/assets/nope.js?token=${token}`)
  await s.get(`/nb2/health?token=${token}`)
  await raw(s.port, `GET /x?token=${token} HTTP/9.9\r\nHost: localhost\r\n\r\n`)
  await raw(s.port, `GET /${'x'.repeat(40000)}?token=${token} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await until(() => s.log('nginx-access.log').includes('/nope '), 5000, 'the access log')
  for (const name of fs.readdirSync(`${s.state}/log`)) assert.ok(!s.log(name).includes('f00df00d'), name)
})

test('a plain key is guessed right: nginx asks its slot and no other', async () => {
  const keys = Array.from({ length: 64 }, (_, i) => `key-${i}.${'x'.repeat(i % 9)}`)
  for (const key of keys) await s.e2b('GET', '/contexts', undefined, { headers: { 'E2b-Sandbox-Id': key } })
  const asked = s.log('nginx-access.log').split('\n').filter((l) => l.includes(' /contexts '))
    .map((l) => /upstream=(.*) \d{3} [\d.]+$/.exec(l)?.[1])
  const wanted = keys.map((k) => `unix:${s.run}/s${String(slotOf(k)).padStart(2, '0')}.sock`)
  assert.deepEqual(asked.slice(-64), wanted)
})

// The last one: it takes the workers away.
test('502 when no worker can be reached', async () => {
  await s.master.stop()
  assert.deepEqual(answer(await s.get('/nb2/health')), refusal(502, 'bad_gateway', 'The nb2 worker cannot be reached.'))
  for (const port of [s.port, s.e2bPort]) {
    for (const path of ['/execute', '/contexts', '/health']) {
      const x = await s.e2b('POST', path, {}, { port })
      assert.deepEqual(answer(x), [502, text, 'The code interpreter cannot be reached'])
    }
  }
  const events = await s.get('/nb2/events')
  assert.deepEqual(answer(events), [200, 'text/event-stream; charset=utf-8', 'retry: 2000\n\n'])
  assert.equal((await s.get('/nb2/')).status, 200, 'the page is a file')
})
