// q_quickstart - README's first command: up with one real cell, again, down without a trace.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { alive, freePort } from './stack.mjs'
import { request } from './http.mjs'

const top = path.resolve(import.meta.dirname, '../..')
const state = fs.mkdtempSync(path.join(os.tmpdir(), 'nb2q-'))
const env = { ...process.env, NB2_STATE: state, NB2_PORT: String(await freePort()),
  NB2_E2B_PORT: String(await freePort()) }
const quickstart = (args, more = {}) => spawnSync(path.join(top, 'conf/quickstart'), args,
  { env: { ...env, ...more }, encoding: 'utf8', timeout: 240000 })

after(() => {
  quickstart(['stop'])
  fs.rmSync(state, { recursive: true, force: true, maxRetries: 5 })
})

const pids = () => fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n) && alive(Number(n))).filter((n) => {
  try {
    return fs.readFileSync(`/proc/${n}/cmdline`, 'utf8').includes(state)
  } catch {
    return false
  }
})

test('start: one real cell through nginx, and the page\'s address', { timeout: 300000 }, () => {
  const x = quickstart([])
  assert.equal(x.status, 0, x.stdout + x.stderr)
  assert.match(x.stdout, /"type": "result", "text": "[^"]*42"/)
  const token = fs.readFileSync(path.join(state, 'token'), 'utf8').trim()
  assert.match(token, /^[0-9a-f]{64}$/)
  assert.equal(fs.statSync(path.join(state, 'token')).mode & 0o777, 0o600)
  assert.ok(x.stdout.includes(`http://127.0.0.1:${env.NB2_PORT}/nb2/?token=${token}`))
})

test('the page and its assets come from nginx', async () => {
  const page = await request({ port: env.NB2_PORT, path: '/nb2/' })
  assert.equal(page.status, 200)
  assert.match(page.headers['content-security-policy'], /default-src 'none'/)
  assert.equal(page.headers['x-content-type-options'], 'nosniff')
  const [asset] = page.text.match(/assets\/main\.[0-9a-f]+\.js/)
  const x = await request({ port: env.NB2_PORT, path: `/nb2/${asset}` })
  assert.equal(x.status, 200)
  assert.match(x.headers['cache-control'], /max-age=31536000, immutable/)
})

test('run, status, start again', () => {
  const run = quickstart(['run', 'print("hello"); 6 * 7'])
  assert.equal(run.status, 0, run.stderr)
  assert.match(run.stdout, /hello\n.*42/s)
  assert.equal(quickstart(['status']).status, 0)
  const before = pids()
  assert.equal(quickstart(['start']).status, 0)
  assert.ok(before.every((p) => pids().includes(p)), 'nothing was restarted')
})

test('what was killed comes back', () => {
  const master = Number(fs.readFileSync(path.join(state, 'run/nb2-fcgi.pid'), 'utf8').trim().split(/\s/)[0])
  process.kill(master, 'SIGKILL')
  const x = quickstart(['start'])
  assert.equal(x.status, 0, x.stdout + x.stderr)
  assert.match(quickstart(['run', '1+1']).stdout, /2/)
})

test('stop leaves no process', () => {
  assert.equal(quickstart(['stop']).status, 0)
  assert.deepEqual(pids(), [])
  assert.equal(quickstart(['status']).status, 3)
})

test('one clear sentence: a port in use, a port that is none, a path too long', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Not spawnSync: this process must go on holding the port.
  const child = spawn(path.join(top, 'conf/quickstart'), [], { env: { ...env, NB2_PORT: String(server.address().port) } })
  let err = ''
  child.stderr.on('data', (d) => { err += d })
  const [code] = await once(child, 'exit')
  server.close()
  assert.equal(code, 1)
  assert.match(err, /^quickstart: [^\n]* in use[^\n]*\n$/)
  assert.match(quickstart([], { NB2_PORT: 'x' }).stderr, /^quickstart: NB2_PORT must be a port number/)
  assert.match(quickstart([], { NB2_STATE: `/tmp/${'x'.repeat(120)}` }).stderr, /^quickstart: [^\n]*fit a unix socket[^\n]*\n$/)
})
