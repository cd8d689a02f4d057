// bench.mjs - what nb2 adds to the kernel's own time, and what it costs to stay up.
//
// Each figure of time is the median over interleaved rounds: the same code through nginx and nb2
// (through.py), and over raw ZeroMQ to the same kernel (raw.py). The machine's noise hits both
// alike, so the ratio is what counts.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { Stack, records, textOf } from '../wire/stack.mjs'

const short = process.argv.includes('--short')
const median = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)]

function line(name, value, unit, ratio, goal) {
  const ok = goal === undefined ? '-' : ratio <= goal ? 'ok' : 'short'
  const show = (n) => n === undefined ? '-' : Number.isInteger(n) ? n : n.toFixed(3)
  console.log(`${name.padEnd(28)} ${String(show(value)).padStart(10)} ${unit.padEnd(6)} ${String(show(ratio)).padStart(8)} ${String(show(goal)).padStart(6)} ${ok}`)
}

// A client in a process of its own: a line in, a line out.
class Client {
  static async open(script, arg) {
    const client = new Client()
    client.process = spawn('/usr/bin/python3', [path.join(import.meta.dirname, script), arg],
      { stdio: ['pipe', 'pipe', 'inherit'] })
    client.lines = readline.createInterface({ input: client.process.stdout })[Symbol.asyncIterator]()
    await client.lines.next()
    return client
  }

  async run(code, more = {}) {
    this.process.stdin.write(`${JSON.stringify({ code, ...more })}\n`)
    return JSON.parse((await this.lines.next()).value)
  }

  async close() {
    this.process.stdin.end()
    await once(this.process, 'exit')
  }
}

// Medians of interleaved rounds, and their ratio.
async function compare(name, code, { rounds, each, goal, more, check }) {
  const here = []
  const floor = []
  for (let i = 0; i < rounds; i++) {
    for (let k = 0; k < each; k++) {
      const x = await through.run(code, more)
      if (check && !check(x.text)) throw new Error(`${name}: the answer is wrong`)
      here.push(x.ms)
    }
    for (let k = 0; k < each; k++) floor.push((await raw.run(code)).ms)
  }
  line(name, median(here), 'ms', median(here) / median(floor), goal)
}

const memory = (pid) => Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1])
const descriptors = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length

// The same thousands of requests twice: what the second half adds is growth.
async function flatness(stack) {
  const [pid] = stack.workerPids()
  const n = short ? 500 : 5000
  const half = async () => {
    for (let i = 0; i < n; i++) {
      if (i % 10 === 0) await through.run('1+1', i % 20 ? {} : { env_vars: { A: 'x' } })
      else await stack.get('/nb2/health')
    }
  }
  await half()
  const before = [memory(pid), descriptors(pid)]
  await half()
  line('memory growth', memory(pid) - before[0], 'KiB', (memory(pid) - before[0]) / before[0], 0.05)
  line('descriptor growth', descriptors(pid) - before[1], 'fd', descriptors(pid) - before[1], 0)
  line('memory of the worker', memory(pid), 'KiB')
}

const stack = await new Stack({ jupyter: 'real', workers: 1 }).start()
const through = await Client.open('through.py', String(stack.e2bPort))
let raw
try {
  await through.run('1+1')
  const runtime = path.join(stack.state, 'jupyter/runtime')
  const file = fs.readdirSync(runtime).find((f) => /^kernel-.*\.json$/.test(f))
  raw = await Client.open('raw.py', path.join(runtime, file))
  console.log('name                              value unit      ratio   goal')
  const rounds = short ? 3 : 6
  await compare('1+1', '1+1', { rounds, each: short ? 30 : 100, goal: 1.25,
    check: (t) => t.includes('"text": "2"') })
  await compare('1+1 with env', '1+1', { rounds, each: short ? 20 : 50, more: { env_vars: { A: '1', B: '2' } } })
  const all = (n) => Array.from({ length: n }, (_, i) => `${i}\n`).join('')
  const complete = (n) => (t) => textOf(records(t)) === all(n)
  await compare('100,000 prints', 'for i in range(100000): print(i)', { rounds, each: 1, check: complete(100000) })
  await compare('10,000 flushed prints', 'for i in range(10000): print(i, flush=True)',
    { rounds: short ? 1 : 3, each: 1, check: complete(10000) })
  await compare('10 MB', 'print("z" * 10_000_000)', { rounds, each: 1,
    check: (t) => textOf(records(t)).length === 10000001 })
  await flatness(stack)
} finally {
  await raw?.close()
  await through.close()
  await stack.stop()
}
process.exit(0)
