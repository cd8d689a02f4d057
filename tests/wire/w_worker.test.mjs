// w_worker - processes: death, restart, the orderly stop, and peers that misbehave on a slot socket.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { Slot, begin, params, record, requestBytes } from './fcgi.mjs'
import { slotOf } from './murmur.mjs'
import { Stack, alive, only, records, until } from './stack.mjs'

let s
before(async () => {
  s = await new Stack({ workers: 2, settings: { halfRequestS: 1, keepaliveS: 1 } }).start()
})
after(() => s?.stop())

const socket = (k = slotOf('default')) => `${s.run}/s${String(k).padStart(2, '0')}.sock`
const good = async () => assert.equal((await s.get('/nb2/health')).status, 200)

test('malformed records close that connection and nothing else', async () => {
  for (const bytes of [
    Buffer.from('GET / HTTP/1.0\r\n\r\n'),
    Buffer.alloc(64, 0xff),
    Buffer.concat([begin(), record(4, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))], ),
    Buffer.concat([begin(), record(4, 1, Buffer.from([0x84, 0, 0, 0, 1])), record(4, 1)]),
    Buffer.concat([begin(), record(4, 1, params({ A: 'x'.repeat(60000) })), record(4, 1, params({ B: 'x'.repeat(60000) })),
      record(4, 1, params({ C: 'x'.repeat(60000) })), record(4, 1, params({ D: 'x'.repeat(60000) })), record(4, 1, params({ E: 'x'.repeat(60000) }))]),
    Buffer.concat([record(5, 1, Buffer.from('body first'))]),
    Buffer.concat([begin(1, 2)]),
    Buffer.concat([begin(1), begin(1)]),
  ]) {
    const slot = new Slot(socket()).send(bytes)
    slot.socket.end()
    await slot.closed
    await good()
  }
})

test('a request in bytes, one at a time', async () => {
  const slot = new Slot(socket())
  for (const byte of requestBytes()) slot.send(Buffer.from([byte]))
  await slot.closed
  assert.match(slot.stdout, /^Status: 200 OK\r\n[^]*"ok":true/)
})

test('a body shorter than it said is refused', async () => {
  const slot = new Slot(socket()).send(requestBytes({ REQUEST_METHOD: 'POST', DOCUMENT_URI: '/nb2/auth',
    CONTENT_LENGTH: '100', CONTENT_TYPE: 'application/json' }, '{"token": "x"}'))
  await slot.closed
  assert.match(slot.stdout, /^Status: 400 /)
})

test('a NUL in a parameter is refused', async () => {
  const slot = new Slot(socket()).send(requestBytes({ HTTP_X: 'a\0b' }))
  await slot.closed
  assert.match(slot.stdout, /^Status: 400 /)
})

test('half a request is waited for, not for ever', async () => {
  const slots = [new Slot(socket()), new Slot(socket()).send(begin()), new Slot(socket()).send(requestBytes().subarray(0, 40))]
  await Promise.all(slots.map((x) => x.closed))
  await good()
})

test('two requests on a kept connection; management records', async () => {
  const slot = new Slot(socket()).send(record(9, 0, params({ FCGI_MPXS_CONNS: '', FCGI_MAX_CONNS: '', X: '' })),
    record(77, 0, Buffer.from('what')), requestBytes({}, '', { flags: 1 }))
  await until(() => slot.stdout.includes('"ok":true'))
  assert.ok(slot.data.includes('FCGI_MPXS_CONNS0'))
  slot.send(requestBytes({}, '', { flags: 0 }))
  await slot.closed
  assert.equal(slot.stdout.split('Status: 200').length, 3)
})

test('a thousand silent peers cost nobody anything', async () => {
  const peers = Array.from({ length: 1000 }, () => new Slot(socket()).send(begin()))
  await good()
  for (const p of peers) p.socket.destroy()
})

test('a worker killed with SIGKILL is replaced at once, and its orphans are swept', async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'x' } }
  await s.execute('result 1', {}, o)
  for (const pid of s.workerPids()) process.kill(pid, 'SIGKILL')
  await until(() => s.workerPids().length === 2 && s.workerPids().every(alive), 5000, 'two workers')
  assert.equal(only(await s.execute('result 2', {}, o), 'result')[0].text, '2')
  await until(() => s.fake.state().sessions.length === 1, 5000, 'the sweep')
})

test('SIGTERM: streams end with a record, within 5 s, and nothing is left', async () => {
  const mine = await new Stack({ workers: 2 }).start()
  try {
    const running = mine.e2bOpen('/execute', { code: 'stdout a\nhang' })
    await running.has('"a\\n"')
    const pids = [mine.master.pid, ...mine.workerPids()]
    const began = Date.now()
    mine.master.process.kill('SIGTERM')
    await running.whole()
    await mine.master.exited
    assert.ok(Date.now() - began < 5000)
    const all = records(running.text)
    assert.equal(all.at(-1).type, 'end_of_execution')
    assert.deepEqual(only(all, 'error').map((e) => e.name), ['UnexpectedEndOfExecution'])
    for (const pid of pids) assert.ok(!alive(pid))
    assert.ok(!fs.existsSync(`${mine.run}/s00.sock`))
  } finally {
    await mine.stop()
  }
})

test('SIGTERM while a kernel starts, and while one waits: each gets a whole answer', async () => {
  const mine = await new Stack({ workers: 1, fake: { startMs: 1500 } }).start()
  try {
    const cold = mine.e2bOpen('/execute', { code: 'result 1' })
    const made = mine.e2bOpen('/contexts', {})
    await mine.fake.wait({ kind: 'rest', method: 'POST' }, 2, 5000)
    mine.master.process.kill('SIGTERM')
    const all = records((await cold.whole()).text)
    assert.equal(all.at(-1).type, 'end_of_execution')
    assert.equal((await made.whole()).status, 503)
    await mine.master.exited
  } finally {
    await mine.stop()
  }
})

test('a second master on the same state is refused', async () => {
  const { spawnSync } = await import('node:child_process')
  const { build } = await import('./stack.mjs')
  const x = spawnSync(`${build}/nb2-fcgi`, ['-c', `${s.state}/nb2.conf`], { encoding: 'utf8' })
  assert.equal(x.status, 1)
  assert.match(x.stderr, /another nb2-fcgi uses this state directory/)
  await good()
})

test('settings that are wrong are named with file and line', async () => {
  const { spawnSync } = await import('node:child_process')
  const { build } = await import('./stack.mjs')
  const check = (text) => {
    const file = `${s.state}/bad.conf`
    fs.writeFileSync(file, text)
    return spawnSync(`${build}/nb2-fcgi`, ['-c', file, '-t'], { encoding: 'utf8' })
  }
  assert.match(check('stateDir = /tmp/x\nworkrs = 2\n').stderr, /bad\.conf:2: there is no setting workrs/)
  assert.match(check('stateDir = /tmp/x\nworkers = many\n').stderr, /bad\.conf:2: workers must be a whole number/)
  assert.match(check('stateDir = /tmp/x\nworkers = 17\n').stderr, /workers must be 1 to 16/)
  assert.match(check('workers = 2\n').stderr, /stateDir is not set/)
  assert.match(check('stateDir /tmp\n').stderr, /bad\.conf:1: a setting is written key = value/)
})
