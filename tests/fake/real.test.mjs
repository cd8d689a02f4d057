// real.test.mjs - the fake beside the real Jupyter Server: the same requests, the same messages.
// Skipped where jupyter-server and ipykernel are not installed (NB2_TEST_PYTHON names another Python).
// What ZMQ leaves to chance, the order of shell against iopub, is taken out of the comparison.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { Channels, label, rest } from './client.mjs'
import { startFake } from './jupyter.mjs'

const python = process.env.NB2_TEST_PYTHON ?? '/usr/bin/python3'
const probe = spawnSync(python, ['-c', 'import jupyter_server, ipykernel'])
const skip = probe.status === 0 ? false : `${python} has no jupyter_server and ipykernel`

// A real server on a unix socket in dir; resolves once it answers.
async function startReal(dir) {
  const env = { ...process.env, JUPYTER_CONFIG_DIR: `${dir}/c`, JUPYTER_DATA_DIR: `${dir}/d`,
    JUPYTER_RUNTIME_DIR: `${dir}/r`, IPYTHONDIR: `${dir}/i`, JUPYTER_NO_CONFIG: '1' }
  const child = spawn(python, ['-m', 'jupyter_server', '--no-browser', '--allow-root',
    '--ServerApp.token=T', `--ServerApp.root_dir=${dir}`, `--ServerApp.sock=${dir}/js.sock`],
  { env, stdio: 'ignore' })
  const url = `unix:${dir}/js.sock`
  for (let i = 0; i < 300; i++) {
    const up = await rest(url, 'T', 'GET', '/api/status').catch(() => null)
    if (up?.status === 200) return { url, child }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  child.kill()
  throw new Error('the real server did not start')
}

// iopub in its order, then the replies in theirs: between the two there is no order (measured: a
// reply overtakes not only the idle but now and then the output before it).
function settle(labels) {
  const isReply = (l) => /_reply$/.test(l)
  return [...labels.filter((l) => !isReply(l)), ...labels.filter(isReply)]
}

// A peer: one kernel and one connection, and whether it speaks the fake's language.
class Peer {
  static async start(url, fake) {
    const peer = new Peer()
    peer.url = url
    peer.fake = fake
    const made = await rest(url, 'T', 'POST', '/api/sessions',
      { path: 'x', type: 'context', kernel: { name: 'python3' } })
    peer.kernel = made.json.kernel.id
    peer.session = made.json.id
    peer.channels = await Channels.open(url, 'T', peer.kernel, 's')
    await peer.channels.probe()
    return peer
  }

  rest(method, path) {
    return rest(this.url, 'T', method, path)
  }

  // The cell's messages with the parts of their contents that both must agree on.
  async cell([real, fake], options) {
    const id = this.channels.execute(this.fake ? fake : real, options)
    await this.channels.done(id, 15000)
    const { status, execution_count, ename, payload } = this.channels.reply(id).content
    // ipykernel may go on aborting for a moment after an error's idle; a round trip ends that.
    if (status === 'error') await this.channels.done(this.info(), 15000)
    const keys = this.channels.of(id).map((m) => Object.keys(m.content ?? {}).sort().join())
    return { labels: settle(this.channels.labels(id)), keys: keys.sort(), status, execution_count,
      ename, payload }
  }

  info() {
    return this.channels.send('shell', 'kernel_info_request', {})
  }

  // Start a cell that runs until stopped; resolves once it does.
  async hang() {
    const id = this.channels.execute(this.fake ? 'stdout in\nhang'
      : 'print("in", flush=True)\nwhile True: pass')
    await this.channels.until((c) => c.labels(id).some((l) => l.startsWith('stdout:in')))
    return id
  }
}

let dir, real, fake, peers

before(async () => {
  if (skip) return
  dir = await mkdtemp(`${tmpdir()}/real-`)
  real = await startReal(dir)
  fake = await startFake({ token: 'T' })
  peers = [await Peer.start(real.url, false), await Peer.start(fake.url, true)]
})

after(async () => {
  if (skip) return
  for (const peer of peers ?? []) peer.channels.ws.destroy()
  await fake?.close()
  if (real) {
    const over = once(real.child, 'exit')
    await peers?.[0].rest('DELETE', `/api/sessions/${peers[0].session}`)
    real.child.kill('SIGTERM')
    // A shutdown that fails half-way leaves the real server running (seen once); do not wait for it.
    const patience = setTimeout(() => real.child.kill('SIGKILL'), 10000)
    await over
    clearTimeout(patience)
  }
  await rm(dir, { recursive: true, force: true })
})

// The same on both; what is compared is returned by each.
async function same(body) {
  const [a, b] = [await body(peers[0]), await body(peers[1])]
  assert.deepEqual(b, a)
  return a
}

for (const [name, code, options] of [
  ['value', ['1+1', 'result 2']],
  ['print', ['print("hi")', 'stdout hi']],
  ['error', ['1/0', 'error ZeroDivisionError division by zero']],
  ['silent', ['print("x"); 1+1', 'stdout x\nresult 2'], { silent: true }],
  ['silent error', ['1/0', 'error ZeroDivisionError division by zero'], { silent: true }],
  ['display', ['display({"text/html":"x"}, raw=True)', 'display text/html "x"']],
  ['no history', ['1+1', 'result 2'], { store_history: false }],
  ['input refused', ['input("p")', 'ask p']],
  ['user expressions', ['1', 'result 1'], { user_expressions: { a: '1' } }],
]) {
  test(name, { skip }, () => same((peer) => peer.cell(code, options)))
}

test('queued behind an error, and behind a silent one', { skip }, async () => {
  for (const options of [{}, { silent: true }]) {
    await same(async (peer) => {
      peer.channels.execute(peer.fake ? 'sleep 100\nerror E v'
        : 'import time; time.sleep(.1); 1/0', options)
      const queued = peer.channels.execute(peer.fake ? 'result 1' : '1')
      const info = peer.info()
      await peer.channels.done(queued)
      await peer.channels.done(info)
      return [settle(peer.channels.labels(queued)), settle(peer.channels.labels(info))]
    })
  }
})

test('requests that are not cells', { skip }, async () => {
  for (const type of ['complete_request', 'is_complete_request', 'comm_info_request',
    'inspect_request', 'bogus_request']) {
    await same(async (peer) => {
      const id = peer.channels.send('shell', type, { code: 'x', cursor_pos: 1, detail_level: 0 })
      await peer.channels.done(peer.info())
      return [type, settle(peer.channels.labels(id))]
    })
  }
})

test('interrupt', { skip }, () => same(async (peer) => {
  const id = await peer.hang()
  const { status } = await peer.rest('POST', `/api/kernels/${peer.kernel}/interrupt`)
  await peer.channels.done(id)
  await peer.channels.done(peer.info())
  return [status, settle(peer.channels.labels(id)), peer.channels.reply(id).content.ename]
}))

test('restart of an idle kernel', { skip }, () => same(async (peer) => {
  const from = peer.channels.messages.length
  const { status } = await peer.rest('POST', `/api/kernels/${peer.kernel}/restart`)
  await peer.channels.probe()
  const shutdown = peer.channels.messages.slice(from)
    .filter((m) => m.parent_header?.msg_type === 'shutdown_request')
  const cell = await peer.cell(['1', 'result 1'])
  return [status, shutdown.map(label), shutdown.map((m) => m.content.restart), cell]
}))

test('restart of a busy kernel', { skip }, () => same(async (peer) => {
  const id = await peer.hang()
  const { status } = await peer.rest('POST', `/api/kernels/${peer.kernel}/restart`)
  await peer.channels.probe()
  return [status, settle(peer.channels.labels(id)), peer.channels.closed]
}))

test('sudden death', { skip }, () => same(async (peer) => {
  const id = peer.channels.execute(peer.fake ? 'sleep 300\ndie'
    : 'import os, time; time.sleep(.3); os._exit(1)')
  const queued = peer.channels.execute('1')
  await peer.channels.until((c) => c.messages.some((m) => label(m) === 'restarting'), 15000)
  await peer.channels.probe()
  return [peer.channels.labels(id), peer.channels.labels(queued)]
}))

test('replay', { skip }, () => same(async (peer) => {
  const id = peer.channels.execute(peer.fake ? 'stdout A\nsleep 500\nstdout B\nresult 1'
    : 'import time\nprint("A", flush=True); time.sleep(.5); print("B")\n1')
  const a = (c) => c.labels(id).some((l) => l.startsWith('stdout:A'))
  await peer.channels.until(a)
  await peer.channels.drop()
  const before = peer.channels.labels(id)
  peer.channels = await Channels.open(peer.url, 'T', peer.kernel, 's')
  await peer.channels.done(id)
  // print's newline may be a message of its own
  return settle([...before, ...peer.channels.labels(id)]).filter((l) => l !== 'stdout:\n')
    .map((l) => l.trim())
}))

test('the end of a busy kernel', { skip }, () => same(async (peer) => {
  const id = await peer.hang()
  const gone = await peer.rest('DELETE', `/api/kernels/${peer.kernel}`)
  await peer.channels.until((c) => c.reply(id))
  const after = peer.channels.execute('1')
  const again = await peer.rest('GET', `/api/kernels/${peer.kernel}`)
  const session = await peer.rest('DELETE', `/api/sessions/${peer.session}`)
  return [gone.status, again.status, session.status, peer.channels.labels(after),
    peer.channels.closed, peer.channels.reply(id).content.ename]
}))
