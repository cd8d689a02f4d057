// n_nginx - nothing between worker and client buffers or compresses a stream: HTTP/1.1, HTTP/2 with
// gzip on, a second nginx in front; and what nginx says itself when a slot is not there.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import http2 from 'node:http2'
import { after, before, test } from 'node:test'
import { request } from './http.mjs'
import { slotOf } from './murmur.mjs'
import { Stack, freePort, records, textOf } from './stack.mjs'

let s
let h2Port
let frontPort
before(async () => {
  h2Port = await freePort()
  frontPort = await freePort()
  s = await new Stack({ workers: 2, nginx: (stack) => `
    server {
      listen 127.0.0.1:${h2Port} http2;
      include "${stack.state}/nginx/main.conf";
    }
    server {
      listen 127.0.0.1:${frontPort};
      gzip on;
      gzip_types application/json application/x-ndjson text/plain;
      location / {
        proxy_pass http://127.0.0.1:${stack.port};
        proxy_http_version 1.1;
        proxy_set_header Host localhost;
        proxy_set_header Accept-Encoding $http_accept_encoding;
      }
    }` }).start()
})
after(() => s?.stop())

const code = 'stdout a\nsleep 150\nstdout b\nsleep 150\nstdout c\nsleep 150\nresult 1'

// Each record in a piece of its own, as far apart as they were made.
function spread(parts) {
  const came = parts.filter((p) => /stdout|result/.test(p.text))
  assert.equal(came.length, 4, JSON.stringify(parts))
  for (let i = 1; i < came.length; i++) assert.ok(came[i].ms - came[i - 1].ms > 75, `${i}: together`)
}

test('HTTP/1.1 with gzip accepted', async () => {
  const x = await s.e2b('POST', '/execute', { code }, { headers: { 'Accept-Encoding': 'gzip, deflate' } })
  assert.equal(x.headers['content-encoding'], undefined)
  spread(x.parts)
})

test('HTTP/2 with gzip accepted', async () => {
  const session = http2.connect(`http://127.0.0.1:${h2Port}`)
  const body = JSON.stringify({ code })
  const stream = session.request({ ':method': 'POST', ':path': '/execute', ':authority': 'localhost',
    'content-type': 'application/json', 'x-access-token': s.token, 'accept-encoding': 'gzip' })
  const began = performance.now()
  const parts = []
  let headers
  stream.on('response', (h) => { headers = h })
  stream.on('data', (d) => parts.push({ ms: performance.now() - began, text: d.toString() }))
  stream.end(body)
  await new Promise((resolve, reject) => { stream.on('end', resolve); stream.on('error', reject) })
  session.close()
  assert.equal(headers[':status'], 200)
  assert.equal(headers['content-encoding'], undefined)
  spread(parts)
})

test('HTTP/2: a cancelled stream interrupts the kernel', async () => {
  const session = http2.connect(`http://127.0.0.1:${h2Port}`)
  const stream = session.request({ ':method': 'POST', ':path': '/execute', ':authority': 'localhost',
    'content-type': 'application/json', 'x-access-token': s.token })
  stream.end(JSON.stringify({ code: 'stdout a\nhang' }))
  let text = ''
  await new Promise((resolve) => stream.on('data', (d) => { text += d; if (text.includes('"a\\n"')) resolve() }))
  stream.close(http2.constants.NGHTTP2_CANCEL)
  await s.fake.wait({ kind: 'interrupt', effect: 'hit' }, 1, 5000)
  session.close()
})

test('a second nginx in front, gzip on for everything', async () => {
  const x = await request({ port: frontPort, method: 'POST', path: '/execute', body: { code },
    headers: { 'X-Access-Token': s.token, 'Accept-Encoding': 'identity' } })
  assert.equal(x.status, 200)
  spread(x.parts)
})

test('what is no stream is compressed for who wants it', async () => {
  const page = await s.get('/nb2/')
  const [asset] = page.text.match(/assets\/main\.[0-9a-f]+\.js/)
  const x = await s.get(`/nb2/${asset}`, { headers: { 'Accept-Encoding': 'gzip' } })
  assert.equal(x.headers['content-encoding'], 'gzip')
  assert.equal((await s.get(`/nb2/${asset}`)).headers['content-encoding'], undefined)
})

test('a slot that is not there is a 502 of the right shape', async () => {
  const socket = `${s.run}/s${String(slotOf('default')).padStart(2, '0')}.sock`
  fs.renameSync(socket, `${socket}.away`)
  try {
    const nb2 = await s.get('/nb2/health')
    assert.deepEqual([nb2.status, nb2.json.error], [502, 'bad_gateway'])
    const e2b = await s.e2b('POST', '/execute', { code: 'result 1' })
    assert.equal(e2b.status, 502)
    assert.match(e2b.headers['content-type'], /text\/plain/)
  } finally {
    fs.renameSync(`${socket}.away`, socket)
  }
  assert.equal(textOf(records((await s.e2b('POST', '/execute', { code: 'stdout back' })).text)), 'back\n')
})

test('a line that is too long, a path that leaves the root', async () => {
  const long = await s.get(`/nb2/health?x=${'y'.repeat(40000)}`)
  assert.equal(long.status, 414)
  assert.equal(long.json.error, 'bad_request')
  assert.equal((await s.get('/../../etc/passwd')).status, 400)
  assert.equal((await s.get('/nb2/assets/..%2f..%2findex.html')).status, 404)
})
