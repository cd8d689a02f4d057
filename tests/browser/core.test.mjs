// core - the page's pure modules, in node: what people read is what the kernel said.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberText, pretty } from '../../static/src/core/json.js'
import { LineSplitter, recordOf } from '../../static/src/core/ndjson.js'
import { resultForm } from '../../static/src/core/result.js'

test('a member\'s text keeps its digits', () => {
  const line = '{"type": "result", "text": "{\\"json\\": 1}", "json": {"n": 9007199254740993, "json": [1e400, -0]}, "extra": {"json": 2}, "is_main_result": true}'
  assert.equal(memberText(line, 'json'), '{"n": 9007199254740993, "json": [1e400, -0]}')
  assert.equal(memberText(line, 'is_main_result'), 'true')
  assert.equal(memberText(line, 'n'), null)
  assert.equal(memberText('{"a": 1, "\\u0061": [2, {"a": 3}]}', 'a'), '[2, {"a": 3}]')
  assert.equal(memberText('{}', 'a'), null)
})

test('pretty changes white space alone', () => {
  for (const [text, expected] of [
    ['1', '1'],
    ['"a, {b: \\"c\\"} "', '"a, {b: \\"c\\"} "'],
    ['{}', '{}'],
    ['[[], {}]', '[\n  [],\n  {}\n]'],
    ['{"n": 9007199254740993, "a": [1, null]}', '{\n  "n": 9007199254740993,\n  "a": [\n    1,\n    null\n  ]\n}'],
  ]) assert.equal(pretty(text), expected)
})

test('what JSON.parse and JSON.stringify agree on looks the same', () => {
  let seed = 5
  const random = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 9) % n }
  const value = (depth) => {
    const kind = random(depth > 4 ? 4 : 6)
    if (kind === 0) return random(1000) / 8
    if (kind === 1) return ['', 'a"b', '\\', '{,}', '\u2028', ': '][random(6)]
    if (kind === 2) return [true, false, null][random(3)]
    if (kind === 3) return -random(9)
    if (kind === 4) return Array.from({ length: random(4) }, () => value(depth + 1))
    return Object.fromEntries(Array.from({ length: random(4) }, (_, i) => [`k${i}"`, value(depth + 1)]))
  }
  for (let i = 0; i < 2000; i++) {
    const v = value(0)
    assert.equal(pretty(JSON.stringify(v)), JSON.stringify(v, null, 2))
    assert.equal(memberText(JSON.stringify({ x: 1, v, y: 2 }), 'v'), JSON.stringify(v))
  }
})

test('lines end with a line feed and nothing else', () => {
  const splitter = new LineSplitter()
  assert.deepEqual(splitter.push('a\u2028b\x85c\nd'), ['a\u2028b\x85c'])
  assert.deepEqual(splitter.push('e\n\n'), ['de', ''])
  assert.deepEqual(splitter.end(), [])
})

test('a line that is no record is shown as one that is wrong', () => {
  for (const line of ['', '{', '[]', 'null', '{"a": 1}', '"x"']) assert.equal(recordOf(line).type, 'error')
})

test('the text of JSON is not another form', () => {
  const record = recordOf('{"type": "result", "json": {"n": 9007199254740993}, "extra": {}, "is_main_result": false}')
  assert.equal(record.jsonText, '{"n": 9007199254740993}')
  assert.deepEqual(resultForm(record).others, [])
})
