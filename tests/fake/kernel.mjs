// kernel.mjs - a kernel process as its server sees it: it starts, answers in order, dies.
// Shell is first in, first out; control is answered at once. A request that arrives while no process
// is up waits in the ZMQ queue and reaches the next one; what a dying process held is lost.

import { Hub } from './hub.mjs'
import { Run } from './run.mjs'
import { makeHeader, newId } from './wire.mjs'

const INFO = {
  status: 'ok', protocol_version: '5.3', implementation: 'fake', implementation_version: '1.0',
  language_info: { name: 'python', version: '3.11.2', mimetype: 'text/x-python',
    file_extension: '.py' },
  banner: 'a scripted kernel', help_links: [],
}

// Requests with a fixed answer: reply type and content.
const ANSWERS = {
  kernel_info_request: () => ({ type: 'kernel_info_reply', content: INFO }),
  complete_request: (c) => ({ type: 'complete_reply', content: { status: 'ok', matches: [],
    cursor_start: c.cursor_pos, cursor_end: c.cursor_pos, metadata: {} } }),
  inspect_request: () => ({ type: 'inspect_reply',
    content: { status: 'ok', found: false, data: {}, metadata: {} } }),
  is_complete_request: () => ({ type: 'is_complete_reply', content: { status: 'complete' } }),
  history_request: () => ({ type: 'history_reply', content: { status: 'ok', history: [] } }),
  comm_info_request: () => ({ type: 'comm_info_reply', content: { status: 'ok', comms: {} } }),
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export class Kernel {
  constructor(name, modes, onGone) {
    this.id = newId()
    this.name = name
    this.modes = modes
    this.onGone = onGone
    this.hub = new Hub(this.id, modes, (message, session) => this.receive(message, session))
    this.state = 'starting'
    this.up = false
    this.gone = false
    this.activity = new Date().toISOString()
    this.queue = []
    this.control = []
    this.timers = new Set()
    this.run = null
    this.pumping = false
    this.generation = 0
    this.count = 0
    this.abortUntil = 0
  }

  // Bring a process up. stillborn: it never answers.
  boot({ stillborn = false, gap = 0 } = {}) {
    this.state = 'starting'
    this.engine = newId()
    this.count = 0
    if (stillborn) return
    this.later(this.modes.settings.startMs, () => {
      this.up = true
      this.state = 'idle'
      this.hub.deafUntil = gap ? performance.now() + gap : 0
      this.send('iopub', 'status', { execution_state: 'starting' }, {}, null)
      for (const [message, session] of this.control.splice(0)) this.answerControl(message, session)
      this.modes.notify()
      this.pump()
    })
  }

  // A timer that a death cancels.
  later(ms, action) {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      action()
    }, ms)
    this.timers.add(timer)
  }

  send(channel, msg_type, content, parent_header, session, { metadata = {} } = {}) {
    this.activity = new Date().toISOString()
    this.hub.publish({ channel, header: makeHeader(msg_type, this.engine), parent_header, metadata,
      content }, session)
  }

  status(execution_state, parent) {
    this.send('iopub', 'status', { execution_state }, parent, null)
  }

  // A message from a client.
  receive(message, session) {
    if (this.gone || this.silentDeath) return
    if (message.channel === 'stdin') {
      this.run?.onInput?.(message.content)
    } else if (message.channel === 'control') {
      if (this.modes.take('deafControl')) return
      if (this.up) this.answerControl(message, session)
      else this.control.push([message, session])
    } else {
      this.queue.push({ message, session, aborted: performance.now() < this.abortUntil })
      this.pump()
    }
  }

  answerControl(message, session) {
    const type = message.header?.msg_type
    const lose = this.modes.takeLose('probe')
    this.answer(message, session, 'control', lose, () => {
      if (type === 'interrupt_request') {
        this.interrupt('control')
        return { type: 'interrupt_reply', content: {} }
      }
      return ANSWERS[type]?.(message.content ?? {})
    })
    if (type === 'shutdown_request') this.fault('die')
  }

  // busy, reply, idle; an unknown type has no reply. replyOf may act.
  answer(message, session, channel, lose, replyOf) {
    const parent = message.header
    if (!lose.has('busy')) this.status('busy', parent)
    const reply = replyOf()
    if (reply && !lose.has('reply')) this.send(channel, reply.type, reply.content, parent, session)
    if (!lose.has('idle')) this.status('idle', parent)
  }

  // Work off the shell queue, one at a time, while this process lives.
  async pump() {
    if (this.pumping) return
    this.pumping = true
    const generation = this.generation
    while (this.up && generation === this.generation && this.queue.length) {
      await this.shell(this.queue.shift())
    }
    if (generation !== this.generation) return
    this.pumping = false
    if (this.up) this.state = 'idle'
    this.modes.notify()
  }

  async shell({ message, session, aborted }) {
    const type = message.header?.msg_type
    if (type !== 'execute_request') {
      const lose = this.modes.takeLose(type === 'kernel_info_request' ? 'fence' : 'other')
      this.answer(message, session, 'shell', lose, () => ANSWERS[type]?.(message.content ?? {}))
      return
    }
    if (aborted) return this.refuse(message, session)
    this.state = 'busy'
    this.run = new Run(this, message, session)
    try {
      await this.run.execute()
    } finally {
      this.run = null
    }
  }

  // What stood behind an error: seen from the server, the reply overtakes its busy.
  refuse(message, session) {
    const metadata = { started: new Date().toISOString(), dependencies_met: true,
      engine: this.engine, status: 'aborted' }
    this.send('shell', 'execute_reply', { status: 'aborted' }, message.header, session, { metadata })
    this.status('busy', message.header)
    this.status('idle', message.header)
  }

  // An error aborts what is queued; for abortWindowMs also what comes after it.
  abortQueued() {
    for (const waiting of this.queue) waiting.aborted = true
    this.abortUntil = performance.now() + this.modes.settings.abortWindowMs
  }

  // SIGINT, or the message that stands for it.
  interrupt(by) {
    const msg_id = this.run?.request.header?.msg_id
    let effect = 'idle'
    if (this.modes.take('loseInterrupts')) effect = 'lost'
    else if (this.run) effect = this.run.interrupt() ? 'hit' : 'ignored'
    this.modes.log('interrupt', { kernel: this.id, by, effect, msg_id })
  }

  // The process is no more; nothing of it is heard again.
  kill() {
    this.generation++
    this.up = false
    this.pumping = false
    this.run?.kill()
    this.run = null
    this.queue = []
    this.control = []
    this.silentDeath = false
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
  }

  // Sudden death, in three manners.
  fault(manner, restarts = 0) {
    this.kill()
    if (manner === 'die-silent') {
      this.silentDeath = true
      this.state = 'busy'
      return
    }
    const { autorestartMs, restartGapMs } = this.modes.settings
    if (manner === 'die') {
      this.later(autorestartMs, () => {
        this.hub.announce('restarting')
        this.boot({ gap: restartGapMs })
      })
      return
    }
    for (let i = 0; i < restarts; i++) {
      this.later(autorestartMs * (i + 1), () => this.hub.announce('restarting'))
    }
    this.later(autorestartMs * (restarts + 1), () => {
      this.hub.announce('dead')
      this.remove()
    })
  }

  // End the process in the orderly way, as REST does: a running cell is interrupted first.
  async shutdown(restart) {
    const parent = makeHeader('shutdown_request', this.engine)
    if (this.up) {
      this.status('busy', parent)
      this.send('iopub', 'shutdown_reply', { status: 'ok', restart }, parent, null)
      if (this.run?.interrupt()) {
        const generation = this.generation
        await this.modes.until(() => !this.pumping || generation !== this.generation, 200)
      }
      this.status('idle', parent)
    }
    this.kill()
  }

  async restart() {
    await this.shutdown(true)
    await sleep(this.modes.settings.restartMs)
    if (!this.gone) this.boot({ gap: this.modes.settings.restartGapMs })
  }

  // Out of the server's table. Its WebSockets stay open, and mute.
  remove() {
    this.kill()
    this.gone = true
    this.state = 'dead'
    this.onGone(this)
    this.modes.log('gone', { kernel: this.id })
  }

  // Resolves when the kernel answers, or after ms.
  ready(ms) {
    return this.modes.until(() => this.up || this.silentDeath || this.gone, ms)
  }

  model() {
    return { id: this.id, name: this.name, last_activity: this.activity,
      execution_state: this.state, connections: this.hub.links.size }
  }
}
