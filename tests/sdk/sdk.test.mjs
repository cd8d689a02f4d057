// sdk - E2B's official JavaScript SDK, unmodified, against the whole stack: what its users rely on.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { Stack, until } from '../wire/stack.mjs'

let s
let Sandbox
let sandbox
before(async () => {
  s = await new Stack({ jupyter: 'real' }).start()
  process.env.E2B_DEBUG = 'true'
  process.env.E2B_SANDBOX_URL = `http://localhost:${s.e2bPort}`
  ;({ Sandbox } = await import('@e2b/code-interpreter'))
  sandbox = await Sandbox.create()
})
after(() => s?.stop())

test('create and runCode', async () => {
  const execution = await sandbox.runCode('x = 1; x')
  assert.equal(execution.text, '1')
  assert.equal(execution.error, undefined)
  assert.equal(execution.results.length, 1)
  assert.equal(execution.results[0].isMainResult, true)
})

test('state is kept, executions are counted', async () => {
  const first = await sandbox.runCode('x += 1; x')
  const second = await sandbox.runCode('x += 1; x')
  assert.equal(second.text, '3')
  assert.equal(second.executionCount, first.executionCount + 1)
})

test('callbacks, each once and in time', async () => {
  const seen = { results: [], errors: [], stdout: [], stderr: [] }
  const execution = await sandbox.runCode(
    'import sys\nprint("out")\nprint("err", file=sys.stderr)\ndisplay("shown")\n"main"', {
      onResult: (r) => { seen.results.push(r) },
      onError: (e) => { seen.errors.push(e) },
      onStdout: (m) => { seen.stdout.push(m) },
      onStderr: (m) => { seen.stderr.push(m) },
    })
  assert.deepEqual(seen.results.map((r) => r.text), ['shown', 'main'])
  assert.deepEqual(seen.errors, [])
  assert.deepEqual(seen.stdout.map((m) => [m.line, m.error]), [['out\n', false]])
  assert.deepEqual(seen.stderr.map((m) => [m.line, m.error]), [['err\n', true]])
  assert.equal(typeof seen.stdout[0].timestamp, 'number')
  assert.deepEqual(execution.logs, { stdout: ['out\n'], stderr: ['err\n'] })
  assert.equal(execution.text, 'main')
})

test('output arrives while the code runs', async () => {
  const at = []
  await sandbox.runCode('import time\nfor i in range(4):\n  print(i, flush=True); time.sleep(0.3)',
    { onStdout: () => { at.push(performance.now()) } })
  assert.equal(at.length, 4)
  assert.ok(at[3] - at[0] > 400, `all at once: ${at}`)
})

test('an error is data, and reaches its callback', async () => {
  let told
  const execution = await sandbox.runCode('undefined_name', { onError: (e) => { told = e } })
  assert.equal(execution.error.name, 'NameError')
  assert.equal(execution.error.value, "name 'undefined_name' is not defined")
  assert.match(execution.error.traceback, /undefined_name/)
  assert.equal(told.name, 'NameError')
  assert.equal((await sandbox.runCode('1+1')).text, '2')
})

test('environment variables for one run', async () => {
  const value = 'it\'s "q" \\ $HOME\n\u4e2d\u{1f600}'
  const execution = await sandbox.runCode('import os; print(os.environ["V"], end="")', { envs: { V: value } })
  assert.equal(execution.logs.stdout.join(''), value)
  assert.equal((await sandbox.runCode('os.environ.get("V", "gone")')).text, 'gone')
})

test('a time-out rejects, the kernel is interrupted, the next run answers at once', async () => {
  const mark = `${s.state}/sdk-interrupted`
  const code = `import time
try:
    time.sleep(300)
except KeyboardInterrupt:
    open(${JSON.stringify(mark)}, "w").close(); raise`
  await assert.rejects(sandbox.runCode(code, { timeoutMs: 1500 }))
  const began = performance.now()
  assert.equal((await sandbox.runCode('1 + 1')).text, '2')
  assert.ok(performance.now() - began < 5000)
  await until(() => fs.existsSync(mark), 5000, 'the KeyboardInterrupt')
})

test('contexts: create, run, list, restart, remove', async () => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal(context.language, 'python')
  assert.equal(context.cwd, '/tmp')
  await sandbox.runCode('y = 42', { context })
  assert.equal((await sandbox.runCode('y', { context })).text, '42')
  assert.equal((await sandbox.runCode('y')).error.name, 'NameError')
  const listed = await sandbox.listCodeContexts()
  assert.deepEqual(listed.at(-1), context)
  assert.equal(listed[0].language, 'python')
  await sandbox.restartCodeContext(context.id)
  assert.equal((await sandbox.runCode('y', { context })).error.name, 'NameError')
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  await sandbox.removeCodeContext(context)
  assert.ok(!(await sandbox.listCodeContexts()).some((c) => c.id === context.id))
  await assert.rejects(sandbox.runCode('1', { context }), /Context ID not found/)
})

test('independent contexts run side by side', async () => {
  const contexts = await Promise.all([sandbox.createCodeContext(), sandbox.createCodeContext()])
  const began = performance.now()
  await Promise.all(contexts.map((context) => sandbox.runCode('import time; time.sleep(2)', { context })))
  assert.ok(performance.now() - began < 3900)
  await Promise.all(contexts.map((context) => sandbox.removeCodeContext(context)))
})

test('rich results keep their formats and their order', async () => {
  const execution = await sandbox.runCode(`from IPython.display import HTML, JSON, Latex, Markdown, SVG
for shown in (HTML("<b>h</b>"), Markdown("*m*"), Latex("$l$"), SVG(data="<svg xmlns='http://www.w3.org/2000/svg'/>"), JSON({"a": [1, None]})):
    display(shown)
display({"image/png": "QUJD", "x/y": "z"}, raw=True)`)
  const [html, markdown, latex, svg, json, png] = execution.results
  assert.equal(html.html, '<b>h</b>')
  assert.equal(markdown.markdown, '*m*')
  assert.equal(latex.latex, '$l$')
  assert.match(svg.svg, /<svg/)
  assert.deepEqual(json.json, { a: [1, null] })
  assert.equal(png.png, 'QUJD')
  assert.ok(html.formats().includes('html'))
})

test('a lot of text: every character, and soon', async () => {
  const execution = await sandbox.runCode('print("\\u4e2d\\U0001f600" * 400_000, end="")')
  assert.equal(execution.logs.stdout.join(''), '\u4e2d\u{1f600}'.repeat(400000))
})

test('connect to a sandbox by its id; another id is another sandbox', async () => {
  const one = await Sandbox.connect('one', { debug: true })
  const other = await Sandbox.connect('other', { debug: true })
  await one.runCode('here = 1')
  assert.equal((await (await Sandbox.connect('one', { debug: true })).runCode('here')).text, '1')
  assert.equal((await other.runCode('here')).error.name, 'NameError')
})

test('context and language together are refused', async () => {
  const context = await sandbox.createCodeContext()
  await assert.rejects(sandbox.runCode('1', { context, language: 'python' }))
  await sandbox.removeCodeContext(context)
})

test('a language without a kernel is an error that says so', async () => {
  await assert.rejects(sandbox.runCode('1', { language: 'cobol' }), /500/)
})
