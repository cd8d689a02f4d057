// c_contexts - contexts as users have them, on real kernels: lists and their order, directories,
// defaults that come back, many at a time, many in one, and no kernel that nobody knows.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import { after, before, test } from 'node:test'
import { Stack, only, records, textOf, until } from './stack.mjs'

let s
before(async () => { s = await new Stack({ jupyter: 'real' }).start() })
after(() => s?.stop())

let box = 0
const fresh = () => ({ headers: { 'E2b-Sandbox-Id': `c${++box}` } })
const plain = 'text/plain; charset=utf-8'
const create = async (body, o) => (await s.e2b('POST', '/contexts', body, o)).json
const list = async (o) => (await s.e2b('GET', '/contexts', undefined, o)).json
const remove = (id, o) => s.e2b('DELETE', `/contexts/${id}`, undefined, o)
const value = async (code, more, o) => only(await s.execute(code, more, o), 'result').at(-1)?.text
const errors = (all) => only(all, 'error').map((e) => e.name)

// What Jupyter itself says, past nb2.
function sessions() {
  return new Promise((resolve, reject) => {
    http.get({ socketPath: s.js, path: '/api/sessions', headers: { Authorization: 'token T' } }, (answer) => {
      let text = ''
      answer.on('data', (d) => { text += d }).on('end', () => resolve(JSON.parse(text)))
    }).on('error', reject)
  })
}

test('create: id, language, directory, compact and in that order; absent is default', async () => {
  const o = fresh()
  const home = fs.existsSync('/home/user') ? '/home/user' : `${s.state}/workspace`
  for (const body of [{}, { cwd: null, language: null }, { language: '' }, { cwd: home, language: 'Python', what: 1 }]) {
    const x = await s.e2b('POST', '/contexts', body, o)
    assert.equal(x.status, 200, x.text)
    assert.equal(x.headers['content-type'], 'application/json')
    assert.match(x.json.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(x.text, `{"id":"${x.json.id}","language":"python","cwd":"${home}"}`)
    assert.equal(await value('import os; os.getcwd()', { context_id: x.json.id }, o), home)
    await remove(x.json.id, o)
  }
  for (const [body, loc] of [[undefined, ['body']], [{ cwd: 1 }, ['body', 'cwd']], [{ language: [] }, ['body', 'language']]]) {
    const x = await s.e2b('POST', '/contexts', body, o)
    assert.equal(x.status, 422)
    assert.deepEqual(x.json.detail[0].loc, loc)
  }
})

test('the list: defaults first, then as they were made; what is deleted is gone', async () => {
  const o = fresh()
  const [standard] = await list(o)
  assert.equal(standard.language, 'python')
  const made = []
  for (let i = 0; i < 3; i++) made.push((await create({}, o)).id)
  assert.deepEqual((await list(o)).map((c) => c.id), [standard.id, ...made])
  await remove(made[1], o)
  assert.deepEqual((await list(o)).map((c) => c.id), [standard.id, made[0], made[2]])
  await s.e2b('POST', `/contexts/${made[0]}/restart`, undefined, o)
  assert.deepEqual((await list(o)).map((c) => c.id), [standard.id, made[0], made[2]], 'a restart moves nothing')
  await Promise.all([made[0], made[2]].map((id) => remove(id, o)))
})

test('what is not there is 404 in the reference\'s words, whatever is asked', async () => {
  const o = fresh()
  const { id } = await create({}, o)
  await remove(id, o)
  for (const gone of [id, 'nope', 'a'.repeat(300)]) {
    for (const [method, path] of [['DELETE', `/contexts/${gone}`], ['POST', `/contexts/${gone}/restart`]]) {
      const x = await s.e2b(method, path, undefined, o)
      assert.deepEqual([x.status, x.headers['content-type'], x.text], [404, plain, 'Context ID not found'], path)
    }
  }
  const stranger = await s.e2b('DELETE', `/contexts/${(await list(o))[0].id}`, undefined, fresh())
  assert.equal(stranger.status, 404, 'another sandbox\'s context')
})

test('a directory that is missing, a file, closed: 400, and nothing is left in Jupyter', async () => {
  const o = fresh()
  fs.writeFileSync(`${s.state}/file`, '')
  const before = (await sessions()).map((x) => x.id)
  for (const cwd of ['/no/such/place', `${s.state}/file`, `${s.state}/workspace/nope`, 'relative/path', '/tmp/nul\0']) {
    const x = await s.e2b('POST', '/contexts', { cwd }, o)
    assert.deepEqual([x.status, x.headers['content-type']], [400, plain], cwd)
  }
  assert.equal((await list(o)).length, 1)
  assert.deepEqual((await sessions()).map((x) => x.id), before)
})

test('a directory that vanishes: told at the restart, and usable when it is back', async () => {
  const o = fresh()
  const cwd = `${s.state}/workspace/vanishing`
  fs.mkdirSync(cwd)
  const { id } = await create({ cwd }, o)
  fs.rmdirSync(cwd)
  const x = await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)
  assert.ok(x.status >= 400, 'it cannot start there')
  fs.mkdirSync(cwd)
  assert.equal(await value('import os; os.getcwd()', { context_id: id }, o), cwd)
})

test('the directory of a crash is kept, the variables are not', async () => {
  const o = fresh()
  const { id } = await create({ cwd: '/usr' }, o)
  await s.execute('x = 1', { context_id: id }, o)
  assert.deepEqual(errors(await s.execute('import os; os._exit(1)', { context_id: id }, o)), ['ContextRestarting'])
  const all = await s.execute('import os; print(os.getcwd()); x', { context_id: id }, o)
  assert.equal(textOf(all), '/usr\n')
  assert.deepEqual(errors(all), ['NameError'])
})

test('a default that was deleted is made anew at its next use, and listed again', async () => {
  const o = fresh()
  await s.execute('x = 1', {}, o)
  const [{ id }] = await list(o)
  assert.equal((await remove(id, o)).text, 'null')
  assert.ok(!(await list(o)).some((c) => c.id === id))
  assert.deepEqual(errors(await s.execute('x', {}, o)), ['NameError'])
  const [again] = await list(o)
  assert.notEqual(again.id, id)
  assert.equal(await value('1 + 1', { language: 'python' }, o), '2')
  assert.equal(await value('2 + 1', { context_id: again.id }, o), '3')
})

test('language and no language are one default context; its id is it, too', async () => {
  const o = fresh()
  await s.execute('x = 5', {}, o)
  assert.equal(await value('x', { language: 'python' }, o), '5')
  assert.equal(await value('x', { context_id: (await list(o))[0].id }, o), '5')
})

test('eight contexts at a time do not wait for one another', { timeout: 60000 }, async () => {
  const o = fresh()
  const ids = (await Promise.all(Array.from({ length: 8 }, () => create({}, o)))).map((c) => c.id)
  assert.equal(new Set(ids).size, 8)
  await Promise.all(ids.map((context_id) => s.execute('import time', { context_id }, o)))
  const began = performance.now()
  const got = await Promise.all(ids.map((context_id, i) => value(`time.sleep(1); ${i}`, { context_id }, o)))
  assert.deepEqual(got, ids.map((_, i) => String(i)))
  assert.ok(performance.now() - began < 4000, 'eight sleeps of a second in less than four')
  const gone = await Promise.all(ids.map((id) => remove(id, o)))
  assert.ok(gone.every((x) => x.text === 'null'))
})

test('eight on one context run one by one, in the order they came', async () => {
  const o = fresh()
  await s.execute('import time; log = []', {}, o)
  const all = []
  for (let i = 0; i < 8; i++) {
    const x = s.e2bOpen('/execute', { code: `log.append((${i}, "in")); time.sleep(0.05); log.append((${i}, "out"))` }, o)
    await x.head()
    all.push(x)
  }
  for (const x of all) assert.deepEqual(errors(records((await x.whole()).text)), [])
  const expected = Array.from({ length: 8 }, (_, i) => `(${i}, 'in'), (${i}, 'out')`).join(', ')
  assert.equal(textOf(await s.execute('print(log)', {}, o)), `[${expected}]\n`)
})

test('restart and delete with others waiting: each of them ends once, and says something true', async () => {
  const o = fresh()
  for (const [verb, path] of [['POST', '/restart'], ['DELETE', '']]) {
    const { id } = await create({}, o)
    const running = s.e2bOpen('/execute', { code: 'import time; time.sleep(60)', context_id: id }, o)
    await running.has('number_of_executions')
    const waiting = []
    for (let i = 0; i < 3; i++) {
      waiting.push(s.e2bOpen('/execute', { code: '6 * 7', context_id: id }, o))
      await waiting[i].head()
    }
    assert.equal((await s.e2b(verb, `/contexts/${id}${path}`, undefined, o)).text, 'null')
    for (const x of [running, ...waiting]) {
      const all = records((await x.whole(20000)).text)
      assert.equal(only(all, 'end_of_execution').length, 1)
      assert.equal(all.at(-1).type, 'end_of_execution')
      const ran = only(all, 'result').some((r) => r.text === '42')
      assert.equal(errors(all).length, ran ? 0 : 1, JSON.stringify(all))
      assert.ok(x !== running || !ran)
      if (verb === 'DELETE') assert.deepEqual(errors(all), ['ContextDeleted'])
    }
  }
})

test('create, use and delete, twenty times: no error, no shared state, no kernel left', { timeout: 120000 }, async () => {
  const o = fresh()
  const before = (await sessions()).length
  for (let i = 0; i < 20; i++) {
    const { id } = await create({}, o)
    const all = await s.execute(`assert "mine" not in globals()\nmine = ${i}; mine`, { context_id: id }, o)
    assert.deepEqual(only(all, 'result').map((r) => r.text), [String(i)])
    assert.equal((await remove(id, o)).text, 'null')
  }
  await until(async () => (await sessions()).length === before, 10000, 'Jupyter having no more than before')
})
