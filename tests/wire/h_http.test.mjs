// h_http - what is refused and how: bodies, methods, tokens, hosts, origins, limits.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { open } from './http.mjs'
import { Stack } from './stack.mjs'

let s
before(async () => {
  s = await new Stack({ settings: { maxCodeBytes: '1M', maxContexts: 3, maxSandboxes: 6, maxQueued: 4,
    hosts: 'team.example' } }).start()
})
after(() => s?.stop())

const post = (body, options = {}) => s.e2b('POST', '/execute', body, options)
const answer = (x) => [x.status, x.headers['content-type'], x.text]
const plain = 'text/plain; charset=utf-8'

test('422 in pydantic\'s shape, naming the field', async () => {
  for (const [body, detail] of [
    [{}, { type: 'missing', loc: ['body', 'code'], msg: 'Field required', input: {} }],
    [{ code: 1 }, { type: 'string_type', loc: ['body', 'code'], msg: 'Input should be a valid string', input: 1 }],
    [{ code: null }, { type: 'string_type', loc: ['body', 'code'], msg: 'Input should be a valid string', input: null }],
    [{ code: '1', env_vars: [] }, { type: 'dict_type', loc: ['body', 'env_vars'], msg: 'Input should be a valid dictionary', input: [] }],
    [{ code: '1', env_vars: { A: 1 } }, { type: 'string_type', loc: ['body', 'env_vars', 'A'], msg: 'Input should be a valid string', input: 1 }],
    [{ code: '1', late_output: 'x' }, { type: 'bool_type', loc: ['body', 'late_output'], msg: 'Input should be a valid boolean', input: 'x' }],
    ['[]', { type: 'model_attributes_type', loc: ['body'], msg: 'Input should be a valid dictionary or object to extract fields from', input: [] }],
    [undefined, { type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
  ]) {
    const x = await post(body)
    assert.equal(x.status, 422, JSON.stringify(body))
    assert.equal(x.headers['content-type'], 'application/json')
    assert.deepEqual(x.json, { detail: [detail] })
  }
  const broken = await post('{"code": ')
  assert.equal(broken.status, 422)
  assert.equal(broken.json.detail[0].type, 'json_invalid')
  assert.equal(broken.json.detail[0].loc[0], 'body')
  assert.equal((await post('{"code": "\\ud800"}')).json.detail[0].type, 'string_unicode')
})

test('null and absent are the same, unknown fields are ignored', async () => {
  const x = await post({ code: 'result 1', context_id: null, language: null, env_vars: null, what: [1] })
  assert.equal(x.status, 200)
  assert.equal((await post({ code: 'result 1', context_id: '', language: '' })).status, 200)
})

test('400 and 404 in plain text', async () => {
  assert.deepEqual(answer(await post({ code: '1', context_id: 'x', language: 'python' })),
    [400, plain, 'Only one of context_id or language can be provided'])
  assert.deepEqual(answer(await post({ code: '1', context_id: 'nope' })), [404, plain, 'Context ID not found'])
  for (const env_vars of [{ 'A B': '1' }, { '1A': '1' }, { A: 'x\0' }, { '': '1' }, { '\u00e9': '1' }]) {
    const x = await post({ code: '1', env_vars })
    assert.equal(x.status, 400)
    assert.match(x.text, /^env_vars: "/)
  }
  assert.equal((await post('{"code": "1", "env_vars": {"A": "\\ud800"}}')).status, 400)
  assert.equal((await s.e2b('POST', '/contexts', { cwd: 'relative' })).status, 400)
  assert.equal((await post({ code: '1' }, { headers: { 'E2b-Sandbox-Id': 'a b' } })).status, 400)
})

test('a language without a kernel says what there is', async () => {
  const x = await post({ code: '1', language: 'cobol' })
  assert.equal(x.status, 500)
  assert.match(x.text, /^Failed to create context: \{"message": "The 'cobol' kernel is not available\. Please pick another suitable kernel instead, or install that kernel\./)
  assert.match(x.text, /python3/)
  assert.match(x.text, /"short_message": "cobol not found"\}$/)
  const listed = (await s.e2b('GET', '/contexts')).json
  assert.ok(!listed.some((c) => c.language === 'cobol'))
})

test('a language that is no name is refused, and refused again', async () => {
  for (const language of ['nope\0x', 'python\0x', 'nope\0x', 'a"b', '\u4e2d', 'x'.repeat(65)])
    for (const where of ['/execute', '/contexts']) {
      const x = await s.e2b('POST', where, { code: '1', language })
      assert.equal(x.status, 400, language)
      assert.match(x.text, /^language: /)
    }
})

test('python under its other names', async () => {
  for (const language of ['Python', ' python ', 'PYTHON'])
    assert.equal((await post({ code: 'result 1', language })).status, 200)
})

test('default contexts are listed from the start, in order, and come back', async () => {
  const o = { headers: { 'E2b-Sandbox-Id': 'lists' } }
  const first = (await s.e2b('GET', '/contexts', undefined, o))
  assert.match(first.text, /^\[\{"id":"[0-9a-f-]{36}","language":"python","cwd":"[^"]+"\}\]$/)
  const { id } = (await s.e2b('POST', '/contexts', {}, o)).json
  assert.deepEqual((await s.e2b('GET', '/contexts', undefined, o)).json.map((c) => c.id), [first.json[0].id, id])
  await s.e2b('DELETE', `/contexts/${first.json[0].id}`, undefined, o)
  assert.equal((await s.e2b('POST', '/execute', { code: 'result 1' }, o)).status, 200)
})

test('ceilings: code, contexts, sandboxes, waiting executions', async () => {
  assert.deepEqual(answer(await post({ code: 'x'.repeat(1100000) })),
    [413, plain, 'The code is larger than 1048576 bytes'])
  const o = { headers: { 'E2b-Sandbox-Id': 'many' } }
  for (let i = 0; i < 2; i++) assert.equal((await s.e2b('POST', '/contexts', {}, o)).status, 200)
  assert.equal((await s.e2b('POST', '/contexts', {}, o)).status, 429)
  const busy = s.e2bOpen('/execute', { code: 'stdout a\nhang' }, o)
  await busy.has('"a\\n"')
  const waiting = []
  for (let i = 0; i < 4; i++) {
    const x = s.e2bOpen('/execute', { code: 'result 1' }, o)
    await x.head()
    waiting.push(x)
  }
  assert.equal((await post({ code: 'result 1' }, o)).status, 429)
  for (const x of [busy, ...waiting]) await x.leave()
})

test('404 and 405, each face in its own shape', async () => {
  assert.deepEqual((await s.e2b('GET', '/nope')).json, { detail: 'Not Found' })
  const x = await s.e2b('PUT', '/execute', {})
  assert.deepEqual([x.status, x.json, x.headers.allow], [405, { detail: 'Method Not Allowed' }, 'POST'])
  const t = { headers: { 'x-nb2-token': s.token } }
  const missing = await s.get('/nb2/nope', t)
  assert.equal(missing.status, 404)
  assert.equal(missing.json.error, 'not_found')
  const wrong = await s.get('/nb2/health', { ...t, method: 'DELETE' })
  assert.deepEqual([wrong.status, wrong.json.error, wrong.headers.allow], [405, 'method_not_allowed', 'GET, HEAD'])
  assert.equal((await s.e2b('GET', '/nb2/health')).status, 404, 'the open listener has no /nb2')
})

test('health: liveness for everybody, the rest for a token', async () => {
  assert.equal((await s.e2b('GET', '/health')).text, '"OK"')
  const bare = (await s.get('/nb2/health')).json
  assert.deepEqual(Object.keys(bare), ['ok', 'pkg', 'version', 'uptimeMs', 'logCap', 'heartbeatMs'])
  assert.deepEqual([bare.ok, bare.pkg, bare.logCap, bare.heartbeatMs], [true, 'nb2', 2000, 15000])
  const full = (await s.get(`/nb2/health?token=${s.token}`)).json
  assert.deepEqual(full.sessions, [])
  assert.deepEqual([full.dir, full.dirSource], [`${s.state}/workspace`, 'sandboxPolicy'])
  assert.ok(s.workerPids().includes(full.worker.pid))
  assert.equal(full.worker.of, 2)
})

test('every way to bring a token, and every way to have none', async () => {
  const to = (headers, query = '') => s.get(`/contexts${query}`, { headers })
  const t = s.token
  for (const headers of [{ 'x-nb2-token': t }, { 'X-Access-Token': t }, { Authorization: `Bearer ${t}` },
    { 'X-API-KEY': `e2b_${t}` }]) assert.equal((await to(headers)).status, 200, JSON.stringify(headers))
  assert.equal((await to({}, `?token=${t}`)).status, 200)
  for (const bad of ['', t.slice(0, -1), t.slice(1), `${t}0`, `b${t.slice(1)}`, `${t.slice(0, -1)}c`, t.toUpperCase() + 'x'])
    for (const headers of [{ 'x-nb2-token': bad }, { Authorization: `Bearer ${bad}` }, {}]) {
      const x = await to(headers, headers.Authorization || headers['x-nb2-token'] ? '' : `?token=${bad}`)
      assert.deepEqual([x.status, x.text], [401, '{"error":"unauthorized"}'])
    }
  assert.equal((await s.get('/execute', { method: 'POST', body: { code: '1' } })).status, 401)
})

test('the cookie: traded, scoped to /nb2, of no use to other sites', async () => {
  const trade = (body, headers = {}) => s.get('/nb2/auth', { method: 'POST', body, headers })
  const good = await trade({ token: s.token })
  assert.deepEqual([good.status, good.json], [200, { ok: true }])
  assert.equal(good.headers['set-cookie'], `nb2_${s.port}=${s.token}; Path=/nb2/; HttpOnly; SameSite=Strict`)
  assert.equal((await trade({ token: 'wrong' })).text, '{"error":"unauthorized"}')
  assert.match((await trade({})).json.message, /token/)
  assert.equal((await trade({ token: s.token }, { 'Content-Type': 'text/plain' })).status, 415)
  assert.equal((await trade('{')).json.error, 'bad_request')
  assert.equal((await trade({ token: s.token }, { Origin: 'http://evil.example' })).status, 403)
  const Cookie = `a=b; nb2_${s.port}=${s.token}`
  assert.ok((await s.get('/nb2/health', { headers: { Cookie } })).json.worker)
  assert.equal((await s.get('/contexts', { headers: { Cookie } })).status, 401)
})

test('the open listener is no use to a page of another site', async () => {
  for (const headers of [{ Origin: 'http://evil.example' }, { Origin: 'null' },
    { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }]) {
    const x = await s.e2b('GET', '/contexts', undefined, { headers })
    assert.equal(x.status, 403, JSON.stringify(headers))
    assert.equal(x.headers['access-control-allow-origin'], undefined)
  }
  for (const headers of [{ 'Sec-Fetch-Site': 'none' }, { 'Sec-Fetch-Site': 'same-origin' },
    { Origin: `http://localhost:${s.e2bPort}` }])
    assert.equal((await s.e2b('GET', '/contexts', undefined, { headers })).status, 200)
})

test('CORS where a token is asked for', async () => {
  const headers = { Origin: 'https://app.example', 'x-nb2-token': s.token }
  const x = await s.get('/contexts', { headers })
  assert.deepEqual([x.status, x.headers['access-control-allow-origin']], [200, '*'])
  const pre = await s.get('/execute', { method: 'OPTIONS', headers: { Origin: 'https://app.example',
    'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-access-token' } })
  assert.equal(pre.status, 200)
  assert.equal(pre.headers['access-control-allow-headers'], 'x-access-token')
})

test('hosts', async () => {
  const t = { 'x-nb2-token': s.token }
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'LocalHost', 'team.example'])
    assert.equal((await s.get('/contexts', { host, headers: t })).status, 200, host)
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil'])
    for (const where of ['/contexts', '/nb2/auth', '/nb2/nope'])
      assert.equal((await s.get(where, { host, headers: t })).status, 403, `${host} ${where}`)
  assert.equal((await s.e2b('GET', '/contexts', undefined, { host: 'evil.example' })).status, 403)
  const alive = await s.get('/nb2/health', { host: 'evil.example', headers: t })
  assert.deepEqual([alive.status, alive.json.worker], [200, undefined])
})

test('a body that is too large is refused in each face\'s shape', async () => {
  const headers = { 'Content-Length': String(65 * 1024 * 1024) }
  const nb2 = await open({ port: s.port, method: 'POST', path: '/nb2/auth', body: Buffer.alloc(0), headers }).has('too_large')
  assert.equal(nb2.status, 413)
  await nb2.leave()
  const e2b = await s.e2bOpen('/execute', Buffer.alloc(0), { headers }).head()
  assert.equal(e2b.status, 413)
  assert.match(e2b.headers['content-type'], /text\/plain/)
  await e2b.leave()
})

test('a body with no length, in chunks', async () => {
  const body = '1e\r\n{"code": "result 1\\nstdout x"}\r\n0\r\n\r\n'
  const x = await s.e2b('POST', '/execute', body, { headers: { 'Transfer-Encoding': 'chunked', 'Content-Length': null } })
  assert.equal(x.status, 200)
  assert.match(x.text, /"text": "1"/)
})

test('no token, code, output or value in any log', async () => {
  await s.get(`/nb2/health?token=${s.token}`)
  await s.e2b('POST', '/execute', { code: 'stdout se-cret-out', env_vars: { A: 'se-cret-env' } })
  for (const name of fs.readdirSync(`${s.state}/log`)) {
    const text = s.log(name)
    assert.ok(!text.includes(s.token), name)
    assert.ok(!text.includes('se-cret'), name)
  }
  assert.match(s.log('nb2.log'), /run [0-9a-f]{32} context [0-9a-f-]{36} ok \d+ ms \d+ bytes/)
  assert.match(s.log('nb2.log'), /[0-9a-f]{32} POST \/execute 200 \d+ bytes \d+ ms/)
})

test('a tokens file: people, the sessions they may use, read again on SIGHUP', async () => {
  const sha = (t) => execFileSync('sha256sum', { input: t }).toString().slice(0, 64)
  const file = `${s.state}/tokens`
  fs.writeFileSync(file, `# team\nann ${sha('token-of-ann-0123456789')} ann-.*\n`, { mode: 0o600 })
  const team = await new Stack({ workers: 1, settings: { tokensFile: file } }).start()
  try {
    const ask = async (token) => (await team.get(`/nb2/health?token=${token}`)).json.worker !== undefined
    assert.equal(await ask('token-of-ann-0123456789'), true)
    assert.equal(await ask('token-of-bob-0123456789'), false)
    fs.appendFileSync(file, `bob ${sha('token-of-bob-0123456789')} .* readonly\n`)
    team.master.process.kill('SIGHUP')
    const { until } = await import('./stack.mjs')
    await until(() => ask('token-of-bob-0123456789'), 5000, 'the new token')
    const as = (token, sandbox, method = 'GET') => team.get(method === 'GET' ? '/contexts' : '/execute', { method,
      body: method === 'GET' ? undefined : { code: 'result 1' },
      headers: { 'x-nb2-token': token, 'E2b-Sandbox-Id': sandbox } }).then((x) => x.status)
    assert.equal(await as('token-of-ann-0123456789', 'ann-1', 'POST'), 200)
    assert.equal(await as('token-of-ann-0123456789', 'bob-1', 'POST'), 403)
    assert.equal(await as('token-of-bob-0123456789', 'bob-1', 'GET'), 200)
    assert.equal(await as('token-of-bob-0123456789', 'bob-1', 'POST'), 403, 'read-only')
    fs.writeFileSync(file, 'broken line\n')
    team.master.process.kill('SIGHUP')
    await until(() => team.log('nb2.log').includes('tokens:1: a line is'), 5000, 'the fault in the log')
    assert.equal(await ask('token-of-ann-0123456789'), true, 'the old ones stay in force')
  } finally {
    await team.stop()
  }
})

test('a tokens file alone is asked for on loopback too; no token at all is said loudly', async () => {
  const sha = (t) => execFileSync('sha256sum', { input: t }).toString().slice(0, 64)
  const file = `${s.state}/alone`
  fs.writeFileSync(file, `ann ${sha('token-of-ann-0123456789')} .*\n`, { mode: 0o600 })
  for (const [settings, status] of [[{ tokenFile: '', tokensFile: file }, 401], [{ tokenFile: '' }, 200]]) {
    const alone = await new Stack({ workers: 1, settings }).start()
    try {
      assert.equal((await alone.get('/contexts')).status, status)
      assert.equal(/no token is asked for/.test(alone.log('nb2.log')), status === 200)
    } finally {
      await alone.stop()
    }
  }
})
