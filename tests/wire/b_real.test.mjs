// b_real - real Python through real nginx and Jupyter: the transcript, byte by byte, and what
// users of the E2B protocol rely on.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { Stack, only, records, textOf, until } from './stack.mjs'

let s
before(async () => { s = await new Stack({ jupyter: 'real' }).start() })
after(() => s?.stop())

const fresh = () => `t-${Math.random().toString(36).slice(2)}`
const inSandbox = (id) => ({ headers: { 'E2b-Sandbox-Id': id } })

test('1+1, to the byte', async () => {
  const answer = await s.e2b('POST', '/execute', { code: '1+1' }, inSandbox(fresh()))
  assert.equal(answer.status, 200)
  assert.equal(answer.text,
    '{"type": "number_of_executions", "execution_count": 1}\n' +
    '{"type": "result", "text": "2", "extra": {}, "is_main_result": true}\n' +
    '{"type": "end_of_execution"}\n')
  assert.equal(answer.headers['content-type'], 'application/x-ndjson')
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(answer.headers['x-accel-buffering'], 'no')
})

test('stdout and stderr, with the form of their timestamps', async () => {
  const all = await s.execute('import sys; print("h\\u00e9\\u2028\\u4e2d\\U0001f600"); print("e", file=sys.stderr)')
  assert.equal(textOf(all), 'h\u00e9\u2028\u4e2d\u{1f600}\n')
  assert.equal(textOf(all, 'stderr'), 'e\n')
  for (const r of all.filter((x) => x.timestamp !== undefined))
    assert.match(r.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00$/)
})

test('the wire is ASCII, one object a line, Python separators', async () => {
  const answer = await s.e2b('POST', '/execute', {
    code: 'print("\\u4e2d\\u2028\\x85 a\\u2029b", end=""); display({"application/json": ' +
      '{"n": 9007199254740993, "m": 2**70, "s": "\\u00e9"}}, raw=True)' })
  assert.match(answer.text, /^[\x20-\x7e\n]*$/)
  assert.ok(!answer.text.includes('\n\n'))
  assert.ok(answer.text.includes('"text": "\\u4e2d\\u2028\\u0085 a\\u2029b"'))
  assert.ok(answer.text.includes('"json": {"n": 9007199254740993, "m": 1180591620717411303424, "s": "\\u00e9"}'))
  for (const r of records(answer.text)) assert.equal(typeof r.type, 'string')
})

test('an error: once, its traceback joined and without colours', async () => {
  const all = await s.execute('x = 1\n1/0')
  const errors = only(all, 'error')
  assert.equal(errors.length, 1)
  assert.equal(errors[0].name, 'ZeroDivisionError')
  assert.equal(errors[0].value, 'division by zero')
  assert.match(errors[0].traceback, /----> 2 1\/0/)
  assert.ok(!errors[0].traceback.includes('\x1b'))
  assert.deepEqual(Object.keys(errors[0]), ['type', 'name', 'value', 'traceback'])
  assert.equal(all.at(-1).type, 'end_of_execution')
})

test('main results and displays', async () => {
  const all = await s.execute('from IPython.display import HTML\ndisplay(HTML("<b>"))\n"a" + "b\\n"')
  const [shown, main] = only(all, 'result')
  assert.deepEqual(shown.is_main_result, false)
  assert.equal(shown.html, '<b>')
  assert.deepEqual(main, { type: 'result', text: 'ab\n', extra: {}, is_main_result: true })
})

test('text that is no single literal stays as it is', async () => {
  const [r] = only(await s.execute(
    'class A:\n  def __repr__(self): return "\'a\' + \'b\'"\nA()'), 'result')
  assert.equal(r.text, "'a' + 'b'")
})

test('input() fails at once', { timeout: 20000 }, async () => {
  const [e] = only(await s.execute('input("x")'), 'error')
  assert.equal(e.name, 'StdinNotImplementedError')
})

test('5,000 flushed prints arrive complete and in order', async () => {
  const all = await s.execute('for i in range(5000): print(i, flush=True)')
  assert.equal(textOf(all), Array.from({ length: 5000 }, (_, i) => `${i}\n`).join(''))
})

test('10 MB of text: lines of at most 64 KiB, nothing lost', async () => {
  const answer = await s.e2b('POST', '/execute', { code: 'print("\\u4e2d" * 1_500_000)' })
  for (const line of answer.text.split('\n')) assert.ok(line.length <= 65536)
  assert.equal(textOf(records(answer.text)), '\u4e2d'.repeat(1500000) + '\n')
})

test('each line arrives when it is printed', async () => {
  const x = await s.e2b('POST', '/execute', {
    code: 'import time\nfor i in range(5):\n  print(time.time(), flush=True); time.sleep(0.15)' })
  const came = x.parts.filter((p) => p.text.includes('stdout'))
  assert.equal(came.length, 5, 'five pieces, not one')
  const gaps = came.slice(1).map((p, i) => p.ms - came[i].ms)
  assert.ok(Math.min(...gaps) > 50, `pieces came together: ${gaps}`)
})

test('environment variables are data, and are given back', async () => {
  const hostile = 'it\'s "q" \\ $HOME `id` %s {0}\nsecond \u4e2d\u{1f600}'
  const o = inSandbox(fresh())
  await s.execute('import os; os.environ["OLD"] = "before"', {}, o)
  const all = await s.execute('print([os.environ["A"], os.environ["OLD"], os.environ["E"]])',
    { env_vars: { A: hostile, OLD: 'new', E: '' } }, o)
  assert.equal(textOf(all).trim(), `[${pyRepr(hostile)}, 'new', '']`)
  const after = await s.execute('print("A" in os.environ, os.environ["OLD"])', {}, o)
  assert.equal(textOf(after), 'False before\n')
})

// Python's repr of our one hostile string (it has both quotes).
const pyRepr = (t) => `'${t.replace(/\\/g, '\\\\').replace(/'/g, "\\'").replace(/\n/g, '\\n')}'`

test('environment is given back after errors, too', async () => {
  const o = inSandbox(fresh())
  await s.execute('import os\n1/0', { env_vars: { Q: '1' } }, o)
  assert.equal(textOf(await s.execute('print(os.environ.get("Q"))', {}, o)), 'None\n')
})

test('100 KB in a variable', async () => {
  const big = '\u4e2d'.repeat(33333)
  const all = await s.execute('import os; print(len(os.environ["B"]))', { env_vars: { B: big } })
  assert.equal(textOf(all), '33333\n')
})

test('the user\'s code is sent as it is', async () => {
  const env_vars = { A: '1', B: '2' }
  assert.equal(textOf(await s.execute('%%bash\necho $A', { env_vars })), '1\n')
  assert.equal(textOf(await s.execute('from __future__ import annotations\nprint(2)', { env_vars })), '2\n')
  assert.equal(textOf(await s.execute('    x = 1\n    print(x)', { env_vars })), '1\n')
  const [e] = only(await s.execute('x = 1\n1/0', { env_vars }), 'error')
  assert.match(e.traceback, /----> 2 1\/0/)
  assert.ok(!e.traceback.includes('environ'))
})

test('nothing of ours is in the user\'s namespace, history or count', async () => {
  const o = inSandbox(fresh())
  const first = await s.execute('names = set(globals())', { env_vars: { A: '1' } }, o)
  assert.equal(first[0].execution_count, 1)
  const all = await s.execute('print(sorted(n for n in set(globals()) - names if not n.startswith("_")), len(In))',
    { env_vars: { A: '1' } }, o)
  assert.equal(textOf(all), "['names'] 3\n")
  assert.equal(all[0].execution_count, 2)
})

test('a directory: set, kept over a restart, a missing one refused', async () => {
  const o = inSandbox(fresh())
  const dir = `${s.state}/my 'dir' %s \u4e2d`
  fs.mkdirSync(dir)
  const made = await s.e2b('POST', '/contexts', { cwd: dir }, o)
  assert.equal(made.status, 200)
  const { id, cwd, language } = made.json
  assert.equal(made.text, JSON.stringify({ id, language: 'python', cwd: dir })
    .replace('\u4e2d', '\\u4e2d'))
  assert.equal(cwd, dir)
  assert.equal(language, 'python')
  const where = async () => textOf(await s.execute('import os; print(os.getcwd())', { context_id: id }, o))
  assert.equal(await where(), `${dir}\n`)
  assert.equal((await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)).text, 'null')
  assert.equal(await where(), `${dir}\n`)
  const before = (await s.e2b('GET', '/contexts', undefined, o)).json.length
  const bad = await s.e2b('POST', '/contexts', { cwd: '/no/such' }, o)
  assert.equal(bad.status, 400)
  assert.match(bad.text, /\/no\/such/)
  assert.equal((await s.e2b('GET', '/contexts', undefined, o)).json.length, before)
})

test('restart forgets variables and counts from 1; delete is an end', async () => {
  const o = inSandbox(fresh())
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  await s.execute('x = 1', { context_id: id }, o)
  await s.e2b('POST', `/contexts/${id}/restart`, undefined, o)
  const all = await s.execute('x', { context_id: id }, o)
  assert.equal(all[0].execution_count, 1)
  assert.equal(only(all, 'error')[0].value, "name 'x' is not defined")
  assert.equal((await s.e2b('DELETE', `/contexts/${id}`, undefined, o)).text, 'null')
  const gone = await s.e2b('POST', '/execute', { code: '1', context_id: id }, o)
  assert.deepEqual([gone.status, gone.text], [404, 'Context ID not found'])
})

test('the kernel dies: one error, and the next run works', async () => {
  const o = inSandbox(fresh())
  const all = await s.execute('print("a", flush=True)\nimport os, time; time.sleep(0.5); os._exit(3)', {}, o)
  assert.equal(textOf(all), 'a\n')
  assert.deepEqual(only(all, 'error').map((e) => e.name), ['ContextRestarting'])
  assert.equal(all.at(-1).type, 'end_of_execution')
  assert.equal(only(await s.execute('1+1', {}, o), 'result')[0].text, '2')
})

test('a client leaves in mid-run: the kernel is interrupted, the next run answers at once', async () => {
  const o = inSandbox(fresh())
  const mark = `${s.state}/interrupted`
  const codes = ['time.sleep(60)', 'while True: sum(range(2000))',
    'while True: print("x" * 100); time.sleep(0.001)', 'while True: print("OK")']
  await s.execute('import time', {}, o)
  for (let i = 0; i < 24; i++) {
    fs.rmSync(mark, { force: true })
    const x = s.e2bOpen('/execute', {
      code: `try:\n  print("in", flush=True)\n  ${codes[i % 4]}\nexcept KeyboardInterrupt:\n  open(${JSON.stringify(mark)}, "w").close(); raise`,
      env_vars: i % 3 ? undefined : { V: 'x' } }, o)
    await x.has('"text": "in')
    await x.leave(i % 2 ? 'rst' : 'fin')
    const [r] = only(await s.execute(`${i} + 1`, {}, { ...o, ms: 15000 }), 'result')
    assert.equal(r.text, String(i + 1))
    await until(() => fs.existsSync(mark), 5000, 'the KeyboardInterrupt')
  }
  assert.equal(textOf(await s.execute('import os; print(os.environ.get("V"))', {}, o)), 'None\n')
})

test('closed at once after sending, 100 times of 100', async () => {
  const o = inSandbox(fresh())
  await s.execute('import time', {}, o)
  for (let i = 0; i < 100; i++) {
    const x = s.e2bOpen('/execute', { code: 'time.sleep(60)' }, o)
    if (i % 3) await x.head()
    await x.leave(i % 2 ? 'rst' : 'fin')
    const [r] = only(await s.execute(`${i} + 1`, {}, { ...o, ms: 15000 }), 'result')
    assert.equal(r.text, String(i + 1))
  }
})

test('serial in a context, in order of arrival, heads sent while they wait', async () => {
  const o = inSandbox(fresh())
  await s.execute('import time; seen = []', {}, o)
  const slow = s.e2bOpen('/execute', { code: 'time.sleep(1); seen.append(0)' }, o)
  await slow.has('number_of_executions')
  const rest = []
  for (let i = 1; i <= 6; i++) {
    const x = s.e2bOpen('/execute', { code: `seen.append(${i})` }, o)
    await x.head()
    assert.ok(!slow.ended, 'the head came while the first one ran')
    rest.push(x)
  }
  await Promise.all([slow, ...rest].map((x) => x.whole()))
  assert.equal(textOf(await s.execute('print(seen)', {}, o)), '[0, 1, 2, 3, 4, 5, 6]\n')
})

test('contexts do not wait for one another; sandboxes do not see one another', async () => {
  const o = inSandbox(fresh())
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  await s.execute('x = 1', {}, o)
  const busy = s.e2bOpen('/execute', { code: 'import time; time.sleep(30)', context_id: id }, o)
  await busy.has('number_of_executions')
  assert.equal(only(await s.execute('x', {}, o), 'result')[0].text, '1')
  assert.equal(only(await s.execute('x', {}, inSandbox(fresh())), 'error')[0].name, 'NameError')
  const other = await s.e2b('POST', '/execute', { code: '1', context_id: id }, inSandbox(fresh()))
  assert.equal(other.status, 404)
  await busy.leave()
})

test('restarted or deleted in mid-run: one error that says so', async () => {
  const o = inSandbox(fresh())
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  for (const [method, where, name] of [['POST', `/contexts/${id}/restart`, 'ContextRestarted'],
    ['DELETE', `/contexts/${id}`, 'ContextDeleted']]) {
    const x = s.e2bOpen('/execute', { code: 'import time; time.sleep(60)', context_id: id }, o)
    await x.has('number_of_executions')
    await s.e2b(method, where, undefined, o)
    const all = records((await x.whole()).text)
    assert.deepEqual(only(all, 'error').map((e) => e.name), [name])
    assert.equal(all.at(-1).type, 'end_of_execution')
  }
})

test('late output: dropped, or first in the next run that asks', async () => {
  const o = inSandbox(fresh())
  const mark = `${s.state}/late`
  const code = `import threading, time
def late():
    time.sleep(0.3); print("late", flush=True); time.sleep(0.2); open(${JSON.stringify(mark)}, "w").close()
threading.Thread(target=late).start()`
  for (const wanted of [true, false]) {
    fs.rmSync(mark, { force: true })
    await s.execute(code, {}, o)
    await until(() => fs.existsSync(mark))
    const all = await s.execute('print("now")', { late_output: wanted }, o)
    assert.equal(textOf(all), wanted ? 'late\nnow\n' : 'now\n')
  }
})

test('display updates only where they are asked for', async () => {
  const o = inSandbox(fresh())
  const code = 'h = display("a", display_id="d"); h.update("b")\nfrom IPython.display import clear_output\nclear_output(wait=True)'
  assert.equal((await s.execute(code, {}, o)).some((r) => r.type === 'update_display'), false)
  const all = await s.execute(code, { stream_updates: true }, o)
  const [u] = only(all, 'update_display')
  assert.deepEqual([u.display_id, u.text], ['d', 'b'])
  assert.deepEqual(only(all, 'clear_output'), [{ type: 'clear_output', wait: true }])
})

test('no kernel is left when its context is gone', async () => {
  const o = inSandbox(fresh())
  for (let i = 0; i < 5; i++) {
    const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
    await s.execute(`x = ${i}`, { context_id: id }, o)
    const pid = Number(textOf(await s.execute('import os; print(os.getpid())', { context_id: id }, o)))
    await s.e2b('DELETE', `/contexts/${id}`, undefined, o)
    await until(() => !fs.existsSync(`/proc/${pid}`) ||
      fs.readFileSync(`/proc/${pid}/status`, 'utf8').includes('State:\tZ'), 5000, 'the kernel\'s end')
  }
})
