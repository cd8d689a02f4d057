// hub.mjs - the server's side of one kernel's WebSockets: who is connected, what is buffered.
// iopub goes to every link; a reply only to the session that asked. When the last link goes, what the
// kernel says is kept for that session_id and replayed to it, or thrown away when another one comes.

import { V1, decodeLegacy, decodeV1, encodeLegacy, encodeV1, makeHeader, newId } from './wire.mjs'

export class Hub {
  constructor(kernelId, modes, receive) {
    this.kernelId = kernelId
    this.modes = modes
    this.receive = receive
    this.links = new Set()
    this.buffer = null
    this.deafUntil = 0
    this.tails = new Map()
    this.maxLinks = 0
    this.opens = 0
  }

  // Take over a WebSocket after its 101. nudge: whether the kernel was idle enough to be nudged.
  attach(ws, session, { nudge }) {
    const link = { ws, session, v1: ws.subprotocol === V1 }
    this.links.add(link)
    this.opens++
    this.maxLinks = Math.max(this.maxLinks, this.links.size)
    this.modes.log('open', { kernel: this.kernelId, session, v1: link.v1 })
    ws.on('message', (payload, isText) => this.message(link, payload, isText))
    ws.on('pong', (payload) => this.modes.log('pong', { kernel: this.kernelId, session,
      payload: payload.toString() }))
    ws.on('close', (how) => {
      this.modes.log('close', { kernel: this.kernelId, session, ...how, error: ws.protocolError })
      this.detach(link)
    })
    const kept = this.buffer?.session === session ? this.buffer.messages : []
    this.buffer = null
    for (const message of kept) this.write(link, message)
    if (nudge) this.strays(link)
    return link
  }

  // The link is gone as far as the kernel's messages go; the socket may still be closing.
  detach(link) {
    if (!this.links.delete(link)) return
    if (this.links.size === 0) this.buffer = { session: link.session, messages: [] }
    this.modes.notify()
  }

  // What is left of the server's own kernel_info_requests, the first iopub message swallowed.
  strays(link) {
    const parents = [newId(), newId()].map((msg_id) => makeHeader('kernel_info_request',
      link.session, { msg_id }))
    const states = ['idle', 'busy', 'idle', 'busy', 'idle']
    for (let i = 0; i < this.modes.settings.strays; i++) {
      this.write(link, this.status(states[i % 5], parents[i === 0 ? 0 : 1]))
    }
  }

  status(execution_state, parent_header = {}) {
    return { channel: 'iopub', header: makeHeader('status', this.kernelId), parent_header,
      metadata: {}, content: { execution_state } }
  }

  // A status the server itself sends: to who is connected now, never buffered, never delayed.
  announce(execution_state) {
    this.modes.log('announce', { kernel: this.kernelId, state: execution_state })
    for (const link of this.links) this.write(link, this.status(execution_state))
  }

  message(link, payload, isText) {
    let message
    try {
      message = link.v1 ? decodeV1(payload) : decodeLegacy(payload, isText)
    } catch (e) {
      this.modes.log('garbage', { kernel: this.kernelId, error: e.message, bytes: payload.length })
      return
    }
    const swallowed = this.modes.take('swallow')
    this.modes.log('message', { kernel: this.kernelId, session: link.session,
      ...summary(message), bytes: payload.length, ...(swallowed ? { swallowed } : {}) })
    if (!swallowed) this.receive(message, link.session)
  }

  // A message from the kernel. session: null for everybody (iopub).
  publish(message, session) {
    if (message.channel === 'iopub' && performance.now() < this.deafUntil) return
    const { replyDelayMs, iopubDelayMs } = this.modes.settings
    const delay = message.channel === 'iopub' ? iopubDelayMs : replyDelayMs
    const tail = this.tails.get(message.channel)
    if (!delay && !tail && !this.modes.held) return this.deliver(message, session)
    this.enqueue(message, session, performance.now() + delay)
  }

  // Behind whatever of this channel is still held back.
  enqueue(message, session, due) {
    const channel = message.channel
    const next = (this.tails.get(channel) ?? Promise.resolve()).then(async () => {
      const wait = due - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      await this.modes.free()
      this.deliver(message, session)
      if (this.tails.get(channel) === next) this.tails.delete(channel)
    })
    this.tails.set(channel, next)
  }

  deliver(message, session) {
    if (this.links.size === 0) {
      if (this.buffer && (!session || session === this.buffer.session)) {
        this.buffer.messages.push(message)
      }
      return
    }
    for (const link of [...this.links]) {
      if (!session || session === link.session) this.write(link, message)
    }
  }

  write(link, message) {
    const cut = link.ws.cutNext
    if (link.v1) link.ws.send(encodeV1(message))
    else {
      const { payload, text } = encodeLegacy(message)
      link.ws.send(payload, { text })
    }
    if (cut) this.detach(link)
  }

  // Faults, on every link of this kernel. Messages after a drop are buffered, as with the real one.
  drop() {
    for (const link of [...this.links]) {
      this.detach(link)
      link.ws.destroy()
    }
  }

  close(code) {
    for (const link of [...this.links]) {
      this.detach(link)
      link.ws.close(code)
    }
  }

  each(change) {
    for (const link of this.links) change(link.ws)
  }

  // Wait until no live link of this session stands in the way of a new one.
  async evict(session) {
    const stale = [...this.links].find((link) => link.session === session)
    if (!stale) return
    stale.ws.close()
    await this.modes.until(() => stale.ws.ended || !this.links.has(stale),
      this.modes.settings.staleCloseMs)
    this.detach(stale)
    stale.ws.destroy()
  }

  model() {
    return { open: this.links.size, maxOpen: this.maxLinks, opens: this.opens,
      buffered: this.buffer?.messages.length ?? 0,
      sessions: [...this.links].map((link) => link.session) }
  }
}

// The part of a client's message that tests ask about.
function summary(message) {
  const { header = {}, content = {}, parent_header } = message
  const out = { channel: message.channel, msg_type: header.msg_type, msg_id: header.msg_id }
  if (parent_header?.msg_id) out.parent_msg_id = parent_header.msg_id
  for (const key of ['silent', 'store_history', 'stop_on_error', 'allow_stdin', 'value']) {
    if (content[key] !== undefined) out[key] = content[key]
  }
  if (typeof content.code === 'string') {
    out.code = content.code.slice(0, 65536)
    out.codeChars = content.code.length
  }
  out.header = header
  return out
}
