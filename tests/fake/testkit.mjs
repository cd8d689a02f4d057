// testkit.mjs - what the fake's own tests share: a fake with one kernel and one open connection.

import { Channels, rest } from './client.mjs'
import { startFake } from './jupyter.mjs'

// Run body({fake, kernel, session, channels, rest, open}) and clean up after it, also when it fails.
export async function withKernel({ legacy = false, ...settings }, body) {
  const fake = await startFake({ token: 'T', settings })
  const opened = []
  try {
    const t = { fake }
    t.rest = (...args) => rest(fake.url, 'T', ...args)
    const made = await t.rest('POST', '/api/sessions', { path: 'x', type: 'context',
      kernel: { name: 'python3' } })
    t.session = made.json.id
    t.kernel = made.json.kernel.id
    t.open = async (session, options) => {
      const channels = await Channels.open(fake.url, 'T', t.kernel, session, options)
      opened.push(channels)
      return channels
    }
    t.channels = await t.open('s', { legacy })
    await body(t)
  } finally {
    for (const channels of opened) channels.ws.destroy()
    await fake.close()
  }
}
