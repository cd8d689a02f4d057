// s_slots - where a request ends up: nginx guesses, the worker decides, nothing loops.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask } from './fcgi.mjs'
import { slotOf } from './murmur.mjs'
import { request } from './http.mjs'
import { Stack, freePort, only, records, textOf } from './stack.mjs'

let s
before(async () => { s = await new Stack({ workers: 4 }).start() })
after(() => s?.stop())

const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-'

// A seeded generator: the same keys each time.
function keys(n) {
  let seed = 7
  const next = (m) => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return (seed >>> 8) % m }
  return Array.from({ length: n }, () =>
    Array.from({ length: 1 + next(40) }, () => alphabet[next(alphabet.length)]).join(''))
}

test('300 keys, as they are and percent-encoded, end where C says', async () => {
  let redirected = 0
  for (const [i, key] of ['', ...keys(300)].entries()) {
    const encoded = i % 3 === 0 ? encodeURIComponent(key)
      : i % 3 === 1 ? key : [...key].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')
    const x = await s.get(`/nb2/health?sid=${encoded}&token=${s.token}`)
    assert.equal(x.status, 200, key)
    assert.equal(x.json.slot, slotOf(key || 'default'), key)
    assert.equal(x.json.worker.index, slotOf(key || 'default') % 4, key)
    redirected += encoded !== key
  }
  assert.ok(redirected > 100)
  assert.equal((await s.get(`/nb2/health?token=${s.token}`)).json.slot, slotOf('default'))
})

test('a sid that is none is refused by name', async () => {
  for (const sid of ['a%20b', 'a/b', 'x'.repeat(129), '%00', '\u00e9'].map((k) => k.includes('%') ? k : encodeURIComponent(k))) {
    const x = await s.get(`/nb2/health?sid=${sid}&token=${s.token}`)
    assert.equal(x.status, 400, sid)
    if (x.headers['content-type'].includes('json')) assert.equal(x.json.error, 'bad_request')
  }
})

test('on the wrong socket: sent on once, never in a loop', async () => {
  const sid = 'somebody'
  const wrong = (slotOf(sid) + 1) % 16
  const fields = { QUERY_STRING: `sid=${sid}` }
  const socket = `${s.run}/s${String(wrong).padStart(2, '0')}.sock`
  assert.equal(await ask(socket, fields), `Status: 200 OK\r\nX-Accel-Redirect: @nb2_s${slotOf(sid)}\r\n\r\n`)
  assert.match(await ask(socket, { ...fields, NB2_ROUTED: '1' }), /^Status: 500 /)
})

test('big and spooled bodies and streams survive being sent on', async () => {
  // A listener that always guesses wrong, so that every request is sent on.
  const target = slotOf('default')
  const port = await freePort()
  const wrong = await new Stack({ workers: 4, nginx: (stack) => `server {
    listen 127.0.0.1:${port};
    set $nb2_listener e2b;
    set $nb2_cors "";
    include "${stack.state}/nginx/common.conf";
    location / {
      set $nb2_key x;
      include "${stack.state}/nginx/fastcgi.conf";
      fastcgi_pass nb2_s${(target + 1) % 16};
    }
  }` }).start()
  try {
    for (const size of [10, 100000, 5000000]) {
      const x = await request({ port, method: 'POST', path: '/execute', body: { code: `stdout ${'x'.repeat(size)}` } })
      assert.equal(x.status, 200)
      assert.equal(textOf(records(x.text)).length, size + 1)
    }
    const x = await request({ port, method: 'POST', path: '/execute',
      body: { code: 'stdout a\nsleep 200\nstdout b\nsleep 200\nstdout c' } })
    assert.equal(x.parts.filter((p) => p.text.includes('stdout')).length, 3, 'it streams')
    assert.match(wrong.log('nb2.log'), /POST \/execute 200 77 bytes/)
  } finally {
    await wrong.stop()
  }
})

test('changing the number of workers moves no key', async () => {
  const sample = keys(40)
  const where = async (stack) => {
    const out = []
    for (const key of sample)
      out.push((await stack.get(`/nb2/health?sid=${encodeURIComponent(key)}&token=${stack.token}`)).json.slot)
    return out
  }
  const before = await where(s)
  const other = await new Stack({ workers: 3 }).start()
  try {
    assert.deepEqual(await where(other), before)
  } finally {
    await other.stop()
  }
})

test('sandboxes spread over the workers', async () => {
  const seen = new Set()
  for (let i = 0; i < 12; i++) {
    const [r] = only(await s.execute('result 1', {}, { headers: { 'E2b-Sandbox-Id': `sb${i}` } }), 'result')
    assert.equal(r.text, '1')
    seen.add(slotOf(`sb${i}`) % 4)
  }
  assert.equal(seen.size, 4)
})
