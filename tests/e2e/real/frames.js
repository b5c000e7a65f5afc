// WebSocket frames (RFC 6455 section 5.2).
'use strict';
const crypto = require('crypto');

exports.build = (opcode, payload, masked) => {
  const long = payload.length > 65535;
  const middle = !long && payload.length > 125;
  const head = Buffer.alloc(2 + (long ? 8 : middle ? 2 : 0));
  head[0] = 0x80 | opcode;
  head[1] = long ? 127 : middle ? 126 : payload.length;
  if (long) head.writeBigUInt64BE(BigInt(payload.length), 2);
  if (middle) head.writeUInt16BE(payload.length, 2);
  if (!masked) return Buffer.concat([head, payload]);
  head[1] |= 0x80;
  const mask = crypto.randomBytes(4);
  return Buffer.concat([head, mask, Buffer.from(payload.map((byte, i) => byte ^ mask[i % 4]))]);
};

// The first frame of `data`, or nothing if it is not whole.
exports.parse = (data) => {
  if (data.length < 2) return undefined;
  let at = 2;
  let length = data[1] & 0x7f;
  if (length === 126) {
    if (data.length < 4) return undefined;
    length = data.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    if (data.length < 10) return undefined;
    length = Number(data.readBigUInt64BE(2));
    at = 10;
  }
  const masked = (data[1] & 0x80) !== 0;
  const mask = masked ? data.subarray(at, at + 4) : undefined;
  if (masked) at += 4;
  if (data.length < at + length) return undefined;
  let payload = data.subarray(at, at + length);
  if (masked) payload = Buffer.from(payload.map((byte, i) => byte ^ mask[i % 4]));
  return { opcode: data[0] & 0x0f, payload, size: at + length };
};
