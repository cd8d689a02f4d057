// n_ways - real Python over each way in: HTTP/1.1, HTTP/2 in the clear and with TLS, a stock nginx in
// front. A line is here within 100 ms of its print; a client that leaves is noticed at once.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import http2 from 'node:http2'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { arrivals, open, request } from './http.mjs'
import { Child, Stack, freePort, only, until } from './stack.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb2n-'))
const gzip = { 'accept-encoding': 'gzip' }
let s
let h2c // a port of ours with HTTP/2 in the clear
let tls // one with TLS and HTTP/2, as site.conf has it
let front // another nginx, as people put one before everything
let frontNginx

before(async () => {
  h2c = await freePort()
  tls = await freePort()
  front = await freePort()
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`, '-subj', '/CN=localhost', '-addext',
    'subjectAltName=DNS:localhost'], { stdio: 'ignore' })
  s = await new Stack({ jupyter: 'real', nginx: () => `
    server { listen 127.0.0.1:${h2c} http2; include main.conf; }
    server { listen 127.0.0.1:${tls} ssl http2; ssl_certificate ${dir}/cert.pem;
      ssl_certificate_key ${dir}/key.pem; include main.conf; }` }).start()
  frontNginx = await startFront()
  await until(() => request({ port: front, path: '/nb2/health' }).then((x) => x.status === 200, () => false),
    10000, 'the nginx in front')
})
after(async () => {
  await frontNginx?.stop()
  await s?.stop()
  fs.rmSync(dir, { recursive: true, force: true })
})

// What a stock nginx does: HTTP/1.0 to us, buffering and gzip on.
async function startFront() {
  fs.mkdirSync(`${dir}/tmp`)
  fs.writeFileSync(`${dir}/front.conf`, `${process.getuid() === 0 ? 'user root;' : ''}
    daemon off; pid ${dir}/front.pid; error_log ${dir}/front.log; events {}
    http { access_log off; gzip on; gzip_proxied any; gzip_types application/json;
      client_body_temp_path ${dir}/tmp/a; proxy_temp_path ${dir}/tmp/b; fastcgi_temp_path ${dir}/tmp/c;
      uwsgi_temp_path ${dir}/tmp/d; scgi_temp_path ${dir}/tmp/e;
      server { listen 127.0.0.1:${front}; location / {
        proxy_pass http://127.0.0.1:${s.port}; proxy_set_header Host $http_host; } } }`)
  return new Child('front', `${dir}/front.out`, '/usr/sbin/nginx', ['-p', dir, '-c', `${dir}/front.conf`])
}

// One request over HTTP/2: {status, headers, parts, text}, and the stream itself while it runs.
function h2(url, { method = 'GET', where, body, headers = {} }) {
  const session = http2.connect(url, { ca: fs.readFileSync(`${dir}/cert.pem`) })
  const stream = session.request({ ':method': method, ':path': where, 'x-nb2-token': s.token,
    'content-type': 'application/json', ...headers })
  const x = { stream, parts: [], text: '', ended: false }
  x.done = new Promise((resolve, reject) => {
    stream.on('response', (all) => { x.status = all[':status']; x.headers = all })
    stream.on('data', (data) => {
      x.text += data.toString('latin1')
      x.parts.push({ text: data.toString('latin1'), wall: performance.timeOrigin + performance.now() })
    })
    stream.on('error', reject)
    session.on('error', reject)
    stream.on('close', () => { session.close(); resolve(x) })
  })
  x.done.catch(() => {})
  stream.end(body && JSON.stringify(body))
  return x
}

const over1 = (port) => async (body) => request({ port, method: 'POST', path: '/execute', body,
  headers: { 'x-nb2-token': s.token, ...gzip } })
const over2 = (url) => async (body) => h2(url, { method: 'POST', where: '/execute', body, headers: gzip }).done

const ways = () => [
  ['HTTP/1.1', over1(s.port)],
  ['HTTP/2', over2(`http://localhost:${h2c}`)],
  ['HTTP/2 over TLS', over2(`https://localhost:${tls}`)],
  ['a second nginx in front', over1(front)],
]

test('each line is here within 100 ms of its print, on every way', async () => {
  // One write a line: print makes two, and ipykernel's own timer may send between them.
  const code = 'import sys, time\nfor i in range(6):\n  sys.stdout.write(f"{time.time() * 1000}\\n"); sys.stdout.flush(); time.sleep(0.3)'
  for (const [name, execute] of ways()) {
    let late
    // A busy machine may hold a line up, once; buffering holds them up each time.
    for (let attempt = 0; attempt < 3 && !(late < 100); attempt++) {
      const x = await execute({ code })
      assert.equal(x.status, 200, name)
      assert.equal(x.headers['content-encoding'], undefined, name)
      const printed = only(arrivals(x.parts), 'stdout')
      assert.equal(printed.length, 6, name)
      late = Math.max(...printed.map((r) => r.wall - Number(r.text)))
    }
    assert.ok(late < 100, `${name}: ${late} ms`)
  }
})

test('the head comes before the first line', async () => {
  for (const port of [s.port, front]) {
    const x = open({ port, method: 'POST', path: '/execute', headers: { 'x-nb2-token': s.token },
      body: { code: 'import time; time.sleep(0.7); print("late")' } })
    await x.head()
    await x.has('late')
    const line = x.parts.find((p) => p.text.includes('late'))
    assert.ok(line.ms - x.headMs > 400, `${port}: ${x.headMs}, then ${line.ms}`)
    await x.whole()
  }
})

test('gzip is on: a long JSON answer is compressed, a stream is not', async () => {
  const headers = { 'E2b-Sandbox-Id': 'gzip', 'x-nb2-token': s.token }
  const long = [`${s.state}/workspace`, ...[...'defgh'].map((c) => c.repeat(200))].join('/')
  fs.mkdirSync(long, { recursive: true })
  await s.get('/contexts', { method: 'POST', body: { cwd: long }, headers })
  const plain = await s.get('/contexts', { headers })
  const small = await s.get('/contexts', { headers: { ...headers, ...gzip } })
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(small.headers['content-encoding'], 'gzip')
  assert.ok(small.body.length < plain.body.length)
  const stream = await over1(s.port)({ code: 'print("x" * 100000)' })
  assert.equal(stream.headers['content-encoding'], undefined)
  assert.equal(stream.headers['x-accel-buffering'], 'no')
})

test('a client that leaves is noticed at once, on every way', async () => {
  const leave = {
    'HTTP/1.1': async (body) => left1(s.port, body),
    'HTTP/2': async (body) => left2(`http://localhost:${h2c}`, body),
    'HTTP/2 over TLS': async (body) => left2(`https://localhost:${tls}`, body),
    'a second nginx in front': async (body) => left1(front, body),
  }
  for (const [i, [name, go]] of Object.entries(leave).entries()) {
    const mark = `${dir}/mark${i}`
    const began = await go({ code: `import time\ntry:\n  print("in", flush=True); time.sleep(60)
except KeyboardInterrupt:\n  open(${JSON.stringify(mark)}, "w").close(); raise` })
    await until(() => fs.existsSync(mark), 3000, `the KeyboardInterrupt over ${name}`)
    assert.ok(performance.now() - began < 2000, `${name}: ${performance.now() - began} ms`)
  }
})

async function left1(port, body) {
  const x = open({ port, method: 'POST', path: '/execute', body, headers: { 'x-nb2-token': s.token } })
  await x.has('in\\n')
  await x.leave()
  return performance.now()
}

async function left2(url, body) {
  const x = h2(url, { method: 'POST', where: '/execute', body })
  await until(() => x.text.includes('in\\n'))
  x.stream.close(http2.constants.NGHTTP2_CANCEL)
  await x.done.catch(() => {})
  return performance.now()
}

test('the cookie is Secure where there is TLS', async () => {
  const x = await h2(`https://localhost:${tls}`, { method: 'POST', where: '/nb2/auth', body: { token: s.token },
    headers: { origin: `https://localhost:${tls}`, 'sec-fetch-site': 'same-origin' } }).done
  assert.equal(x.status, 200)
  assert.deepEqual(x.headers['set-cookie'],
    [`nb2_${tls}=${s.token}; Path=/nb2/; HttpOnly; SameSite=Strict; Secure`])
})

test('the worker hears the client\'s own Host, scheme and port behind TLS', async () => {
  const foreign = await h2(`https://localhost:${tls}`, { where: '/contexts', headers: { ':authority': 'evil.example' } }).done
  assert.equal(foreign.status, 403)
  const http = await h2(`https://localhost:${tls}`, { method: 'POST', where: '/nb2/auth', body: { token: s.token },
    headers: { origin: `http://localhost:${tls}` } }).done
  assert.equal(http.status, 403, 'another scheme is another origin')
})
