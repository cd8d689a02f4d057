// rest.mjs - the REST half of a Jupyter Server 1.23: sessions, kernels, kernelspecs, their statuses.
// Errors have tornado's shape and the real server's words. Knows no kernel internals.

import { Kernel } from './kernel.mjs'
import { newId } from './wire.mjs'

const LANGUAGES = { python3: 'python', ir: 'R', deno: 'typescript', bash: 'bash', java: 'java' }

const UUID = '(\\w+-\\w+-\\w+-\\w+-\\w+)'

// Thrown by handlers; becomes a tornado error body.
export class HttpError extends Error {
  constructor(status, message, extra = { reason: null }) {
    super(message)
    this.status = status
    this.extra = extra
  }
}

export class Rest {
  constructor(modes) {
    this.modes = modes
    this.kernels = new Map()
    this.sessions = new Map()
    this.graveyard = []
    this.routes = [
      ['GET', '/api/status', () => this.status()],
      ['GET', '/api/kernelspecs', () => this.kernelspecs()],
      ['GET', '/api/sessions', () => [200, this.listSessions()]],
      ['POST', '/api/sessions', (body) => this.createSession(body)],
      ['GET', `/api/sessions/${UUID}`, (body, id) => [200, this.sessionModel(this.session(id))]],
      ['DELETE', `/api/sessions/${UUID}`, (body, id) => this.deleteSession(id)],
      ['GET', '/api/kernels', () => [200, [...this.kernels.values()].map((k) => k.model())]],
      ['POST', '/api/kernels', (body) => this.createKernel(body)],
      ['GET', `/api/kernels/${UUID}`, (body, id) => [200, this.kernel(id).model()]],
      ['DELETE', `/api/kernels/${UUID}`, (body, id) => this.deleteKernel(id)],
      ['POST', `/api/kernels/${UUID}/interrupt`, (body, id) => this.interrupt(id)],
      ['POST', `/api/kernels/${UUID}/restart`, (body, id) => this.restart(id)],
    ].map(([method, pattern, handler]) => ({ method, pattern: new RegExp(`^${pattern}$`), handler }))
  }

  // [status, body, headers] for a request that has passed the door.
  async handle(method, path, text) {
    const rows = this.routes.filter((row) => row.pattern.test(path))
    if (!rows.length) throw new HttpError(404, 'Not Found')
    const row = rows.find((r) => r.method === method)
    if (!row) throw new HttpError(405, 'Method Not Allowed')
    return row.handler(parseBody(method, text), ...row.pattern.exec(path).slice(1))
  }

  status() {
    let connections = 0
    for (const kernel of this.kernels.values()) connections += kernel.hub.links.size
    return [200, { connections, kernels: this.kernels.size,
      last_activity: new Date().toISOString(), started: new Date().toISOString() }]
  }

  kernelspecs() {
    const kernelspecs = {}
    for (const name of this.modes.settings.kernelspecs) {
      kernelspecs[name] = { name, resources: {}, spec: { argv: [name], env: {},
        display_name: name, language: LANGUAGES[name] ?? name, interrupt_mode: 'signal',
        metadata: {} } }
    }
    return [200, { default: this.modes.settings.kernelspecs[0], kernelspecs }]
  }

  startKernel(name) {
    const kernel = new Kernel(name, this.modes, (gone) => this.forget(gone))
    const stillborn = this.modes.take('neverReady')
    this.kernels.set(kernel.id, kernel)
    kernel.boot({ stillborn })
    const { neverReadyGoneMs } = this.modes.settings
    if (stillborn && neverReadyGoneMs) kernel.later(neverReadyGoneMs, () => kernel.remove())
    return kernel
  }

  forget(kernel) {
    this.kernels.delete(kernel.id)
    this.graveyard.push(kernel)
    for (const [id, session] of this.sessions) {
      if (session.kernel === kernel) this.sessions.delete(id)
    }
  }

  createSession(body) {
    if (body === undefined) throw new HttpError(400, 'No JSON data provided')
    for (const field of ['path', 'type']) {
      if (!(field in body)) throw new HttpError(400, `Missing field in JSON data: ${field}`)
    }
    const same = [...this.sessions.values()].find((s) => s.path === body.path)
    if (same) return [201, this.sessionModel(same), location('sessions', same.id)]
    if (this.modes.take('failStart')) throw new HttpError(500, 'kernel could not be started')
    const name = body.kernel?.name ?? this.modes.settings.kernelspecs[0]
    if (!this.modes.settings.kernelspecs.includes(name)) {
      throw new HttpError(501, `The '${name}' kernel is not available. Please pick another `
        + 'suitable kernel instead, or install that kernel.',
      { short_message: `${name} not found` })
    }
    const kernel = this.kernels.get(body.kernel?.id) ?? this.startKernel(name)
    const session = { id: newId(), path: body.path, name: body.name ?? null, type: body.type,
      kernel }
    this.sessions.set(session.id, session)
    return [201, this.sessionModel(session), location('sessions', session.id)]
  }

  createKernel(body = {}) {
    const name = body.name ?? this.modes.settings.kernelspecs[0]
    if (this.modes.take('failStart') || !this.modes.settings.kernelspecs.includes(name)) {
      throw new HttpError(500, 'Unhandled error', { reason: null,
        traceback: `Traceback (most recent call last):\nNoSuchKernel: No such kernel named ${name}\n` })
    }
    const kernel = this.startKernel(name)
    return [201, kernel.model(), location('kernels', kernel.id)]
  }

  session(id) {
    const session = this.sessions.get(id)
    if (!session) throw new HttpError(404, `Session not found: session_id='${id}'`)
    return session
  }

  kernel(id) {
    const kernel = this.kernels.get(id)
    if (!kernel) throw new HttpError(404, `Kernel does not exist: ${id}`)
    return kernel
  }

  sessionModel({ id, path, name, type, kernel }) {
    return { id, path, name, type, kernel: kernel.model() }
  }

  listSessions() {
    return [...this.sessions.values()].map((session) => this.sessionModel(session))
  }

  async deleteSession(id) {
    const { kernel } = this.session(id)
    await this.endKernel(kernel)
    this.sessions.delete(id)
    return [204]
  }

  async deleteKernel(id) {
    await this.endKernel(this.kernel(id))
    return [204]
  }

  async endKernel(kernel) {
    if (this.modes.take('failDelete')) throw new HttpError(500, 'Internal Server Error')
    await kernel.shutdown(false)
    kernel.remove()
  }

  interrupt(id) {
    this.kernel(id).interrupt('rest')
    return [204]
  }

  // An unknown kernel is a 500 here: the real handler catches its own 404.
  async restart(id) {
    const kernel = this.kernels.get(id)
    if (!kernel || this.modes.take('failRestart')) {
      throw new HttpError(500, 'Exception restarting kernel', { traceback: [] })
    }
    await kernel.restart()
    return [200, kernel.model()]
  }
}

function location(kind, id) {
  return { Location: `/api/${kind}/${id}` }
}

function parseBody(method, text) {
  if (method !== 'POST' || !text.trim()) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'Invalid JSON in body of request')
  }
}
