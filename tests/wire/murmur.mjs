// murmur.mjs - where a key lives, computed apart from the C code: MurmurHash2 as nginx's
// split_clients has it, cut into sixteen shares.

export function murmur2(key) {
  const data = Buffer.from(key)
  const mul = (a) => Math.imul(a, 0x5bd1e995)
  let h = data.length
  let i = 0
  for (; data.length - i >= 4; i += 4) {
    let k = mul(data.readUInt32LE(i))
    k = mul(k ^ (k >>> 24))
    h = mul(h) ^ k
  }
  if (data.length > i) {
    let k = 0
    for (let n = data.length - 1; n >= i; n--) k = (k << 8) | data[n]
    h = mul(h ^ k)
  }
  h = mul(h ^ (h >>> 13))
  return (h ^ (h >>> 15)) >>> 0
}

export const slotOf = (key) => Math.min(15, Math.floor(murmur2(key) / 268435455))
