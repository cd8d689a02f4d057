// faults.test.mjs - every fault the fake can be asked for happens, and happens where it was asked for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Channels, label, rest } from './client.mjs'
import { withKernel } from './testkit.mjs'
import { OP, encodeFrame } from './ws.mjs'

// Run code, wait for what until() says, and hand back the labels of its messages.
async function run(t, code, until, options) {
  const id = t.channels.execute(code, options)
  await t.channels.until((c) => until(c, id))
  return t.channels.labels(id)
}

const over = (c, id) => c.reply(id) && c.labels(id).includes('idle')
const START = ['busy', 'execute_input']

test('lose: each part', () => withKernel({}, async (t) => {
  assert.deepEqual(await run(t, 'lose execute_input busy\nresult 1', over),
    ['execute_result', 'execute_reply', 'idle'])
  assert.deepEqual(await run(t, 'lose idle', (c, id) => c.reply(id)), [...START, 'execute_reply'])
  assert.deepEqual(await run(t, 'lose reply', (c, id) => c.labels(id).includes('idle')),
    [...START, 'idle'])
  assert.deepEqual(await run(t, 'lose execute_result\nresult 1', over),
    [...START, 'execute_reply', 'idle'])
}))

test('lose, as a mode: the next N of a class', () => withKernel({}, async (t) => {
  t.fake.control({ lose: { user: { idle: 1 }, fence: { idle: 1 }, silent: { reply: 1 } } })
  const silent = await run(t, 'x = 1', (c, id) => c.labels(id).includes('idle'), { silent: true })
  assert.deepEqual(silent, ['busy', 'idle'])
  assert.deepEqual(await run(t, '1', (c, id) => c.reply(id)), [...START, 'execute_reply'])
  const fence = t.channels.send('shell', 'kernel_info_request', {})
  await t.channels.until((c) => c.reply(fence))
  assert.ok(!t.channels.labels(fence).includes('idle'))
  const again = t.channels.send('shell', 'kernel_info_request', {})
  await t.channels.done(again)
  assert.deepEqual(await run(t, '1', over), [...START, 'execute_reply', 'idle'])
}))

test('either order, and twice', () => withKernel({}, async (t) => {
  assert.deepEqual(await run(t, 'reply-before-idle 10', over), [...START, 'execute_reply', 'idle'])
  assert.deepEqual(await run(t, 'idle-before-reply 10', over), [...START, 'idle', 'execute_reply'])
  assert.deepEqual(await run(t, 'duplicate-reply', over),
    [...START, 'execute_reply', 'execute_reply', 'idle'])
}))

test('a held reply, a held iopub: each keeps its own order', () => withKernel({}, async (t) => {
  t.fake.control({ iopubDelayMs: 50 })
  assert.deepEqual(await run(t, 'stdout a', over), ['execute_reply', ...START, 'stdout:a\n', 'idle'])
  t.fake.control({ iopubDelayMs: 0, replyDelayMs: 50 })
  assert.deepEqual(await run(t, 'stdout a', over), [...START, 'stdout:a\n', 'idle', 'execute_reply'])
}))

test('late output', () => withKernel({}, async (t) => {
  const labels = await run(t, 'late 10 afterwards', (c, id) => c.labels(id).length === 5)
  assert.deepEqual(labels, [...START, 'execute_reply', 'idle', 'stdout:afterwards\n'])
}))

test('flood and big are complete', () => withKernel({}, async (t) => {
  const id = t.channels.execute('flood 2500 100\nbig 3000000')
  await t.channels.done(id)
  const texts = t.channels.of(id).filter((m) => m.header.msg_type === 'stream')
    .map((m) => m.content.text)
  assert.equal(texts.length, 2501)
  assert.ok(texts.slice(0, 2500).every((text, i) => text.startsWith(`${i} `) && text.length === 100))
  assert.equal(texts[2500].length, 3000000)
}))

test('odd content goes out as it is', () => withKernel({}, async (t) => {
  const id = t.channels.execute(['nan', 'huge-number', 'lone-surrogate', 'invalid-utf8',
    'unknown-type', 'raw {"msg_type":"clear_output","content":{"wait":true}}'].join('\n'))
  await t.channels.done(id)
  const raw = t.channels.of(id).map((m) => m.raw.content)
  assert.match(raw[2].toString(), /NaN.*-Infinity/)
  assert.match(raw[3].toString(), /123456789012345678901234567890/)
  assert.match(raw[4].toString(), /a\\ud800b/)
  assert.ok(raw[5].includes(Buffer.from([0xff, 0xc0, 0x80])))
  assert.equal(t.channels.labels(id)[6], 'message_of_the_future')
  assert.equal(t.channels.labels(id)[7], 'clear_output')
}))

test('stray messages have no parent of ours', () => withKernel({ strays: 0 }, async (t) => {
  await t.channels.probe()
  const before = t.channels.messages.length
  const id = t.channels.execute('stray')
  await t.channels.done(id)
  const strays = t.channels.messages.slice(before).filter((m) => m.parent_header.msg_id !== id)
  assert.deepEqual(strays.map(label),
    ['busy', 'stdout:stray\n', 'idle', 'busy', 'stdout:stray\n', 'idle', 'execute_reply'])
}))

test('fragments with a ping between, and dribbled bytes, arrive whole',
  () => withKernel({}, async (t) => {
    const labels = await run(t, 'fragment 7 ping\ndribble 3\nstdout pieces\nbig 1000', over)
    assert.ok(labels.includes('stdout:pieces\n'))
    assert.ok(labels.includes('stdout:' + 'x'.repeat(1000)))
    await t.fake.wait({ kind: 'pong', payload: 'between' })
  }))

test('a client may fragment too', () => withKernel({}, async (t) => {
  t.channels.ws.fragmentBytes = 10
  t.channels.ws.fragmentPing = true
  assert.deepEqual(await run(t, 'result 1', over),
    [...START, 'execute_result', 'execute_reply', 'idle'])
}))

for (const [code, clean] of [['drop-socket', false], ['close-socket', true],
  ['close-socket 1001', true], ['at reply drop-socket', false]]) {
  test(`${code}: gone, and the rest replayed`, () => withKernel({}, async (t) => {
    const id = t.channels.execute(`stdout a\n${code}\nresult 1`)
    await t.channels.until((c) => c.closed)
    assert.equal(t.channels.closed.clean, clean)
    if (code.endsWith('1001')) assert.equal(t.channels.closed.code, 1001)
    const first = t.channels.labels(id)
    const again = await t.open('s')
    await again.until(() => again.labels(id).includes('idle'))
    assert.deepEqual([...first, ...again.labels(id)],
      [...START, 'stdout:a\n', 'execute_result', 'execute_reply', 'idle'])
  }))
}

test('half-frame: a piece that never ends, the message lost, the rest replayed',
  () => withKernel({}, async (t) => {
    const id = t.channels.execute('stdout a\nhalf-frame\nstdout cut\nresult 1')
    await t.channels.until((c) => c.labels(id).includes('stdout:a\n'))
    await t.channels.until((c) => c.closed)
    assert.equal(t.channels.closed.clean, false)
    assert.ok(t.channels.ws.parser.have > 100, 'no half frame in the parser')
    const again = await t.open('s')
    await again.until(() => again.labels(id).includes('idle'))
    assert.deepEqual(again.labels(id), ['execute_result', 'execute_reply', 'idle'])
  }))

for (const part of ['busy', 'execute_input', 'execute_result', 'reply', 'idle']) {
  test(`death before ${part}`, () => withKernel({}, async (t) => {
    const early = START.includes(part)
    const id = t.channels.execute(`at ${part} die\n${early ? '' : 'wait go\n'}result 1`)
    const queued = early ? null : t.channels.execute('result 2')
    if (queued) await t.fake.wait({ kind: 'message', msg_id: queued })
    t.fake.control({ open: 'go' })
    await t.channels.until((c) => c.messages.some((m) => label(m) === 'restarting'))
    await t.channels.probe()
    const all = [...START, 'execute_result', 'reply', 'idle']
    const want = all.slice(0, all.indexOf(part)).map((l) => (l === 'reply' ? 'execute_reply' : l))
    assert.deepEqual(t.channels.labels(id), want)
    if (queued) assert.deepEqual(t.channels.labels(queued), [])
    const next = await t.channels.run('result 1')
    assert.equal(t.channels.reply(next).content.execution_count, 1)
  }))
}

test('after a restart iopub is lost until the subscription is back',
  () => withKernel({ restartGapMs: 400 }, async (t) => {
    assert.equal((await t.rest('POST', `/api/kernels/${t.kernel}/restart`)).status, 200)
    const id = t.channels.execute('result 1')
    await t.channels.until((c) => c.reply(id))
    await t.channels.probe()
    assert.deepEqual(t.channels.labels(id), ['execute_reply'])
    assert.ok(!t.channels.messages.some((m) => label(m) === 'restarting'))
  }))

test('die-silent: nothing, until a restart', () => withKernel({}, async (t) => {
  const id = t.channels.execute('stdout a\ndie-silent')
  await t.channels.until((c) => c.labels(id).includes('stdout:a\n'))
  const control = t.channels.send('control', 'kernel_info_request', {})
  await t.fake.wait({ kind: 'message', msg_id: control })
  assert.equal((await t.rest('GET', `/api/kernels/${t.kernel}`)).json.execution_state, 'busy')
  await t.rest('POST', `/api/kernels/${t.kernel}/restart`)
  await t.channels.probe()
  assert.equal(t.channels.reply(id), undefined)
  assert.deepEqual(t.channels.labels(control), [])
  assert.equal(t.channels.closed, null)
}))

test('dead: said once, then mute and unknown', () => withKernel({}, async (t) => {
  t.channels.execute('dead 2')
  await t.channels.until((c) => c.messages.some((m) => label(m) === 'dead'))
  assert.equal(t.channels.messages.filter((m) => label(m) === 'restarting').length, 2)
  assert.equal((await t.rest('GET', `/api/kernels/${t.kernel}`)).status, 404)
  assert.equal((await t.rest('GET', '/api/sessions')).json.length, 0)
  const id = t.channels.execute('result 1')
  await t.fake.wait({ kind: 'message', msg_id: id })
  assert.deepEqual(t.channels.labels(id), [])
  assert.equal(t.channels.closed, null)
  await assert.rejects(t.open('s'), { status: 404 })
}))

test('handshakes: refused, cut, hung, closed at once', () => withKernel({}, async (t) => {
  t.fake.control({ refuseHandshakes: 2 })
  await assert.rejects(t.open('b'), { status: 503 })
  t.fake.control({ refuseStatus: 0 })
  await assert.rejects(t.open('b'), { code: 'ECONNRESET' })
  t.fake.control({ hangHandshakes: 1 })
  const hung = t.open('b')
  await t.fake.wait({ kind: 'handshake', session: 'b' }, 3)
  t.fake.control({ closeAfterOpen: 1 })
  const shut = await t.open('c')
  await shut.until((c) => c.closed)
  assert.equal(shut.closed.clean, false)
  await (await t.open('d')).probe()
  hung.catch(() => {})
}))

test('starts: failed, never ready', () => withKernel({}, async (t) => {
  t.fake.control({ failStart: 1, neverReady: 1, kernelInfoTimeoutMs: 50, neverReadyGoneMs: 300 })
  const body = { path: 'y', type: 'context', kernel: { name: 'python3' } }
  assert.equal((await t.rest('POST', '/api/sessions', body)).status, 500)
  const { kernel } = (await t.rest('POST', '/api/sessions', body)).json
  assert.equal(kernel.execution_state, 'starting')
  const channels = await Channels.open(t.fake.url, 'T', kernel.id, 's')
  channels.send('control', 'kernel_info_request', {})
  await t.fake.wait({ kind: 'message', kernel: kernel.id })
  await t.fake.wait({ kind: 'gone', kernel: kernel.id })
  assert.deepEqual(channels.messages, [])
  assert.equal(channels.closed, null)
  channels.ws.destroy()
}))

test('mute: accepts, answers nothing, takes it all up again', () => withKernel({}, async (t) => {
  t.fake.control({ mute: true })
  const id = t.channels.execute('result 1')
  const status = t.rest('GET', '/api/status')
  const first = await Promise.race([status, t.channels.done(id, 100).catch(() => 'silence')])
  assert.equal(first, 'silence')
  assert.deepEqual(t.channels.labels(id), [])
  t.fake.control({ mute: false })
  assert.equal((await status).status, 200)
  await t.channels.done(id)
}))

test('interrupts, control and messages can be lost', () => withKernel({}, async (t) => {
  t.fake.control({ loseInterrupts: 1, deafControl: 1 })
  const id = t.channels.execute('hang')
  await t.channels.until((c) => c.labels(id).includes('execute_input'))
  const deaf = t.channels.send('control', 'kernel_info_request', {})
  await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
  await t.channels.probe()
  assert.deepEqual(t.channels.labels(deaf), [])
  assert.equal(t.channels.reply(id), undefined)
  await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
  await t.channels.done(id)
  assert.deepEqual(t.fake.log({ kind: 'interrupt' }).map((e) => e.effect), ['lost', 'hit'])
  t.fake.control({ swallow: 1 })
  const gone = t.channels.execute('result 1')
  await t.channels.run('result 2')
  assert.deepEqual(t.channels.labels(gone), [])
  assert.equal(t.fake.log({ msg_id: gone })[0].swallowed, true)
}))

test('a message above the limit cuts the line', () => withKernel({ maxMessageBytes: 100000 },
  async (t) => {
    t.channels.execute('#' + 'x'.repeat(100000))
    await t.channels.until((c) => c.closed)
    assert.equal(t.channels.closed.clean, false)
  }))

test('an unmasked frame is answered with 1002', () => withKernel({}, async (t) => {
  t.channels.ws.write(encodeFrame(OP.BINARY, Buffer.from('x')))
  await t.channels.until((c) => c.closed)
  await t.fake.wait({ kind: 'close', error: 'wrong masking' })
}))

test('a mute predecessor holds up its successor, but not for ever',
  () => withKernel({ staleCloseMs: 150 }, async (t) => {
    t.channels.ws.muted = true
    const started = performance.now()
    const second = await t.open('s')
    assert.ok(performance.now() - started >= 140)
    await second.run('result 1')
  }))

test('an error can abort even what comes after it', () => withKernel({ abortWindowMs: 60000 },
  async (t) => {
    await t.channels.run('error E v')
    const id = await t.channels.run('result 1')
    assert.equal(t.channels.reply(id).content.status, 'aborted')
    assert.deepEqual(t.channels.labels(id), ['execute_reply', 'busy', 'idle'])
  }))

test('set-up that takes its time can be interrupted', () => withKernel({ silentMs: 60000 },
  async (t) => {
    const id = t.channels.execute('import os', { silent: true })
    await t.channels.until((c) => c.labels(id).includes('busy'))
    await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
    await t.channels.done(id)
    assert.equal(t.channels.reply(id).content.ename, 'KeyboardInterrupt')
  }))

test('legacy when v1 is refused', () => withKernel({ legacyOnly: true }, async (t) => {
  assert.equal(t.channels.ws.subprotocol, undefined)
  await t.channels.run('result 1')
}))

test('the command line, over a unix socket, with the control plane by HTTP', async (context) => {
  const dir = await mkdtemp(`${tmpdir()}/fake-`)
  const script = fileURLToPath(new URL('jupyter.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, '--unix', `${dir}/s`, '--token', 'T', '--set',
    '{"strays":1}'], { stdio: ['ignore', 'pipe', 'inherit'] })
  context.after(() => rm(dir, { recursive: true }))
  const [line] = await once(child.stdout, 'data')
  const url = `unix:${dir}/s`
  assert.equal(line.toString(), `ready ${url}\n`)
  const made = await rest(url, 'T', 'POST', '/api/kernels', {})
  const channels = await Channels.open(url, 'T', made.json.id, 's')
  const id = await channels.run('result 1')
  const wait = await rest(url, '', 'GET', '/_fake/wait?kind=message&msg_type=execute_request')
  assert.equal(wait.json.entries[0].msg_id, id)
  const log = await rest(url, '', 'GET', '/_fake/log?kind=message')
  assert.equal(log.json.entries[0].code, 'result 1')
  assert.equal(log.json.websockets[made.json.id].maxOpen, 1)
  const bad = await rest(url, '', 'POST', '/_fake', { loseIdel: 1 })
  assert.deepEqual([bad.status, bad.json.message], [400, 'no such setting: loseIdel'])
  const dropped = rest(url, '', 'POST', '/_fake', { do: 'drop-socket' })
  await channels.until((c) => c.closed)
  assert.equal((await dropped).json.kernels[made.json.id].websockets.open, 0)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})
