// e_records - the records of /execute as e2b-protocol.md has them, from real Python: order, keys,
// text of quoted strings, sizes, keep-alives, timestamps.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { arrivals } from './http.mjs'
import { Stack, only, records, textOf } from './stack.mjs'

let s
before(async () => { s = await new Stack({ jupyter: 'real', workers: 1 }).start() })
after(() => s?.stop())

const raw = async (code, more = {}) => {
  const x = await s.e2b('POST', '/execute', { code, ...more })
  assert.equal(x.status, 200, x.text)
  return x
}
const lines = (x) => x.text.split('\n').slice(0, -1)
const main = async (code) => only(await s.execute(code), 'result').at(-1)

test('every kind of record, in the order it happened, keys in their order', async () => {
  const x = await raw('import sys\nprint("a")\nsys.stdout.flush()\nprint("b", file=sys.stderr)\nsys.stderr.flush()\n' +
    'display({"text/plain": "c"}, raw=True)\n1/0')
  const shapes = lines(x).map((l) => Object.keys(JSON.parse(l)).join(' '))
  assert.deepEqual(shapes, ['type execution_count', 'type text timestamp', 'type text timestamp',
    'type text extra is_main_result', 'type name value traceback', 'type'])
  assert.deepEqual(lines(x).map((l) => JSON.parse(l).type),
    ['number_of_executions', 'stdout', 'stderr', 'result', 'error', 'end_of_execution'])
  assert.match(lines(x)[1], /^\{"type": "stdout", "text": "a\\n", "timestamp": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?\+00:00"\}$/)
  assert.equal(lines(x)[3], '{"type": "result", "text": "c", "extra": {}, "is_main_result": false}')
  assert.match(lines(x)[4], /^\{"type": "error", "name": "ZeroDivisionError", "value": "division by zero", "traceback": "/)
})

test('a result\'s fields: the wire\'s order whatever the kernel\'s; the rest under extra', async () => {
  const x = await raw(`display({"e2b/chart": {}, "application/x-odd+json": {"b": 1, "a": [None, 1.50]}, "text/x-odd": "t",
    "e2b/data": {"c": [None]}, "application/javascript": "j", "application/json": [1, {"k": None}], "text/latex": "$l$",
    "application/pdf": "UERG", "image/jpeg": "SlBH", "image/png": "UE5H", "image/svg+xml": "<svg/>",
    "text/markdown": "*m*", "text/html": "<b>", "text/plain": "t"}, raw=True)`)
  assert.equal(lines(x)[1], '{"type": "result", "text": "t", "html": "<b>", "markdown": "*m*", "svg": "<svg/>", ' +
    '"png": "UE5H", "jpeg": "SlBH", "pdf": "UERG", "latex": "$l$", "json": [1, {"k": null}], "javascript": "j", ' +
    '"data": {"c": [null]}, "chart": {}, "extra": {"application/x-odd+json": {"b": 1, "a": [null, 1.5]}, ' +
    '"text/x-odd": "t"}, "is_main_result": false}')
})

test('an empty string is kept, what is null is not there', async () => {
  const x = await raw('display({"text/plain": "", "text/html": ""}, raw=True)')
  assert.equal(lines(x)[1], '{"type": "result", "text": "", "html": "", "extra": {}, "is_main_result": false}')
})

test('a quoted string\'s text is its value', async () => {
  for (const [code, text] of [
    [String.raw`'a\nb'`, 'a\nb'], [String.raw`"it's"`, "it's"], [String.raw`'"' + "'"`, '"\''],
    [String.raw`'\\n'`, '\\n'], [String.raw`'\t\r\x00\x7f\x85\xa0'`, '\t\r\0\x7f\x85\xa0'],
    [`'\u4e2d\u{1f600}'`, '\u4e2d\u{1f600}'], [String.raw`'\u2028\ue000\U0001fbff'`, '\u2028\ue000\u{1fbff}'],
    ["''", ''], ["'x' * 3", 'xxx'],
  ]) assert.equal((await main(code)).text, text, code)
})

test('what is no single string literal stays as it is', async () => {
  const shown = (text) => main(`class R:\n  def __repr__(self): return ${JSON.stringify(text)}\nR()`)
  for (const text of ["'a' + 'b'", "'", '"', "'a\"", "b'x'", "'a', 'b'", "('a')", "'a\nb'", "'a'\n'b'", "'\\'", 'plain', "['a']"])
    assert.equal((await shown(text)).text, text, text)
  for (const [code, text] of [["b'x'", "b'x'"], ["'a', 'b'", "('a', 'b')"], ["['a']", "['a']"], ['1.50', '1.5']])
    assert.equal((await main(code)).text, text)
})

test('a lone surrogate is an escape, not broken UTF-8 and not a broken line', async () => {
  const x = await raw(String.raw`display({"text/plain": "t", "application/json": {"s": "\ud800"}}, raw=True)` + '\n1')
  assert.equal(records(x.text).at(-1).type, 'end_of_execution')
  const y = await raw(String.raw`print("\ud800")`)
  assert.equal(records(y.text).at(-1).type, 'end_of_execution')
  assert.equal(textOf(await s.execute('print("ok")')), 'ok\n')
})

// ipykernel 6.17 itself makes strings of NaN and infinities; what a kernel lets through, k_faults sends.
test('digits stay as they were written; NaN never breaks a record', async () => {
  const x = await raw('display({"application/json": {"c": 9007199254740993, "d": 2**70, "e": -2**63, "f": 0.1, ' +
    '"h": 1e-7, "i": True, "a": float("nan"), "b": [float("inf"), -float("inf")]}}, raw=True)')
  assert.match(lines(x)[1], /"json": \{"c": 9007199254740993, "d": 1180591620717411303424, "e": -9223372036854775808, "f": 0\.1, "h": 1e-07, "i": true, "a": (null|"nan"), "b": \[(null|"inf"), (null|"-inf")\]\}/)
  JSON.parse(lines(x)[1])
})

test('keys that are no strings, and bytes, arrive as the kernel made them', async () => {
  const [r] = only(await s.execute('display({"application/json": {5: 6, None: 7}, "application/octet-stream": b"\\x00\\xff"}, raw=True)'), 'result')
  assert.deepEqual(Object.keys(r.json), ['5', 'null'])
  assert.deepEqual(r.extra, { 'application/octet-stream': 'AP8=\n' })
})

test('line breaks of every kind do not break a record', async () => {
  const odd = '\\x0b\\x0c\\x1c\\x1d\\x1e\\x85\\u2028\\u2029\\r\\x00\\x7f'
  const x = await raw(`print("a${odd}b", end="")`)
  assert.match(x.text, /^[\x20-\x7f\n]*$/)
  assert.equal(textOf(records(x.text)), 'a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r\0\x7fb')
  assert.ok(x.text.includes('a\\u000b\\f\\u001c\\u001d\\u001e\\u0085\\u2028\\u2029\\r\\u0000'))
})

test('code with every hard character comes back as it went', async () => {
  const text = '\u4e2d\u{1f600}\u2028\x85\x7f "\\ \' \t</script>{}%s$HOME`'
  assert.equal(textOf(await s.execute(`print(${JSON.stringify(text)}, end="")`)), text)
  const escaped = JSON.stringify({ code: `print(${JSON.stringify(text)}, end="")` })
    .replace(/[^\x00-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const x = await s.e2b('POST', '/execute', escaped)
  assert.equal(textOf(records(x.text)), text)
})

test('100,000 prints: all of it, in order', async () => {
  const all = await s.execute('for i in range(100000): print(i)')
  assert.equal(textOf(all), Array.from({ length: 100000 }, (_, i) => `${i}\n`).join(''))
})

test('10 MB in one write: pieces of at most 64 KiB, none cut within a character', async () => {
  const x = await raw('import sys; _ = sys.stdout.write("a" + "\\U0001f600\\u4e2d" * 1_400_000)')
  const pieces = only(records(x.text), 'stdout')
  assert.equal(pieces.map((r) => r.text).join(''), `a${'\u{1f600}\u4e2d'.repeat(1400000)}`)
  for (const { text } of pieces) {
    assert.ok(Buffer.byteLength(text) <= 65536)
    assert.ok(text.isWellFormed?.() ?? !text.includes('\ufffd'))
  }
  assert.equal(new Set(pieces.map((r) => r.timestamp)).size, 1, 'one write, one time')
})

test('a result of 5 MB is one record', async () => {
  const [r] = only(await s.execute("'r' * 5_000_000"), 'result')
  assert.equal(r.text.replaceAll("'", '').length, 5000000)
})

test('keep-alives: about every 5 s of silence, none while there is output', { timeout: 30000 }, async () => {
  const x = await raw('import time\nfor i in range(4): print(i, flush=True); time.sleep(1.5)\ntime.sleep(9.5)')
  const all = arrivals(x.parts)
  const alive = all.filter((r) => r.type === 'keepalive')
  assert.equal(alive.length, 2)
  assert.equal(x.text.split('\n').filter((l) => l === '{"type": "keepalive"}').length, 2)
  const last = only(all, 'stdout').at(-1).wall
  for (const [i, r] of alive.entries()) {
    const since = r.wall - (i === 0 ? last : alive[0].wall)
    assert.ok(since > 4500 && since < 6000, `${since} ms`)
  }
})

test('timestamps are the kernel\'s, to the microsecond, and grow', async () => {
  const all = only(await s.execute('import sys, time\nfor i in range(3): sys.stdout.write(f"{time.time()}\\n"); sys.stdout.flush(); time.sleep(0.3)'), 'stdout')
  let before = 0
  for (const r of all) {
    const at = Date.parse(r.timestamp)
    assert.ok(Math.abs(at - Number(r.text) * 1000) < 100)
    assert.ok(at > before)
    before = at
  }
})

test('an exception group, a syntax error, SystemExit: one error, and the context lives', async () => {
  for (const [code, name] of [['def f(:', 'SyntaxError'], ['raise ExceptionGroup("g", [ValueError(1), TypeError(2)])', 'ExceptionGroup'],
    ['raise SystemExit(3)', 'SystemExit'], ['%nosuchmagic', 'UsageError'], ['raise KeyboardInterrupt', 'KeyboardInterrupt']]) {
    const errors = only(await s.execute(code), 'error')
    assert.deepEqual(errors.map((e) => e.name), [name], code)
    assert.ok(!errors.some((e) => e.traceback.includes('\x1b')))
  }
  assert.equal((await main('2')).text, '2')
})
