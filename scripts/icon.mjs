// Draws assets/icon.png: the wires of a heddle with their eyes, and one thread that goes through.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { root } from './bundle-options.mjs';

const size = 512;
const ground = [14, 78, 71];
const wire = [214, 232, 226];
const thread = [255, 176, 59];
const wires = [116, 186, 256, 326, 396];

/** Signed distance of a point from a shape in pixels; negative inside. */
const roundedSquare = (x, y) => {
  const [dx, dy] = [Math.abs(x - 256) - 152, Math.abs(y - 256) - 152];
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - 96;
};
const eye = (x, y, at) => (Math.hypot((x - at) / 0.62, y - 256) - 44) * 0.8;
const ring = (x, y, at) => Math.abs(eye(x, y, at)) - 7;
const line = (x, y, at) => Math.max(Math.abs(x - at) - 7, Math.abs(y - 256) - 176, -eye(x, y, at));
const threadAt = (x) => 256 + 26 * Math.sin(((x - 256) / 140) * Math.PI);
const strand = (x, y) => Math.max((Math.abs(y - threadAt(x)) - 10) * 0.86, Math.abs(x - 256) - 206);

const covered = (distance) => Math.min(1, Math.max(0, 0.5 - distance));
const over = (below, color, share) => below.map((part, index) => part + (color[index] - part) * share);

const rows = Buffer.alloc(size * (size * 4 + 1));
for (let y = 0; y < size; y += 1) {
  for (let x = 0; x < size; x += 1) {
    let color = ground;
    for (const at of wires) color = over(color, wire, covered(Math.min(ring(x, y, at), line(x, y, at))));
    color = over(color, thread, covered(strand(x, y)));
    // Every other wire passes in front of the thread: the right half of its eye.
    for (const at of wires) if (x > at) color = over(color, wire, covered(ring(x, y, at)));
    const alpha = Math.round(255 * covered(roundedSquare(x, y)));
    rows.set([...color.map(Math.round), alpha], y * (size * 4 + 1) + 1 + x * 4);
  }
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const header = Buffer.alloc(13);
header.writeUInt32BE(size, 0);
header.writeUInt32BE(size, 4);
header.set([8, 6, 0, 0, 0], 8);
mkdirSync(join(root, 'assets'), { recursive: true });
writeFileSync(
  join(root, 'assets/icon.png'),
  Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]),
);
