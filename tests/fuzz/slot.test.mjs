// slot - mutated FastCGI conversations on a slot's socket: the worker stays alive, answers good
// requests in between, and keeps its size. Seeded; NB2_FUZZ_CASES and NB2_FUZZ_SEED choose.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { Slot, ask, begin, params, record, requestBytes } from '../wire/fcgi.mjs'
import { slotOf } from '../wire/murmur.mjs'
import { Stack } from '../wire/stack.mjs'

const cases = Number(process.env.NB2_FUZZ_CASES || 20000)
let seed = Number(process.env.NB2_FUZZ_SEED || 1)
const side = 40 // conversations at a time

let s
before(async () => {
  s = await new Stack({ workers: 1, settings: { halfRequestS: 1, maxContexts: 4 } }).start()
})
after(() => s?.stop())

function random(n) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
  return (seed >>> 8) % n
}

const post = (path, body) => requestBytes({ REQUEST_METHOD: 'POST', REQUEST_URI: path, DOCUMENT_URI: path,
  CONTENT_TYPE: 'application/json', NB2_LISTENER: 'e2b' }, body)

const good = [
  requestBytes(),
  requestBytes({ QUERY_STRING: 'sid=a%3Ab&token=x&&=&%' }, '', { flags: 1 }),
  post('/nb2/auth', '{"token": "x"}'),
  post('/execute', '{"code": "result 1", "env_vars": {"A": "\\u4e2d"}}'),
  post('/contexts', '{"cwd": 1}'),
  Buffer.concat([record(9, 0, params({ FCGI_MPXS_CONNS: '', FCGI_MAX_REQS: '' })), record(200, 0, Buffer.alloc(9))]),
  Buffer.concat([begin(1, 1, 1), record(4, 1, params({ A: 'b'.repeat(300) }), 7), record(2, 1)]),
  Buffer.concat([begin(7), record(4, 7), record(5, 7, Buffer.from('x')), record(5, 7)]),
]

const tricks = [
  (b) => { b[random(b.length)] = random(256); return b },
  (b) => { b[random(b.length)] ^= 1 << random(8); return b },
  (b) => b.subarray(0, random(b.length + 1)),
  (b) => { const i = random(b.length); return Buffer.concat([b.subarray(0, i), b.subarray(i + 1 + random(20))]) },
  (b) => { const i = random(b.length); return Buffer.concat([b.subarray(0, i), b.subarray(random(i + 1), i), b.subarray(i)]) },
  (b) => { b.writeUInt16BE([0, 1, 65535, 65528, 32768][random(5)], random(Math.max(1, b.length - 1))); return b },
  (b) => Buffer.concat([b, good[random(good.length)]]),
]

function mutated() {
  let b = Buffer.from(good[random(good.length)])
  for (let n = random(5); n > 0 && b.length > 2; n--) b = tricks[random(tricks.length)](Buffer.from(b))
  return b
}

const descriptors = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length

test(`${cases} mutated conversations`, { timeout: 900000 }, async () => {
  const socket = `${s.run}/s${String(slotOf('default')).padStart(2, '0')}.sock`
  const [pid] = s.workerPids()
  const before = descriptors(pid)
  for (let done = 0; done < cases; done += side) {
    const slots = Array.from({ length: side }, () => {
      const slot = new Slot(socket).send(mutated())
      slot.socket.end() // no more is coming: to the worker the peer has left
      return slot
    })
    await Promise.all(slots.map((x) => x.closed))
    if (done % 4000 === 0) assert.match(await ask(socket), /^Status: 200 OK\r\n/)
  }
  assert.deepEqual(s.workerPids(), [pid], 'the same worker lives')
  assert.match(await ask(socket), /"ok":true/)
  assert.ok(descriptors(pid) <= before + 12, `descriptors: ${before}, then ${descriptors(pid)}`)
  assert.ok(!/Sanitizer|runtime error/.test(s.log('nb2.log')))
})
