// modes.mjs - what a test may set (settings), and what it may ask (the log).
// A setting in COUNTERS is "the next N times" (-1 = every time): each use takes one away.
// Everything else stays until it is set again or reset.

const COUNTERS = ['refuseHandshakes', 'hangHandshakes', 'closeAfterOpen', 'failStart',
  'neverReady', 'failRestart', 'failDelete', 'loseInterrupts', 'deafControl', 'swallow']

// Times are short so that tests are; the real server's are in comments where they differ much.
const DEFAULTS = {
  // handshakes of /channels
  refuseHandshakes: 0, // answer refuseStatus, or cut the line when that is 0
  refuseStatus: 503,
  hangHandshakes: 0, // never answer the upgrade request
  closeAfterOpen: 0, // 101, then gone at once, no close frame (server out of ZMQ sockets)
  legacyOnly: false, // never select the v1 subprotocol
  staleCloseMs: 5000, // how long a mute WebSocket of the same session_id holds up its successor
  kernelInfoTimeoutMs: 15000, // how long a kernel that is not up holds up the handshake
  strays: 3, // status messages of the server's own nudge after an open
  maxMessageBytes: 10 * 1024 * 1024, // inbound; above, the line is cut without a close frame
  // starting, restarting, dying
  kernelspecs: ['python3'], // names; see rest.mjs for the languages known
  failStart: 0, // POST /api/sessions and /api/kernels answer 500
  neverReady: 0, // the kernel of the next N starts never comes up
  neverReadyGoneMs: 0, // ... and disappears from REST after this long (0 = never; real: 20 s)
  failRestart: 0, // POST restart answers 500, the kernel is left as it was
  failDelete: 0, // DELETE answers 500
  startMs: 20, // real: 600
  restartMs: 20, // until POST restart returns; real: 330 to 530
  autorestartMs: 30, // from death to `restarting`; real: 450 to 3000
  restartGapMs: 50, // iopub lost after a kernel came back; real: up to 1000
  // messages
  lose: {}, // {class: {part: N}}; see README
  replyDelayMs: 0, // hold shell replies back
  iopubDelayMs: 0, // hold iopub back (its order kept)
  abortWindowMs: 0, // an error also aborts what arrives this long after its idle (real: now and then)
  silentMs: 0, // a silent request that does nothing takes this long (interruptible)
  loseInterrupts: 0, // 204, and nothing happens
  deafControl: 0, // control requests that are never answered
  swallow: 0, // client messages on WebSockets that vanish unread (logged with swallowed: true)
}

export class Modes {
  constructor(initial = {}) {
    this.started = performance.now()
    this.entries = []
    this.listeners = new Set()
    this.gates = new Set()
    this.held = null
    this.reset()
    this.set(initial)
  }

  reset() {
    this.settings = structuredClone(DEFAULTS)
    this.gates.clear()
    this.release()
  }

  // Change settings; an unknown name is the test's mistake and is said so.
  set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (!(name in DEFAULTS)) throw new Error(`no such setting: ${name}`)
      if (typeof value !== typeof DEFAULTS[name]) throw new Error(`wrong type: ${name}`)
      this.settings[name] = structuredClone(value)
    }
  }

  // Is this "next N times" mode due now? Takes one away. -1 never runs out.
  take(name) {
    if (!COUNTERS.includes(name)) throw new Error(`not a counter: ${name}`)
    if (this.settings[name] === 0) return false
    if (this.settings[name] > 0) this.settings[name]--
    return true
  }

  // The parts that this request of this class shall lose: each named part's count goes down.
  takeLose(className) {
    const parts = new Set()
    const counts = this.settings.lose[className] ?? {}
    for (const [part, left] of Object.entries(counts)) {
      if (left === 0) continue
      if (left > 0) counts[part]--
      parts.add(part)
    }
    return parts
  }

  // Hold the whole server: nothing is read, nothing answered, until release().
  hold() {
    if (this.held) return
    const held = {}
    held.promise = new Promise((resolve) => { held.resolve = resolve })
    this.held = held
    this.notify()
  }

  release() {
    if (!this.held) return
    this.held.resolve()
    this.held = null
    this.notify()
  }

  // Resolves once the server is not held.
  async free() {
    while (this.held) await this.held.promise
  }

  openGate(name) {
    this.gates.add(name)
    this.notify()
  }

  // Resolves when the gate is open; each gate opens once, for all.
  async gate(name, signal) {
    await this.until(() => this.gates.has(name) || signal?.aborted, Infinity)
  }

  // Append to the log. Bounded: a test that floods keeps its newest entries.
  log(kind, fields = {}) {
    const ms = Math.round((performance.now() - this.started) * 10) / 10
    this.entries.push({ ms, kind, ...fields })
    if (this.entries.length > 200000) this.entries.splice(0, 100000)
    this.notify()
  }

  find(match) {
    const wanted = Object.entries(match)
    return this.entries.filter((e) => wanted.every(([k, v]) => String(e[k]) === String(v)))
  }

  notify() {
    for (const listener of [...this.listeners]) listener()
  }

  // Resolves when test() holds; false after ms.
  until(test, ms = 5000) {
    return new Promise((resolve) => {
      const done = (value) => {
        this.listeners.delete(listener)
        clearTimeout(timer)
        resolve(value)
      }
      const listener = () => { if (test()) done(true) }
      const timer = ms === Infinity ? undefined : setTimeout(() => done(false), ms)
      this.listeners.add(listener)
      listener()
    })
  }
}
