// script.mjs - the line language: what a cell's code tells the fake kernel to do.
// Two tables: DIRECTIVES shape the whole request and may stand on any line; VERBS happen in order.
// A code without a single line of the language is ordinary code: nothing happens, it is ok.

// Thrown by a verb that ends the cell.
export class CellError extends Error {
  constructor(ename, evalue) {
    super(evalue)
    this.ename = ename
    this.evalue = evalue
  }
}

export class CellAbort extends Error {
  constructor(status) {
    super(status)
    this.status = status
  }
}

// TEXT: a JSON string is taken exactly; anything else is the rest of the line and a newline.
function textOf(rest, newline = '\n') {
  if (rest.startsWith('"')) return JSON.parse(rest)
  return rest + newline
}

function count(word) {
  if (!/^\d+$/.test(word ?? '')) throw new Error(`a number is wanted, not ${word}`)
  return Number(word)
}

function split(rest, n) {
  const words = []
  for (let i = 1; i < n; i++) {
    const at = rest.search(/\s/)
    if (at < 0) break
    words.push(rest.slice(0, at))
    rest = rest.slice(at).trimStart()
  }
  return [...words, rest]
}

const ACTIONS = ['drop-socket', 'close-socket', 'half-frame', 'die', 'die-silent', 'dead']

const DIRECTIVES = {
  'lose': (plan, rest) => { for (const part of rest.split(/\s+/)) plan.lose.add(part) },
  'at': (plan, rest) => {
    const [part, action] = split(rest, 2)
    if (!ACTIONS.includes(action)) throw new Error(`at: ${action} is not one of ${ACTIONS}`)
    plan.at.set(part, action)
  },
  'reply-before-idle': (plan, rest) => {
    plan.order = 'reply-first'
    plan.orderMs = rest ? count(rest) : 50
  },
  'idle-before-reply': (plan, rest) => {
    plan.order = 'idle-first'
    plan.orderMs = rest ? count(rest) : 50
  },
  'duplicate-reply': (plan) => { plan.duplicateReply = true },
  'reply': (plan, rest) => { Object.assign(plan.reply, JSON.parse(rest)) },
  'late': (plan, rest) => {
    const [ms, text] = split(rest, 2)
    plan.late.push({ ms: count(ms), text: textOf(text ?? '') })
  },
}

// Each verb checks its arguments when parsed and returns what to do with the run.
const VERBS = {
  'stdout': (rest) => stream('stdout', textOf(rest)),
  'stderr': (rest) => stream('stderr', textOf(rest)),
  'result': (rest) => {
    const data = { 'text/plain': textOf(rest, '') }
    return (run) => { if (!run.silent) run.result(data) }
  },
  'display': (rest) => {
    const [mime, json] = split(rest, 2)
    const data = { [mime]: JSON.parse(json) }
    return (run) => run.iopub('display_data', { data, metadata: {}, transient: {} })
  },
  'error': (rest) => {
    const [name, value = ''] = split(rest, 2)
    return () => { throw new CellError(name, value) }
  },
  'abort': (rest) => () => { throw new CellAbort(rest || 'abort') },
  'sleep': (rest) => {
    const ms = count(rest)
    return (run) => run.block({ ms })
  },
  'wait': (rest) => (run) => run.waitGate(rest),
  'hang': () => (run) => run.block({}),
  'hang-hard': () => (run) => run.block({ deaf: true }),
  'flood': (rest) => {
    const [n, bytes] = split(rest, 2).map(count)
    return (run) => flood(run, n, bytes)
  },
  'big': (rest) => {
    const bytes = count(rest)
    return (run) => run.iopub('stream', { name: 'stdout', text: 'x'.repeat(bytes) })
  },
  'input': (rest) => async (run) => {
    const value = await run.input(rest)
    run.iopub('stream', { name: 'stdout', text: `${value}\n` })
  },
  'ask': (rest) => async (run) => {
    if (run.content.allow_stdin !== true) {
      throw new CellError('StdinNotImplementedError', 'raw_input was called, but this frontend '
        + 'does not support input requests.')
    }
    run.iopub('stream', { name: 'stdout', text: `${await run.input(rest)}\n` })
  },
  'raw': (rest) => {
    const message = JSON.parse(rest)
    return (run) => run.raw(message)
  },
  'unknown-type': () => (run) => run.iopub('message_of_the_future', { any: ['thing'] }),
  'nan': () => (run) => run.iopub('display_data', Buffer.from('{"data": {"application/json": '
    + '{"nan": NaN, "inf": Infinity, "minus": -Infinity}}, "metadata": {}, "transient": {}}')),
  'huge-number': () => (run) => run.iopub('display_data', Buffer.from('{"data": '
    + '{"application/json": {"int": 123456789012345678901234567890, "exp": 1e400, '
    + '"zero": -0, "digits": 0.1000000000000000055511151231257827}}, '
    + '"metadata": {}, "transient": {}}')),
  'lone-surrogate': () => (run) => run.iopub('stream',
    Buffer.from('{"name": "stdout", "text": "a\\ud800b\\udc00c\\n"}')),
  'invalid-utf8': () => (run) => run.iopub('stream', Buffer.concat([
    Buffer.from('{"name": "stdout", "text": "a'), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80]),
    Buffer.from('b"}')])),
  'stray': () => (run) => run.strayMessages(),
  'fragment': (rest) => {
    const [n, ping] = split(rest, 2)
    const bytes = count(n)
    return (run) => run.hub.each((ws) => {
      ws.fragmentBytes = bytes
      ws.fragmentPing = ping === 'ping'
    })
  },
  'dribble': (rest) => {
    const bytes = count(rest)
    return (run) => run.hub.each((ws) => { ws.dribbleBytes = bytes })
  },
  'ping': (rest) => (run) => run.hub.each((ws) => ws.ping(Buffer.from(rest))),
  'close-socket': (rest) => {
    const code = rest ? count(rest) : undefined
    return (run) => run.hub.close(code)
  },
  'drop-socket': () => (run) => run.act('drop-socket'),
  'half-frame': () => (run) => run.act('half-frame'),
  'die': () => (run) => run.act('die'),
  'die-silent': () => (run) => run.act('die-silent'),
  'dead': (rest) => {
    const restarts = rest ? count(rest) : 0
    return (run) => run.act('dead', restarts)
  },
}

function stream(name, text) {
  return (run) => run.iopub('stream', { name, text })
}

// N numbered stream messages of about BYTES bytes each; stops for interrupts between batches.
async function flood(run, n, bytes) {
  for (let i = 0; i < n; i++) {
    const head = `${i} `
    run.iopub('stream', { name: 'stdout',
      text: head + 'x'.repeat(Math.max(0, bytes - head.length - 1)) + '\n' })
    if (i % 100 === 99) await run.breathe()
  }
}

function emptyPlan() {
  return { steps: [], lose: new Set(), at: new Map(), order: null, orderMs: 0,
    duplicateReply: false, reply: {}, late: [], foreign: false }
}

// Parse a cell. A mixture of the language and something else is a mistake in the test, and comes back
// as an error from the cell; except in silent requests, which are the bridge's own snippets.
export function parseScript(code, silent) {
  const plan = emptyPlan()
  let known = 0
  let problem = null
  for (const line of code.split('\n').map((l) => l.trim())) {
    if (!line || line.startsWith('#')) continue
    const [word, rest = ''] = split(line, 2)
    try {
      if (DIRECTIVES[word]) DIRECTIVES[word](plan, rest)
      else if (VERBS[word]) plan.steps.push(VERBS[word](rest))
      else throw new Error('not in the language')
      known++
    } catch (e) {
      problem ??= `${line.slice(0, 80)}: ${e.message}`
    }
  }
  if (!problem) return plan
  const foreign = emptyPlan()
  foreign.foreign = true
  if (known && !silent) {
    foreign.steps.push(() => { throw new CellError('FakeScriptError', problem) })
  }
  return foreign
}

export const words = { verbs: Object.keys(VERBS), directives: Object.keys(DIRECTIVES) }
