// page - the first page in Chromium, over the whole stack: the token leaves the address, code runs,
// its output comes as it is made, Stop interrupts, HTML of a kernel reaches nothing of ours.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'
import { Stack } from '../wire/stack.mjs'

let s
let browser
let page
const problems = []

before(async () => {
  s = await new Stack({ jupyter: 'real' }).start()
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox',
    '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'] })
  page = await browser.newPage()
  page.on('pageerror', (e) => problems.push(String(e)))
  page.on('console', (m) => { if (m.type() === 'error') problems.push(m.text()) })
  await page.goto(`http://127.0.0.1:${s.port}/nb2/?token=${s.token}`)
})
after(async () => {
  await browser?.close()
  await s?.stop()
})

async function run(code) {
  await page.fill('#code', code)
  await page.press('#code', 'Control+Enter')
}

const shows = (text) => page.waitForFunction((t) => document.querySelector('#output').innerText.includes(t), text)
const idle = () => page.waitForFunction(() => document.querySelector('#stop').disabled)

test('the token is traded and leaves the address', async () => {
  await page.waitForFunction(() => !location.search.includes('token'))
  const cookies = await page.context().cookies()
  assert.equal(cookies.length, 1)
  assert.deepEqual([cookies[0].path, cookies[0].httpOnly, cookies[0].sameSite], ['/nb2/', true, 'Strict'])
  assert.ok(await page.isHidden('#token-form'))
})

test('code runs, and its output comes while it runs', async () => {
  await run('import time\nfor n in range(3):\n    print("line", n, flush=True); time.sleep(0.4)\nsum(range(10))')
  await shows('line 0')
  assert.ok(!(await page.innerText('#output')).includes('line 2'))
  await shows('45')
  await idle()
})

test('an error shows with its traceback', async () => {
  await run('1/0')
  await shows('ZeroDivisionError')
  await shows('division by zero')
  await idle()
})

test('Stop interrupts, and the next run answers', async () => {
  await run('import time\nprint("going", flush=True)\ntime.sleep(60)')
  await shows('going')
  await page.click('#stop')
  await idle()
  await run('6 * 7')
  await shows('42')
  await idle()
})

test('HTML of a kernel is drawn apart and reaches nothing of ours', async () => {
  await run('from IPython.display import HTML\nHTML("<b id=x>drawn</b><script>try { parent.document.title = ' +
    '\'taken\'; parent.sessionStorage.setItem(\'a\', \'b\') } catch (e) { document.body.append(\' kept out\') }</script>")')
  const frame = await (await page.waitForSelector('#output iframe')).contentFrame()
  await frame.waitForFunction(() => document.body.innerText.includes('kept out'))
  assert.notEqual(await page.title(), 'taken')
})

test('text is text', async () => {
  await run('print("<img src=x onerror=document.title=1>")')
  await shows('<img src=x onerror=document.title=1>')
  assert.equal(await page.locator('#output img').count(), 0)
  await idle()
})

test('numbers are the kernel\'s own, digit for digit', async () => {
  await run('display({"application/json": {"n": 9007199254740993, "m": 2**70}}, raw=True)')
  await shows('"n": 9007199254740993')
  await shows('"m": 1180591620717411303424')
  await idle()
})

test('the health line says that it is up', async () => {
  await page.waitForFunction(() => /0\.1\.0/.test(document.querySelector('#health').innerText))
})

test('a wrong token asks for one, and the right one goes on', async () => {
  const other = await (await browser.newContext()).newPage()
  await other.goto(`http://127.0.0.1:${s.port}/nb2/?token=wrong`)
  await other.waitForSelector('#token-form', { state: 'visible' })
  await other.fill('#token', s.token)
  await other.press('#token', 'Enter')
  await other.waitForSelector('#token-form', { state: 'hidden' })
  await other.fill('#code', '"in"')
  await other.press('#code', 'Control+Enter')
  await other.waitForFunction(() => document.querySelector('#output').innerText.includes('in'))
})

test('nothing went wrong behind the scenes', () => {
  assert.deepEqual(problems.filter((p) => !/401|ERR_ABORTED/.test(p)), [])
})
