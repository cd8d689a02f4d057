// run.mjs - one execute_request in the fake kernel: its messages, its waits, its end.
// Emits in ipykernel's order: busy, execute_input, output, execute_reply, idle.

import { CellAbort, CellError, parseScript } from './script.mjs'
import { makeHeader, newId } from './wire.mjs'

class Interrupted extends Error {}
class Killed extends Error {}

export class Run {
  constructor(kernel, request, session) {
    const content = request.content ?? {}
    this.kernel = kernel
    this.hub = kernel.hub
    this.request = request
    this.session = session
    this.content = content
    this.silent = content.silent === true
    this.history = content.store_history ?? !this.silent
    this.plan = parseScript(String(content.code ?? ''), this.silent)
    for (const part of kernel.modes.takeLose(this.silent ? 'silent' : 'user')) {
      this.plan.lose.add(part)
    }
    this.killed = false
    this.interrupted = false
    this.blocked = null
    this.onInput = null
    this.started = new Date().toISOString()
  }

  // The whole life of the request. Resolves when the kernel may take the next one.
  async execute() {
    try {
      this.status('busy')
      if (!this.silent) this.emit('execute_input', 'iopub', 'execute_input',
        { code: this.content.code, execution_count: this.kernel.count + 1 })
      const reply = await this.body()
      if (!this.silent && this.history) this.kernel.count++
      await this.finish(reply)
    } catch (e) {
      if (!(e instanceof Killed)) throw e
    }
  }

  // Run the steps; returns the reply's content.
  async body() {
    try {
      await this.breathe()
      const { silentMs } = this.kernel.modes.settings
      if (this.silent && silentMs && !this.plan.steps.length) await this.block({ ms: silentMs })
      for (const step of this.plan.steps) {
        await step(this)
        this.checkAlive()
      }
      return this.okReply()
    } catch (e) {
      if (e instanceof Interrupted) return this.fail('KeyboardInterrupt', '')
      if (e instanceof CellError) return this.fail(e.ename, e.evalue)
      if (e instanceof CellAbort) return { status: e.status }
      throw e
    }
  }

  okReply() {
    const user_expressions = {}
    for (const name of Object.keys(this.content.user_expressions ?? {})) {
      user_expressions[name] = { status: 'ok', data: { 'text/plain': "''" }, metadata: {} }
    }
    return { status: 'ok', user_expressions, payload: [] }
  }

  // error on iopub, and the same again for the reply.
  fail(ename, evalue) {
    const traceback = ['\u001b[0;31m' + '-'.repeat(75) + '\u001b[0m',
      `\u001b[0;31m${ename}\u001b[0m                         Traceback (most recent call last)`,
      `Cell \u001b[0;32mIn [${this.kernel.count + 1}], line 1\u001b[0m`,
      `\u001b[0;31m${ename}\u001b[0m: ${evalue}`]
    this.emit('error', 'iopub', 'error', { traceback, ename, evalue })
    const engine_info = { engine_uuid: this.kernel.engine, engine_id: -1, method: 'execute' }
    return { status: 'error', traceback, ename, evalue, engine_info, user_expressions: {},
      payload: [] }
  }

  async finish(content) {
    const { order, orderMs } = this.plan
    const idle = () => this.status('idle')
    const reply = () => this.reply(content)
    const [first, second] = order === 'idle-first' ? [idle, reply] : [reply, idle]
    first()
    if (orderMs) await this.block({ ms: orderMs, deaf: true })
    second()
    for (const { ms, text } of this.plan.late) this.kernel.later(ms, () => this.late(text))
  }

  // Output after the end, with this request still as its parent.
  late(text) {
    try {
      this.iopub('stream', { name: 'stdout', text })
    } catch (e) {
      if (!(e instanceof Killed)) throw e
    }
  }

  reply(content) {
    if (content.status === 'error' && !this.silent && this.content.stop_on_error !== false) {
      this.kernel.abortQueued()
    }
    const counted = /^abort/.test(content.status) ? {} : { execution_count: this.kernel.count }
    const whole = { ...content, ...counted, ...this.plan.reply }
    const metadata = { started: this.started, dependencies_met: true,
      engine: this.kernel.engine, status: whole.status }
    this.emit('reply', 'shell', 'execute_reply', whole, { metadata })
    if (this.plan.duplicateReply) this.emit('reply', 'shell', 'execute_reply', whole, { metadata })
  }

  status(execution_state) {
    this.emit(execution_state, 'iopub', 'status', { execution_state })
  }

  iopub(msg_type, content) {
    this.emit(msg_type, 'iopub', msg_type, content)
  }

  result(data) {
    this.iopub('execute_result', { data, metadata: {}, execution_count: this.kernel.count + 1 })
  }

  // Send a message unless it is to be lost; first whatever `at` has planned for this moment.
  emit(part, channel, msg_type, content, { metadata = {} } = {}) {
    this.checkKilled()
    const action = this.plan.at.get(part) ?? this.plan.at.get(msg_type)
    if (action) {
      this.plan.at.delete(this.plan.at.has(part) ? part : msg_type)
      this.act(action)
      this.checkKilled()
    }
    if (this.plan.lose.has(part) || this.plan.lose.has(msg_type)) return
    this.kernel.send(channel, msg_type, content, this.request.header,
      channel === 'iopub' ? null : this.session, { metadata })
  }

  // Any message a test can write down.
  raw(message) {
    const { msg_type = 'raw', content = {}, channel = 'iopub', metadata = {}, header = {} } = message
    const parent = message.parent_header ?? this.request.header
    const buffers = (message.buffers ?? []).map((b) => Buffer.from(b, 'base64'))
    this.hub.publish({ channel, header: { ...makeHeader(msg_type, this.kernel.engine), ...header },
      parent_header: parent, metadata, content, buffers }, channel === 'iopub' ? null : this.session)
  }

  // Messages of a request that this client never sent, and of none at all.
  strayMessages() {
    const foreign = makeHeader('execute_request', newId())
    for (const parent_header of [foreign, {}]) {
      this.raw({ msg_type: 'status', content: { execution_state: 'busy' }, parent_header })
      this.raw({ msg_type: 'stream', content: { name: 'stdout', text: 'stray\n' }, parent_header })
      this.raw({ msg_type: 'status', content: { execution_state: 'idle' }, parent_header })
    }
    this.raw({ channel: 'shell', msg_type: 'execute_reply', parent_header: foreign,
      content: { status: 'ok', execution_count: 99, user_expressions: {}, payload: [] } })
  }

  // Ask the client; resolves with what it answers.
  async input(prompt) {
    this.emit('input_request', 'stdin', 'input_request', { prompt, password: false })
    let value = ''
    this.onInput = (content) => {
      value = content?.value ?? ''
      this.blocked?.resolve()
    }
    await this.block({})
    this.onInput = null
    return value
  }

  // A fault. Death leaves nothing more to say, so it ends the run by throwing.
  act(action, restarts = 0) {
    this.kernel.modes.log('fault', { kernel: this.kernel.id, action,
      msg_id: this.request.header?.msg_id })
    if (action === 'drop-socket') this.hub.drop()
    else if (action === 'close-socket') this.hub.close()
    else if (action === 'half-frame') this.hub.each((ws) => { ws.cutNext = true })
    else this.kernel.fault(action, restarts)
    this.checkKilled()
  }

  // Wait: for ms, or for ever. deaf: an interrupt does not reach it.
  block({ ms, deaf = false }) {
    this.checkAlive(deaf)
    return new Promise((resolve, reject) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
      this.blocked = { resolve, reject, deaf, timer }
    }).finally(() => {
      clearTimeout(this.blocked?.timer)
      this.blocked = null
    })
  }

  // Until the test opens the gate of that name.
  async waitGate(name) {
    const over = new AbortController()
    this.kernel.modes.log('waiting', { kernel: this.kernel.id, gate: name })
    this.kernel.modes.gate(name, over.signal).then(() => {
      if (!over.signal.aborted) this.blocked?.resolve()
    })
    if (this.kernel.modes.gates.has(name)) return
    try {
      await this.block({})
    } finally {
      over.abort()
      this.kernel.modes.notify()
    }
  }

  // Let the loop take other work, then see whether we are still wanted.
  async breathe() {
    await new Promise(setImmediate)
    this.checkAlive()
  }

  checkKilled() {
    if (this.killed) throw new Killed()
  }

  checkAlive(deaf = false) {
    this.checkKilled()
    if (this.interrupted && !deaf) {
      this.interrupted = false
      throw new Interrupted()
    }
  }

  // SIGINT. Returns whether it will be felt.
  interrupt() {
    if (this.blocked?.deaf) return false
    if (this.blocked) this.blocked.reject(new Interrupted())
    else this.interrupted = true
    return true
  }

  kill() {
    this.killed = true
    this.blocked?.reject(new Killed())
  }
}
