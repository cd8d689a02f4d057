// k_bridge - the bridge against a scripted Jupyter Server: every order, every loss, one end.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stack, only, records, textOf, until } from './stack.mjs'

let s
before(async () => {
  s = await new Stack({ workers: 1, settings: { keepaliveS: 1, kernelStartS: 3, reconnectS: 3,
    interruptGraceS: 1, maxMessageBytes: '1M', maxOutputBytes: '4M' } }).start()
})
after(() => s?.stop())
beforeEach(() => s.fake.control({ reset: true }))

const types = (all) => all.map((r) => r.type)
const errors = (all) => only(all, 'error').map((e) => e.name)
const run = (...lines) => s.execute(lines.join('\n'))

function whole(all) {
  assert.equal(all.at(-1).type, 'end_of_execution')
  assert.equal(only(all, 'end_of_execution').length, 1)
  assert.ok(only(all, 'error').length <= 1)
}

test('the request that is sent: the user\'s code as it is', async () => {
  await s.execute('stdout the one', { env_vars: { A: 'v' } })
  const sent = [...s.fake.log({ kind: 'message', msg_type: 'execute_request' })]
    .filter((e) => !e.silent && e.code.includes('the one'))
  assert.equal(sent.length, 1)
  assert.equal(sent[0].code, 'stdout the one')
  assert.equal(sent[0].stop_on_error, false)
  assert.equal(sent[0].allow_stdin, false)
  assert.equal(sent[0].store_history, true)
})

for (const [name, lines] of [
  ['reply before idle', ['reply-before-idle 200', 'result 3']],
  ['idle before reply', ['idle-before-reply 200', 'result 3']],
  ['no busy, no execute_input', ['lose busy execute_input', 'result 3']],
  ['a reply twice', ['duplicate-reply', 'result 3']],
  ['strangers and unknown types between', ['unknown-type', 'stray', 'result 3']],
  ['messages in seven-byte fragments with pings', ['fragment 7 ping', 'result 3']],
]) {
  test(`${name}: complete, one end`, async () => {
    const all = await run(...lines)
    whole(all)
    assert.deepEqual(errors(all), [])
    assert.equal(only(all, 'result')[0].text, '3')
    assert.equal(only(all, 'number_of_executions').length, 1)
  })
}

test('a lost idle is fenced, and said', async () => {
  const all = await run('stdout a', 'lose idle')
  whole(all)
  assert.equal(textOf(all), 'a\n')
  assert.match(textOf(all, 'stderr'), /output may be missing/)
  assert.deepEqual(errors(all), [])
})

test('lost fences are sent three times, then it ends', { timeout: 30000 }, async () => {
  s.fake.control({ lose: { fence: { idle: -1, reply: -1 } } })
  const all = await run('stdout a', 'lose idle')
  whole(all)
  assert.match(textOf(all, 'stderr'), /output may be missing/)
  s.fake.control({ lose: {} })
})

test('a lost reply: the fence overtakes it', async () => {
  const all = await run('stdout a', 'lose reply')
  whole(all)
  assert.deepEqual(errors(all), ['UnexpectedEndOfExecution'])
})

test('our socket is cut in mid-run: nothing lost, nothing twice', async () => {
  const all = await run('stdout a', 'drop-socket', 'stdout b', 'sleep 150', 'close-socket', 'stdout c', 'result 1')
  whole(all)
  // What had come and could not be read any more (a reset discards it) is said, never silent.
  if (textOf(all) !== 'a\nb\nc\n') assert.match(textOf(all, 'stderr'), /output may be missing/)
  assert.match(textOf(all), /b\nc\n$/)
  assert.deepEqual(errors(all), [])
})

test('cut again and again', async () => {
  const lines = []
  for (let i = 0; i < 20; i++) lines.push(`stdout ${i}`, 'drop-socket')
  const all = await run(...lines)
  whole(all)
  assert.equal(textOf(all), Array.from({ length: 20 }, (_, i) => `${i}\n`).join(''))
})

test('never two WebSockets to a kernel at a time', async () => {
  await run('drop-socket', 'stdout a')
  for (const k of Object.values(s.fake.state().kernels)) assert.ok(k.websockets.maxOpen <= 1)
})

test('the kernel dies at any message', async () => {
  for (const part of ['busy', 'execute_input', 'stream', 'execute_result', 'reply', 'idle']) {
    const all = await run('stdout a', 'result 1', `at ${part} die`)
    whole(all)
    assert.deepEqual(errors(all), ['ContextRestarting'], part)
    assert.equal(only(await run('result 2'), 'result')[0].text, '2')
  }
})

test('a kernel that is dead for good: said, and the next run has a new one', async () => {
  const all = await run('stdout a', 'dead')
  whole(all)
  assert.deepEqual(errors(all), ['KernelDied'])
  assert.equal(only(await run('result 2'), 'result')[0].text, '2')
})

test('a kernel that somebody else deleted is found out', { timeout: 20000 }, async () => {
  const running = s.e2bOpen('/execute', { code: 'stdout a\nhang' })
  await running.has('"a\\n"')
  s.fake.control({ do: 'forget' })
  const all = records((await running.whole()).text)
  whole(all)
  assert.deepEqual(errors(all), ['KernelDied'])
  assert.equal(only(await run('result 2'), 'result')[0].text, '2')
})

test('input that is asked for all the same is answered', async () => {
  const all = await run('input ? ', 'stdout went on')
  whole(all)
  assert.deepEqual(errors(all), ['StdinNotImplementedError'])
})

test('aborted', async () => {
  for (const status of ['abort', 'aborted']) {
    const all = await run(`abort ${status}`)
    whole(all)
    assert.deepEqual(errors(all), ['ExecutionAborted'])
  }
})

test('NaN is null, digits stay, lone surrogates stay escapes, bad UTF-8 is replaced', async () => {
  assert.deepEqual(only(await run('nan'), 'result')[0].json, { nan: null, inf: null, minus: null })
  const raw = await s.e2b('POST', '/execute', { code: 'huge-number' })
  assert.ok(raw.text.includes('123456789012345678901234567890'))
  const lone = await s.e2b('POST', '/execute', { code: 'lone-surrogate' })
  assert.ok(lone.text.includes('\\ud800'))
  assert.match(textOf(await run('invalid-utf8')), /\ufffd/)
})

test('a message above the limit ends that execution and nothing else', async () => {
  const all = await run('stdout a', 'big 2000000', 'stdout b')
  whole(all)
  assert.deepEqual(errors(all), ['MessageTooLarge'])
  assert.equal(only(await run('result 2'), 'result')[0].text, '2')
})

test('output above the limit: one notice, the run goes on to its end', async () => {
  const all = await run('flood 60 100000', 'result 5')
  whole(all)
  assert.equal(only(all, 'stderr').length, 1)
  assert.match(textOf(all, 'stderr'), /output limit of 4194304 bytes/)
  assert.ok(textOf(all).length <= 4194304)
  assert.deepEqual(errors(all), [])
})

test('a client leaves: the interrupt is asked for when the kernel has begun, and again', async () => {
  s.fake.control({ loseInterrupts: 2 })
  const x = s.e2bOpen('/execute', { code: 'stdout a\nhang' })
  await x.has('"a\\n"')
  await x.leave()
  assert.equal(only(await run('result 2'), 'result')[0].text, '2')
})

test('a kernel that ignores interrupts: who waits is told', { timeout: 30000 }, async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'deaf' } }
  const x = s.e2bOpen('/execute', { code: 'stdout a\nhang-hard' }, o)
  await x.has('"a\\n"')
  await x.leave()
  const all = await s.execute('result 2', {}, o)
  whole(all)
  assert.deepEqual(errors(all), ['InterruptIgnored'])
  const [{ id }] = (await s.e2b('GET', '/contexts', undefined, o)).json
  await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)
  assert.equal(only(await s.execute('result 3', {}, o), 'result')[0].text, '3')
})

test('a kernel that cannot start has its own status, and leaves nothing', async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'nostart' } }
  s.fake.control({ failStart: 1 })
  const a = await s.e2b('POST', '/execute', { code: 'result 1' }, o)
  assert.equal(a.status, 500)
  s.fake.control({ neverReady: 1 })
  const b = await s.e2b('POST', '/contexts', {}, o)
  assert.deepEqual([b.status, b.headers['content-type']], [500, 'text/plain; charset=utf-8'])
  assert.equal((await s.e2b('GET', '/contexts', undefined, o)).json.length, 1)
  assert.equal(only(await s.execute('result 1', {}, o), 'result')[0].text, '1')
})

test('a server that is out of sockets is tried again', async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'sockets' } }
  s.fake.control({ closeAfterOpen: 3, refuseHandshakes: 1 })
  assert.equal(only(await s.execute('result 1', {}, o), 'result')[0].text, '1')
})

test('output after a restart is complete: nothing is sent before the probe', async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'probe' } }
  s.fake.control({ restartGapMs: 400 })
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  for (let i = 0; i < 3; i++) {
    await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)
    const all = await s.execute('stdout a\nresult 1', { context_id: id }, o)
    assert.deepEqual(types(all), ['number_of_executions', 'stdout', 'result', 'end_of_execution'])
  }
})

test('late messages that write nothing, and a run that asks for late output', async () => {
  for (const type of ['update_display_data', 'clear_output', 'status', 'comm_msg']) {
    const all = await run('result 1', `late 30 x`)
    whole(all)
    const id = [...s.fake.log({ kind: 'message', msg_type: 'execute_request' })].filter((e) => !e.silent).at(-1).msg_id
    await run(`raw ${JSON.stringify({ msg_type: type, content: {}, parent_header: { msg_id: id } })}`)
    const next = await s.execute('result 2', { late_output: true })
    whole(next)
    assert.equal(only(next, 'result')[0].text, '2')
  }
})

test('the message that it began is lost, then the client leaves: interrupted all the same', async () => {
  const x = s.e2bOpen('/execute', { code: 'lose busy execute_input\nwait never' })
  await s.fake.wait({ kind: 'waiting' }, 1, 5000)
  await x.leave()
  const all = await s.execute('result 2', {}, { ms: 15000 })
  assert.equal(only(all, 'result')[0].text, '2')
})

test('a server that takes everything and answers nothing: it ends', { timeout: 60000 }, async () => {
  const mute = await new Stack({ workers: 1, settings: { reconnectS: 2, keepaliveS: 1 } }).start()
  try {
    const x = mute.e2bOpen('/execute', { code: 'stdout a\nhang' })
    await x.has('"a\\n"')
    mute.fake.control({ mute: true })
    const all = records((await x.whole()).text)
    whole(all)
    assert.deepEqual(errors(all), ['UnexpectedEndOfExecution'])
    mute.fake.control({ mute: false })
    assert.equal(only(await mute.execute('result 1'), 'result')[0].text, '1')
  } finally {
    await mute.stop()
  }
})

test('deaf on control, reconnected, then deleted by somebody else: it ends', { timeout: 60000 }, async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'deafgone' } }
  const x = s.e2bOpen('/execute', { code: 'stdout a\nhang-hard' }, o)
  await x.has('"a\\n"')
  s.fake.control({ deafControl: -1 })
  s.fake.control({ do: 'drop-socket' })
  await s.fake.wait({ kind: 'open' }, 1, 5000)
  s.fake.control({ do: 'forget' })
  const all = records((await x.whole()).text)
  whole(all)
  assert.deepEqual(errors(all), ['KernelDied'])
})

test('the server stays away for a while after the reply: the rest is waited for, and whole', { timeout: 60000 }, async () => {
  const far = await new Stack({ workers: 1, settings: { reconnectS: 20, keepaliveS: 1 }, fake: { iopubDelayMs: 0 } }).start()
  try {
    await far.execute('result 0')
    far.fake.control({ iopubDelayMs: 2500 })
    const x = far.e2bOpen('/execute', { code: 'stdout a\nstdout b\nresult 1' })
    await x.head()
    await far.fake.wait({ kind: 'message', msg_type: 'execute_request', silent: false }, 2, 5000)
    far.fake.control({ refuseHandshakes: 30 })
    far.fake.control({ do: 'drop-socket' })
    const all = records((await x.whole()).text)
    whole(all)
    assert.equal(textOf(all), 'a\nb\n')
    assert.equal(only(all, 'result')[0].text, '1')
  } finally {
    await far.stop()
  }
})

test('a set-up that takes long costs no notice', { timeout: 40000 }, async () => {
  s.fake.control({ silentMs: 11500 })
  const all = await s.execute('result 1', { env_vars: { A: '1' } }, { headers: { 'E2b-Sandbox-Id': 'default' } })
  s.fake.control({ silentMs: 0 })
  whole(all)
  assert.equal(textOf(all, 'stderr'), '')
})

test('a creation that timed out leaves no kernel behind', { timeout: 60000 }, async () => {
  const slow = await new Stack({ workers: 1, settings: { kernelStartS: 1 } }).start()
  try {
    await slow.e2b('GET', '/contexts') // the kernelspecs are known: the next call makes the session
    slow.fake.control({ stallMs: 7500 })
    const made = await slow.e2b('POST', '/contexts', {})
    assert.equal(made.status, 500)
    await until(() => slow.fake.log({ kind: 'rest', method: 'DELETE' }).length > 0 &&
      slow.fake.state().sessions.length === 0, 20000, 'the end of the session that came late')
  } finally {
    await slow.stop()
  }
})

test('tiny outputs count as the records they make', async () => {
  const lines = []
  for (let i = 0; i < 60000; i++) lines.push(i % 2 ? 'stderr "x"' : 'stdout "x"')
  const answer = await s.e2b('POST', '/execute', { code: lines.join('\n') })
  assert.ok(answer.body.length < 4194304 + 8192, `${answer.body.length}`)
  assert.match(answer.text, /output limit of 4194304 bytes/)
})

test('legacy framing', async () => {
  const legacy = await new Stack({ workers: 1, fake: { legacyOnly: true } }).start()
  try {
    const all = await legacy.execute('stdout \u4e2d\nresult 2', { env_vars: { A: '1' } })
    assert.deepEqual(types(all), ['number_of_executions', 'stdout', 'result', 'end_of_execution'])
    const big = await legacy.execute('stdout a\nbig 70000000\nstdout b')
    whole(big)
    assert.deepEqual(errors(big), ['MessageTooLarge'])
  } finally {
    await legacy.stop()
  }
})

test('the server is gone: running ends, new ones are told, it comes back by itself', { timeout: 40000 }, async () => {
  const gone = await new Stack({ workers: 1, settings: { reconnectS: 1, keepaliveS: 1 } }).start()
  try {
    const x = gone.e2bOpen('/execute', { code: 'stdout a\nhang' })
    await x.has('"a\\n"')
    await gone.fake.close()
    const all = records((await x.whole()).text)
    whole(all)
    assert.deepEqual(errors(all), ['UnexpectedEndOfExecution'])
    const now = await gone.execute('result 1')
    assert.deepEqual(errors(now), ['WebSocketError'])
    const made = await gone.e2b('POST', '/contexts', {})
    assert.equal(made.status, 500)
    await gone.startJupyter()
    assert.equal(only(await gone.execute('result 1'), 'result')[0].text, '1')
  } finally {
    await gone.stop()
  }
})
