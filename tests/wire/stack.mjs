// stack.mjs - a whole stack for a test: nginx, nb2-fcgi, and a Jupyter Server, real or scripted.
// A private state directory, free ports, everything ended by its pid. NB2_BUILD names the build.

import { spawn, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { startFake } from '../fake/jupyter.mjs'
import { open, request } from './http.mjs'

const top = path.resolve(import.meta.dirname, '../..')
export const build = process.env.NB2_BUILD || path.join(top, 'build')
const python = '/usr/bin/python3'

// Poll until check() is truthy. Only for what gives no event of its own.
export async function until(check, ms = 20000, what = 'the condition') {
  const end = Date.now() + ms
  for (;;) {
    const value = await check()
    if (value) return value
    if (Date.now() > end) throw new Error(`${what} did not come true within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

// A process is there and no zombie.
export function alive(pid) {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

export class Child {
  constructor(name, log, command, args, options = {}) {
    const out = fs.openSync(log, 'a')
    this.name = name
    this.process = spawn(command, args, { stdio: ['ignore', out, out], detached: true, ...options })
    this.exited = once(this.process, 'exit').catch(() => {}) // no such program: see lives()
    fs.closeSync(out)
  }

  get pid() {
    return this.process.pid
  }

  // True, or an error: what has ended will not answer any more.
  lives() {
    if (this.pid && this.process.exitCode === null && this.process.signalCode === null) return true
    throw new Error(`${this.name} did not start, or ended`)
  }

  async stop(signal = 'SIGTERM', ms = 8000) {
    if (!this.pid || this.process.exitCode !== null || this.process.signalCode !== null) return
    this.process.kill(signal)
    const late = setTimeout(() => this.process.kill('SIGKILL'), ms)
    await this.exited
    clearTimeout(late)
  }
}

export class Stack {
  // jupyter: 'fake' or 'real'. settings: of nb2.conf. fake: settings of the scripted server.
  // nginx: a function of the stack that gives more servers for http {}.
  constructor({ jupyter = 'fake', workers = 2, settings = {}, fake = {}, nginx } = {}) {
    Object.assign(this, { kind: jupyter, workers, settings, fakeSettings: fake, nginxExtra: nginx })
    this.state = fs.mkdtempSync(path.join(os.tmpdir(), 'nb2-'))
    this.run = path.join(this.state, 'run')
    this.token = 'ab'.repeat(32)
  }

  async start() {
    for (const dir of ['run', 'log', 'workspace', 'nginx', 'nginx/http.d', 'jupyter/config',
      'jupyter/data', 'jupyter/runtime', 'ipython'])
      fs.mkdirSync(path.join(this.state, dir), { recursive: true })
    fs.writeFileSync(path.join(this.state, 'token'), this.token, { mode: 0o600 })
    fs.writeFileSync(path.join(this.state, 'jupyter-token'), 'T', { mode: 0o600 })
    this.port = await freePort()
    this.e2bPort = await freePort()
    this.js = path.join(this.run, 'js.sock')
    try {
      await this.startJupyter()
      await this.startMaster()
      await this.startNginx()
      await until(() => this.nginx.lives() && this.get('/nb2/health').then((x) => x.status === 200, () => false), 15000, 'health')
    } catch (e) {
      const logs = this.logs()
      await this.stop()
      throw new Error(`${e.message}\n${logs}`)
    }
    return this
  }

  async startJupyter() {
    if (this.kind === 'fake') {
      this.fake = await startFake({ unix: this.js, token: 'T', settings: this.fakeSettings })
      return
    }
    const dir = (name) => path.join(this.state, name)
    this.jupyter = new Child('jupyter', dir('log/jupyter.log'), python, ['-m', 'jupyter_server',
      `--config=${top}/conf/jupyter/jupyter_server_config.py`, '--no-browser', '--allow-root',
      '--ServerApp.token=T', `--ServerApp.sock=${this.js}`, '--ServerApp.sock_mode=0600'], {
      cwd: dir('workspace'),
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: this.state, LANG: 'C.UTF-8',
        JUPYTER_CONFIG_DIR: dir('jupyter/config'), JUPYTER_DATA_DIR: dir('jupyter/data'),
        JUPYTER_RUNTIME_DIR: dir('jupyter/runtime'), IPYTHONDIR: dir('ipython'),
        NB2_WORKSPACE: dir('workspace'), NB2_TEST_RUN: process.env.NB2_TEST_RUN ?? '' },
    })
    await until(() => this.jupyter.lives() && fs.existsSync(this.js), 20000, 'the Jupyter server')
  }

  async startMaster() {
    const all = { stateDir: this.state, workers: this.workers, ...this.settings }
    const conf = Object.entries(all).map(([k, v]) => `${k} = ${v}\n`).join('')
    fs.writeFileSync(path.join(this.state, 'nb2.conf'), conf)
    this.master = new Child('nb2-fcgi', path.join(this.state, 'log/nb2.log'),
      path.join(build, 'nb2-fcgi'), ['-c', path.join(this.state, 'nb2.conf')])
    await until(() => this.master.lives() && fs.existsSync(path.join(this.run, 's15.sock')), 10000, 'the slots')
  }

  async startNginx() {
    const dir = path.join(this.state, 'nginx')
    if (this.nginxExtra)
      fs.writeFileSync(path.join(dir, 'http.d/test.conf'), this.nginxExtra(this))
    execFileSync(path.join(top, 'conf/nginx/render'), [dir, `RUN=${this.run}`,
      `LOG=${this.state}/log`, `PORT=${this.port}`, `E2B_PORT=${this.e2bPort}`])
    this.nginx = new Child('nginx', path.join(this.state, 'log/nginx.out'), '/usr/sbin/nginx',
      ['-p', dir, '-c', path.join(dir, 'nginx.conf'), '-g', 'daemon off;'])
  }

  // The workers' pids, by the master's children.
  workerPids() {
    const file = `/proc/${this.master.pid}/task/${this.master.pid}/children`
    return fs.readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  }

  logs() {
    const dir = path.join(this.state, 'log')
    return fs.readdirSync(dir).map((name) =>
      `--- ${name}\n${fs.readFileSync(path.join(dir, name), 'utf8').slice(-3000)}`).join('\n')
  }

  log(name) {
    const file = path.join(this.state, 'log', name)
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  }

  async stop() {
    for (const child of [this.nginx, this.master, this.jupyter])
      await child?.stop()
    await this.fake?.close()
    const found = /^.*(Sanitizer|runtime error|Assertion).*$[^]{0,3000}/m.exec(this.log('nb2.log'))
    fs.rmSync(this.state, { recursive: true, force: true, maxRetries: 5 })
    if (found) throw new Error(`the worker's log has: ${found[0]}`)
  }

  // Requests on the main listener carry no token unless the test gives one.
  get(where, options = {}) {
    return request({ port: this.port, method: 'GET', path: where, ...options })
  }

  // On the E2B listener.
  e2b(method, where, body, options = {}) {
    return request({ port: this.e2bPort, method, path: where, body, ...options })
  }

  // A POST whose answer is watched as it comes.
  e2bOpen(where, body, options = {}) {
    return open({ port: this.e2bPort, method: 'POST', path: where, body, ...options })
  }

  async execute(code, more = {}, options = {}) {
    const answer = await this.e2b('POST', '/execute', { code, ...more }, options)
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    return records(answer.text)
  }
}

export function records(text) {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the stream does not end with a newline')
  return lines.map((line) => JSON.parse(line)).filter((r) => r.type !== 'keepalive')
}

// The text of all records of one type.
export const textOf = (all, type = 'stdout') =>
  all.filter((r) => r.type === type).map((r) => r.text).join('')

export const only = (all, type) => all.filter((r) => r.type === type)
