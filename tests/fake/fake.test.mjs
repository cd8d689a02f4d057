// fake.test.mjs - the fake can be trusted: what it says by default, and REST.
// Faults have their own file, faults.test.mjs; the comparison with a real server is real.test.mjs.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readFile, readdir } from 'node:fs/promises'
import { Channels, rest } from './client.mjs'
import { startFake } from './jupyter.mjs'
import { parseScript, words } from './script.mjs'
import { decodeLegacy, decodeV1, encodeLegacy, encodeV1 } from './wire.mjs'
import { FrameParser, ProtocolError, acceptKey, encodeFrame } from './ws.mjs'
import { withKernel } from './testkit.mjs'

describe('framing', () => {
  test('the accept key is the one of RFC 6455', () => {
    assert.equal(acceptKey('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  })

  test('the frames of RFC 6455 section 5.7', () => {
    assert.equal(encodeFrame(1, Buffer.from('Hello')).toString('hex'), '810548656c6c6f')
    const parser = new FrameParser({ expectMasked: true })
    const masked = Buffer.from('818537fa213d7f9f4d5158', 'hex')
    assert.equal(parser.push(masked)[0].payload.toString(), 'Hello')
  })

  for (const size of [0, 125, 126, 65535, 65536, 200000]) {
    test(`${size} bytes survive any cut`, () => {
      const payload = Buffer.alloc(size, 'abc')
      const frame = encodeFrame(2, payload, { masked: true })
      for (const cut of [1, 2, 3, 5, 9, 13, frame.length - 1]) {
        const parser = new FrameParser({ expectMasked: true })
        const frames = [...parser.push(frame.subarray(0, cut)), ...parser.push(frame.subarray(cut))]
        assert.equal(frames.length, 1)
        assert.deepEqual(frames[0].payload, payload)
      }
    })
  }

  for (const [name, hex, expectMasked, message] of [
    ['unmasked from a client', '810548656c6c6f', true, /masking/],
    ['masked from a server', '818537fa213d7f9f4d5158', false, /masking/],
    ['reserved bit', 'c100', false, /reserved/],
    ['unknown opcode', '8300', false, /opcode/],
    ['fragmented ping', '0900', false, /control frame/],
    ['ping of 126 bytes', '897e007e', false, /control frame/],
  ]) {
    test(`refused: ${name}`, () => {
      const parser = new FrameParser({ expectMasked })
      assert.throws(() => parser.push(Buffer.from(hex, 'hex')),
        (e) => e instanceof ProtocolError && e.code === 1002 && message.test(e.message))
    })
  }
})

describe('message bytes', () => {
  const message = { channel: 'iopub', header: { msg_id: '1', msg_type: 'stream' },
    parent_header: { msg_id: 'p' }, metadata: {}, content: { text: 'é\u0000' },
    buffers: [Buffer.from('one'), Buffer.alloc(0)] }

  test('v1 there and back', () => {
    const back = decodeV1(encodeV1(message))
    for (const key of Object.keys(message)) assert.deepEqual(back[key], message[key])
  })

  test('v1 is refused when its offsets lie', () => {
    const frame = encodeV1(message)
    frame.writeBigUInt64LE(10n ** 6n, 8 * 3)
    assert.throws(() => decodeV1(frame))
  })

  test('legacy there and back, text and binary', () => {
    for (const buffers of [[], message.buffers]) {
      const { payload, text } = encodeLegacy({ ...message, buffers })
      assert.equal(text, buffers.length === 0)
      const back = decodeLegacy(payload, text)
      assert.deepEqual(back.content, message.content)
      assert.equal(back.channel, 'iopub')
      assert.deepEqual(back.buffers, buffers)
    }
  })
})

describe('the script', () => {
  test('ordinary code is nothing to do', () => {
    const plan = parseScript('import os\nos.environ["A"] = "b"\n', false)
    assert.equal(plan.steps.length, 0)
    assert.equal(plan.foreign, true)
  })

  test('a silent snippet is never taken for a script by half', () => {
    assert.equal(parseScript('error = 3\nraise_it(error)', true).steps.length, 0)
  })

  test('README names every word', async () => {
    const readme = await readFile(new URL('README.md', import.meta.url), 'utf8')
    for (const word of [...words.verbs, ...words.directives]) {
      assert.ok(readme.includes(`\`${word}`), `README says nothing of ${word}`)
    }
  })

  test('no file of the fake has outgrown its neighbours', async () => {
    const here = new URL('.', import.meta.url)
    for (const name of await readdir(here)) {
      const lines = (await readFile(new URL(name, here), 'utf8')).split('\n').length
      assert.ok(lines <= 360, `${name} has ${lines} lines`)
    }
  })
})

// [name, code, options, labels without the closing reply and idle, reply status]
const ORDERS = [
  ['value', 'result 2', {}, ['busy', 'execute_input', 'execute_result'], 'ok'],
  ['print', 'stdout hi', {}, ['busy', 'execute_input', 'stdout:hi\n'], 'ok'],
  ['stderr', 'stderr "no newline"', {}, ['busy', 'execute_input', 'stderr:no newline'], 'ok'],
  ['display', 'display text/html "<b>"', {}, ['busy', 'execute_input', 'display_data'], 'ok'],
  ['error', 'stdout a\nerror E v\nstdout b', {},
    ['busy', 'execute_input', 'stdout:a\n', 'error'], 'error'],
  ['silent', 'stdout x\nresult 2', { silent: true }, ['busy', 'stdout:x\n'], 'ok'],
  ['silent error', 'error E v', { silent: true }, ['busy', 'error'], 'error'],
  ['foreign code', '1+1', {}, ['busy', 'execute_input'], 'ok'],
  ['half a script', 'stdout a\n1+1', {}, ['busy', 'execute_input', 'error'], 'error'],
  ['abort', 'abort', {}, ['busy', 'execute_input'], 'abort'],
  ['ask', 'ask name?', {}, ['busy', 'execute_input', 'error'], 'error'],
]

for (const legacy of [false, true]) {
  describe(legacy ? 'messages, legacy' : 'messages, v1', () => {
    for (const [name, code, options, labels, status] of ORDERS) {
      test(name, () => withKernel({ legacy }, async ({ channels }) => {
        const id = await channels.run(code, options)
        assert.deepEqual(channels.labels(id), [...labels, 'execute_reply', 'idle'])
        assert.equal(channels.reply(id).content.status, status)
        assert.equal(channels.reply(id).channel, 'shell')
        assert.equal(channels.ws.subprotocol === undefined, legacy)
      }))
    }
  })
}

describe('a kernel', () => {
  test('counts like IPython', () => withKernel({}, async ({ channels }) => {
    const counts = []
    for (const options of [{}, {}, { silent: true }, { store_history: false }, {}]) {
      counts.push(channels.reply(await channels.run('1', options)).content.execution_count)
    }
    assert.deepEqual(counts, [1, 2, 2, 2, 3])
  }))

  test('aborts what is queued behind an error, but not behind a silent one',
    () => withKernel({}, async ({ channels, fake }) => {
      for (const [options, status] of [[{}, 'aborted'], [{ stop_on_error: false }, 'ok'],
        [{ silent: true }, 'ok']]) {
        const first = channels.execute('wait go\nerror E v', options)
        const second = channels.execute('result 1')
        await fake.wait({ kind: 'message', msg_id: second })
        fake.control({ open: 'go' })
        await channels.done(second)
        assert.equal(channels.reply(second).content.status, status)
        assert.equal(channels.reply(first).content.status, 'error')
        fake.control({ reset: true })
      }
    }))

  test('is interrupted by REST and by message', () => withKernel({}, async (t) => {
    for (const how of ['rest', 'control']) {
      const id = t.channels.execute('stdout in\nhang')
      await t.channels.until((c) => c.labels(id).includes('stdout:in\n'))
      if (how === 'rest') await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
      else t.channels.send('control', 'interrupt_request', {})
      await t.channels.done(id)
      assert.equal(t.channels.reply(id).content.ename, 'KeyboardInterrupt')
      assert.equal(t.fake.log({ kind: 'interrupt', by: how })[0].effect, 'hit')
    }
    await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
    assert.equal(t.fake.log({ kind: 'interrupt' }).at(-1).effect, 'idle')
    await t.channels.run('result 1')
  }))

  test('ignores an interrupt in hang-hard; a restart ends it', () => withKernel({}, async (t) => {
    const id = t.channels.execute('hang-hard')
    await t.channels.until((c) => c.labels(id).includes('execute_input'))
    await t.fake.wait({ kind: 'message', msg_id: id })
    await t.rest('POST', `/api/kernels/${t.kernel}/interrupt`)
    assert.equal(t.fake.log({ kind: 'interrupt' })[0].effect, 'ignored')
    assert.equal((await t.rest('POST', `/api/kernels/${t.kernel}/restart`)).status, 200)
    await t.channels.probe()
    assert.equal(t.channels.reply(id), undefined)
    const next = await t.channels.run('result 1')
    assert.equal(t.channels.reply(next).content.execution_count, 1)
  }))

  test('takes input, asked for or not', () => withKernel({}, async ({ channels }) => {
    const id = channels.execute('input name?')
    await channels.until((c) => c.labels(id).includes('input_request'))
    const request = channels.of(id).find((m) => m.channel === 'stdin')
    channels.send('stdin', 'input_reply', { value: 'me' }, { parent_header: request.header })
    await channels.done(id)
    assert.ok(channels.labels(id).includes('stdout:me\n'))
  }))

  test('answers kernel_info on control while busy, on shell only after',
    () => withKernel({}, async ({ channels, fake }) => {
      const id = channels.execute('wait go')
      const shell = channels.send('shell', 'kernel_info_request', {})
      const control = channels.send('control', 'kernel_info_request', {})
      await channels.done(control)
      assert.equal(channels.reply(shell), undefined)
      fake.control({ open: 'go' })
      await channels.done(shell)
      assert.ok(channels.reply(id))
    }))

  test('the next connection of its only session gets what it missed, once',
    () => withKernel({}, async (t) => {
      const id = t.channels.execute('stdout a\nwait go\nstdout b\nresult 1')
      await t.channels.until((c) => c.labels(id).includes('stdout:a\n'))
      await t.channels.drop()
      await t.fake.wait({ kind: 'close' })
      t.fake.control({ open: 'go' })
      const again = await t.open('s')
      await again.done(id)
      assert.deepEqual(again.labels(id), ['stdout:b\n', 'execute_result', 'execute_reply', 'idle'])
      assert.ok(again.messages.some((m) => m.parent_header.msg_id !== id), 'no stray status')
    }))

  test('another session gets nothing of it', () => withKernel({}, async (t) => {
    const id = t.channels.execute('wait go\nstdout b')
    await t.fake.wait({ kind: 'waiting' })
    await t.channels.drop()
    await t.fake.wait({ kind: 'close' })
    const other = await t.open('other')
    t.fake.control({ open: 'go' })
    await other.until(() => other.labels(id).includes('idle'))
    assert.deepEqual(other.labels(id), ['stdout:b\n', 'idle'])
  }))

  test('a second connection of a session closes the first', () => withKernel({}, async (t) => {
    const second = await t.open('s')
    await t.channels.until((c) => c.closed)
    assert.deepEqual(t.channels.closed, { code: 1005, clean: true })
    await second.run('result 1')
    const model = t.fake.state().kernels[t.kernel].websockets
    assert.deepEqual([model.open, model.opens, model.maxOpen], [1, 2, 1])
  }))
})

describe('REST', () => {
  let fake
  before(async () => { fake = await startFake({ token: 'T' }) })
  after(() => fake.close())
  const none = 'aaaaaaaa-1111-1111-1111-111111111111'
  const call = (...args) => rest(fake.url, 'T', ...args)

  test('the door', async () => {
    assert.equal((await rest(fake.url, '', 'GET', '/api')).status, 200)
    assert.equal((await rest(fake.url, '', 'GET', '/api/status')).json.message, 'Forbidden')
    assert.match((await rest(fake.url, '', 'POST', '/api/sessions', {})).json.message, /_xsrf/)
    assert.equal((await rest(fake.url, '', 'GET', '/api/status?token=T')).status, 200)
    const headers = { Authorization: 'Bearer T' }
    assert.equal((await rest(fake.url, '', 'GET', '/api/status', undefined, headers)).status, 403)
    assert.equal((await call('GET', '/api/status', undefined, { Host: 'evil' })).status, 403)
  })

  for (const [method, path, body, status] of [
    ['GET', '/api/status', undefined, 200],
    ['GET', '/api/kernelspecs', undefined, 200],
    ['GET', '/api/nope', undefined, 404],
    ['PUT', '/api/kernels', undefined, 405],
    ['POST', '/api/sessions', undefined, 400],
    ['POST', '/api/sessions', '{bad', 400],
    ['POST', '/api/sessions', { path: 'x' }, 400],
    ['POST', '/api/sessions', { path: 'x', type: 'y', kernel: { name: 'no' } }, 501],
    ['POST', '/api/kernels', { name: 'no' }, 500],
    ['GET', `/api/kernels/${none}`, undefined, 404],
    ['DELETE', `/api/kernels/${none}`, undefined, 404],
    ['DELETE', `/api/sessions/${none}`, undefined, 404],
    ['POST', `/api/kernels/${none}/interrupt`, undefined, 404],
    ['POST', `/api/kernels/${none}/restart`, undefined, 500],
  ]) {
    test(`${method} ${path} ${JSON.stringify(body) ?? ''} is ${status}`, async () => {
      assert.equal((await call(method, path, body)).status, status)
    })
  }

  test('a session is its path, and takes its kernel with it', async () => {
    const model = { path: 'd/nb2-0-a', type: 'context', name: 'n', kernel: { name: 'python3' } }
    const first = await call('POST', '/api/sessions', model)
    const second = await call('POST', '/api/sessions', model)
    assert.equal(first.status, 201)
    assert.equal(second.json.id, first.json.id)
    assert.equal((await call('GET', '/api/sessions')).json.length, 1)
    assert.equal((await call('DELETE', `/api/sessions/${first.json.id}`)).status, 204)
    assert.equal((await call('GET', `/api/kernels/${first.json.kernel.id}`)).status, 404)
    assert.equal((await call('GET', '/api/sessions')).json.length, 0)
  })

  test('the channels refuse like the real ones', async () => {
    await assert.rejects(Channels.open(fake.url, 'T', none, 's'), { status: 404 })
    await assert.rejects(Channels.open(fake.url, 'wrong', none, 's'), { status: 403 })
  })

  test('a base path', async () => {
    const based = await startFake({ token: 'T', base: '/hub/me/' })
    assert.equal((await rest(based.url, 'T', 'GET', '/hub/me/api/status')).status, 200)
    assert.equal((await rest(based.url, 'T', 'GET', '/api/status')).status, 404)
    await based.close()
  })
})
