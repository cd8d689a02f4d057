// s_astray - every request goes to a slot that does not own it first: bodies, methods, streams and a
// client's leaving survive being sent on.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { slotOf } from './murmur.mjs'
import { Stack, freePort, records, textOf } from './stack.mjs'

const pad = (k) => String(k).padStart(2, '0')

// A front that guesses wrong each time, with the shipped limits and named locations: what a key
// that nginx sees otherwise than the worker meets.
const target = slotOf('default')
const wrong = (target + 1) % 16 // with 4 workers: another process
const misguided = (port) => `server { listen 127.0.0.1:${port};
  set $nb2_listener e2b; set $nb2_cors ""; include common.conf;
  location / { include fastcgi.conf; fastcgi_pass nb2_s${wrong}; } }`

let s
let astray
before(async () => {
  astray = await freePort()
  s = await new Stack({ workers: 4, nginx: () => misguided(astray) }).start()
})
after(() => s?.stop())

test('big and spooled bodies survive being sent on', async () => {
  for (const size of [10, 60_000, 70_000, 5_000_000]) {
    const fill = String.fromCharCode(97 + size % 7).repeat(size)
    const x = await s.e2b('POST', '/execute', { code: `stdout ${fill}` }, { port: astray })
    assert.equal(x.status, 200)
    assert.equal(textOf(records(x.text)), `${fill}\n`)
  }
  const asked = [...s.log('nginx-access.log').matchAll(/POST \/execute .* upstream=(.*)/g)].slice(-4)
  for (const [, upstream] of asked)
    assert.match(upstream, new RegExp(`/s${pad(wrong)}\\.sock : .*/s${pad(target)}\\.sock`))
})

test('a stream that was sent on comes line by line, and its client\'s leaving is heard', async () => {
  const x = s.e2bOpen('/execute', { code: 'stdout one\nwait gate\nstdout two\nhang' }, { port: astray })
  await x.has('one\\n')
  assert.ok(!x.text.includes('two'))
  s.fake.control({ open: 'gate' })
  await x.has('two\\n')
  await x.leave()
  await s.fake.wait({ kind: 'interrupt', effect: 'hit' }, 1, 5000)
})

test('other methods are sent on with theirs', async () => {
  const made = await s.e2b('POST', '/contexts', {}, { port: astray })
  assert.equal(made.status, 200)
  const list = async () => (await s.e2b('GET', '/contexts', undefined, { port: astray })).json.map((c) => c.id)
  assert.ok((await list()).includes(made.json.id))
  assert.equal((await s.e2b('POST', `/contexts/${made.json.id}/restart`, undefined, { port: astray })).text, 'null')
  assert.equal((await s.e2b('DELETE', `/contexts/${made.json.id}`, undefined, { port: astray })).text, 'null')
  assert.ok(!(await list()).includes(made.json.id))
})

test('a sid that only the body has is found there', async () => {
  const where = async (sid, query = '') => s.get(`/nb2/health${query}`, { method: 'GET', body: { sid },
    headers: { 'x-nb2-token': s.token } })
  for (const sid of Array.from({ length: 30 }, (_, i) => `sid:${i}.${'x'.repeat(i)}`)) {
    const x = await where(sid)
    assert.equal(x.status, 200, sid)
    assert.equal(x.json.worker.index, slotOf(sid) % 4, sid)
    assert.equal(x.json.slot, slotOf(sid), sid)
  }
  const both = await where('a', '?sid=b')
  assert.deepEqual([both.status, both.json.error], [400, 'bad_request'])
})
