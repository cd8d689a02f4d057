// k_faults - more that a real Jupyter Server does rarely or never on demand: half a frame, deaths
// without a word, stalls, replies that are the only sign of an error, REST that fails.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { arrivals } from './http.mjs'
import { Stack, only, records, textOf, until } from './stack.mjs'

let s
before(async () => {
  s = await new Stack({ workers: 1, settings: { keepaliveS: 1, kernelStartS: 3, reconnectS: 3, interruptGraceS: 1 } }).start()
})
after(() => s?.stop())
beforeEach(() => s.fake.control({ reset: true }))

let box = 0
const fresh = () => ({ headers: { 'E2b-Sandbox-Id': `k${++box}` } })
const run = (lines, more = {}, options = {}) => s.execute(lines.join('\n'), more, options)
const errors = (all) => only(all, 'error').map((e) => e.name)
const raw = (message) => `raw ${JSON.stringify(message)}`

function whole(all) {
  assert.equal(all.at(-1).type, 'end_of_execution')
  assert.equal(only(all, 'end_of_execution').length, 1)
  assert.ok(only(all, 'error').length <= 1)
}

test('half a frame, then nothing: that message may be lost, what follows is not, one end', async () => {
  const all = await run(['stdout a', 'half-frame', 'stdout b', 'stdout c'])
  whole(all)
  assert.deepEqual(errors(all), [])
  assert.ok(textOf(all).startsWith('a\n') && textOf(all).endsWith('c\n'), textOf(all))
})

for (const part of ['busy', 'execute_input', 'stream', 'reply', 'idle']) {
  test(`the socket is cut before ${part}, and half a frame of it: one end, the next run works`, async () => {
    for (const action of ['drop-socket', 'half-frame', 'close-socket']) {
      const all = await run(['stdout a', 'result 1', `at ${part} ${action}`])
      whole(all)
      assert.deepEqual(errors(all).filter((e) => e !== 'UnexpectedEndOfExecution'), [], action)
      assert.equal(only(await run(['result 2']), 'result')[0].text, '2', action)
    }
  })
}

test('a kernel that died without a sign: a restart ends its run and brings it back', { timeout: 60000 }, async () => {
  const o = fresh()
  const x = s.e2bOpen('/execute', { code: 'stdout a\ndie-silent' }, o)
  await x.has('a\\n')
  const [{ id }] = (await s.e2b('GET', '/contexts', undefined, o)).json
  assert.equal((await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)).text, 'null')
  const all = records((await x.whole()).text)
  whole(all)
  assert.deepEqual(errors(all), ['ContextRestarted'])
  assert.equal(only(await run(['result 2'], {}, o), 'result')[0].text, '2')
})

test('an error that only the reply tells is told; one that both tell is told once', async () => {
  const reply = await run(['lose error', 'error MyError it broke'])
  whole(reply)
  assert.deepEqual(only(reply, 'error').map((e) => [e.name, e.value]), [['MyError', 'it broke']])
  const both = await run(['error MyError it broke'])
  whole(both)
  assert.deepEqual(only(both, 'error').map((e) => [e.name, e.value]), [['MyError', 'it broke']])
})

test('a traceback is joined without a separator', async () => {
  const all = await run([raw({ msg_type: 'error', content: { ename: 'E', evalue: 'v', traceback: ['one', 'two\n', '\u4e2d'] } }),
    'reply {"status": "error", "ename": "E", "evalue": "v", "traceback": []}'])
  whole(all)
  assert.deepEqual(only(all, 'error'), [{ type: 'error', name: 'E', value: 'v', traceback: 'onetwo\n\u4e2d' }])
})

test('what a kernel leaves out of an error is an empty string', async () => {
  const all = await run(['reply {"status": "error", "evalue": "1"}'])
  whole(all)
  assert.deepEqual(only(all, 'error'), [{ type: 'error', name: '', value: '1', traceback: '' }])
})

test('a header whose date is odd does not spoil a record', async () => {
  for (const date of ['2026-11-30T21:20:45.910195Z', '2026-11-30T21:20:45+00:00', '2026-11-30T22:20:45.5+01:00', 'yesterday', 5, null]) {
    const all = await run([raw({ msg_type: 'stream', content: { name: 'stdout', text: 'x' }, header: { date } })])
    whole(all)
    const [r] = only(all, 'stdout')
    assert.match(r.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00$/, JSON.stringify(date))
  }
})

test('content that is not what its type promises is dropped or shown, never the end of anything', async () => {
  for (const content of [{}, { name: 'stdout' }, { name: 5, text: 'x' }, { name: 'stdlog', text: 'x' }, { name: 'stdout', text: ['x'] },
    { data: [] }, { data: null }, { data: {} }, []]) {
    for (const msg_type of ['stream', 'display_data', 'execute_result', 'error', 'status', 'clear_output', 'execute_input']) {
      const all = await run([raw({ msg_type, content }), 'stdout after'])
      whole(all)
      assert.ok(textOf(all).endsWith('after\n'), `${msg_type} ${JSON.stringify(content)}`)
    }
  }
})

test('keep-alives while the kernel is silent, and while an execution waits its turn', async () => {
  const o = fresh()
  const first = s.e2bOpen('/execute', { code: 'stdout a\nwait one' }, o)
  await first.has('a\\n')
  const second = s.e2bOpen('/execute', { code: 'stdout b' }, o)
  await first.has('{"type": "keepalive"}')
  await second.has('{"type": "keepalive"}')
  assert.ok(!second.text.includes('number_of_executions'))
  s.fake.control({ open: 'one' })
  const all = arrivals((await second.whole()).parts)
  assert.equal(all[0].type, 'keepalive')
  assert.equal(textOf(all), 'b\n')
  await first.whole()
})

test('a server that stalls: nothing lost, and the stream goes on by itself', { timeout: 30000 }, async () => {
  const x = s.e2bOpen('/execute', { code: 'stdout a\nsleep 100\nstdout b\nresult 1' })
  await x.has('a\\n')
  s.fake.control({ stallMs: 1500 })
  const all = records((await x.whole()).text)
  whole(all)
  assert.deepEqual([textOf(all), errors(all)], ['a\nb\n', []])
})

test('an interrupt that is lost is asked for again; a client that left is never waited for long', async () => {
  const o = fresh()
  s.fake.control({ loseInterrupts: 1 })
  const x = s.e2bOpen('/execute', { code: 'stdout a\nhang' }, o)
  await x.has('a\\n')
  await x.leave('rst')
  const began = performance.now()
  assert.equal(only(await run(['result 2'], {}, o), 'result')[0].text, '2')
  assert.ok(performance.now() - began < 3000)
  await s.fake.wait({ kind: 'interrupt', effect: 'hit' }, 1, 1000)
})

test('an interrupt never hits the next execution', async () => {
  const o = fresh()
  for (let i = 0; i < 20; i++) {
    const x = s.e2bOpen('/execute', { code: 'stdout a\nsleep 10' }, o)
    await x.has('a\\n')
    await x.leave(i % 2 ? 'rst' : 'fin')
    const all = await run(['sleep 15', `result ${i}`], {}, o)
    assert.deepEqual([errors(all), only(all, 'result').map((r) => r.text)], [[], [String(i)]])
  }
})

test('an interrupt in the set-up of the environment: the code never runs, the next does', async () => {
  const o = fresh()
  await run(['result 1'], {}, o)
  s.fake.control({ silentMs: 400 })
  const x = s.e2bOpen('/execute', { code: 'stdout never', env_vars: { A: '1' } }, o)
  await until(() => s.fake.log({ kind: 'message', msg_type: 'execute_request' }).some((e) => e.silent && e.code.includes('A')))
  await x.leave()
  assert.equal(only(await run(['result 2'], {}, o), 'result')[0].text, '2')
  assert.ok(!s.fake.log({ kind: 'message', msg_type: 'execute_request' }).some((e) => e.code.includes('never')))
})

test('a restart that Jupyter refuses: the reference\'s words, and the context can be used', async () => {
  const o = fresh()
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  s.fake.control({ failRestart: 1 })
  const x = await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)
  assert.deepEqual([x.status, x.headers['content-type'], x.text],
    [500, 'text/plain; charset=utf-8', 'Failed to restart context ID'])
  assert.equal(only(await run(['result 1'], { context_id: id }, o), 'result')[0].text, '1')
})

test('a deletion that Jupyter refuses is refused, or made good: no kernel is left behind unseen', async () => {
  const o = fresh()
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  const ours = () => s.fake.state().sessions.filter((x) => x.path.includes(id)).length
  assert.equal(ours(), 1)
  s.fake.control({ failDelete: 1 })
  const x = await s.e2b('DELETE', `/contexts/${id}`, undefined, o)
  const listed = (await s.e2b('GET', '/contexts', undefined, o)).json.some((c) => c.id === id)
  if (x.status === 200) {
    assert.ok(!listed)
    await until(() => ours() === 0, 8000, 'the session\'s end')
  } else {
    assert.deepEqual([x.status, x.text], [500, 'Failed to remove context ID'])
    assert.ok(listed)
  }
})

test('a kernel that never gets ready: 500 in plain text within kernelStartS, no session left', { timeout: 30000 }, async () => {
  const o = fresh()
  const before = s.fake.state().sessions.length
  s.fake.control({ neverReady: 1 })
  const began = performance.now()
  const x = await s.e2b('POST', '/execute', { code: 'result 1' }, o)
  assert.deepEqual([x.status, x.headers['content-type']], [500, 'text/plain; charset=utf-8'])
  assert.ok(performance.now() - began < 8000)
  await until(() => s.fake.state().sessions.length === before, 5000, 'the session\'s end')
})
