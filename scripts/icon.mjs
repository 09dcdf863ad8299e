// Draws assets/icon.png, assets/icon-32.png and the mark of the pages: the wires of a heddle with their eyes, and one thread that goes through.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { root } from './bundle-options.mjs';

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

const over = (below, color, share) => below.map((part, index) => part + (color[index] - part) * share);

/** Returns the pixels of the icon as [red, green, blue, alpha], in rows. The shapes above are drawn on 512 x 512 pixels. */
function pixels(size) {
  const scale = 512 / size;
  // Small icons lose lines that are thinner than a pixel.
  const widening = Math.max(0, (scale - 8) / 2);
  const covered = (distance) => Math.min(1, Math.max(0, 0.5 - distance / scale));
  const pixel = (x, y) => {
    let color = ground;
    for (const at of wires) color = over(color, wire, covered(Math.min(ring(x, y, at), line(x, y, at)) - widening));
    color = over(color, thread, covered(strand(x, y) - widening));
    // Every other wire passes in front of the thread: the right half of its eye.
    for (const at of wires) if (x > at) color = over(color, wire, covered(ring(x, y, at) - widening));
    return [...color.map(Math.round), Math.round(255 * covered(roundedSquare(x, y)))];
  };
  const center = (index) => (index + 0.5) * scale - 0.5;
  return Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => pixel(center(x), center(y))));
}

/** Returns a PNG. With a palette of 16 colors, each pixel takes half a byte and the nearest color. */
function png(size, palette) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set(palette ? [4, 3] : [8, 6], 8);
  const rows = pixels(size).map((row) => [
    0,
    ...(palette ? pairs(row.map((pixel) => nearest(palette, pixel))) : row.flat()),
  ]);
  const colors = palette && [
    chunk('PLTE', Buffer.from(palette.flatMap((color) => color.slice(0, 3)))),
    chunk('tRNS', Buffer.from(palette.map(([, , , alpha]) => alpha))),
  ];
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...(colors ?? []),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(palette, pixel) {
  const distances = palette.map((color) => Math.hypot(...color.map((part, index) => part - pixel[index])));
  return distances.indexOf(Math.min(...distances));
}

function pairs(row) {
  return Array.from({ length: row.length / 2 }, (_, index) => row[2 * index] * 16 + row[2 * index + 1]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const steps = (from, to, shares) => shares.map((share) => [...over(from, to, share).map(Math.round), 255]);
const smallPalette = [
  [...ground, 0],
  [...ground, 85],
  [...ground, 170],
  ...steps(ground, ground, [1]),
  ...steps(ground, wire, [0.2, 0.4, 0.6, 0.8, 1]),
  ...steps(ground, thread, [0.25, 0.5, 0.75, 1]),
  ...steps(wire, thread, [0.25, 0.5, 0.75]),
];

mkdirSync(join(root, 'assets'), { recursive: true });
writeFileSync(join(root, 'assets/icon.png'), png(512));
// Every result of the server carries it, so it is as small as it can be.
writeFileSync(join(root, 'assets/icon-32.png'), png(32, smallPalette));

/** Returns the drawing as SVG for small sizes: with thicker lines, and without every other wire. */
function svg() {
  const hex = (color) => `#${Buffer.from(color).toString('hex')}`;
  const xs = Array.from({ length: 25 }, (_, index) => 50 + (412 / 24) * index);
  const strand = `M${xs.map((x) => `${Math.round(x)} ${Math.round(threadAt(x))}`).join('L')}`;
  const shown = wires.filter((_, index) => index % 2 === 0);
  const front = shown.filter((x) => x > 256).map((x) => `M${x} 212a27 44 0 0 1 0 88`);
  const behind = shown.map((x) => `M${x} 80v132a27 44 0 0 0 0 88v132m0-132a27 44 0 0 0 0-88`);
  const path = (d, color, width) => `<path d="${d}" stroke="${hex(color)}" stroke-width="${width}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512" fill="none"><title>heddle</title><rect x="8" y="8" width="496" height="496" rx="96" fill="${hex(ground)}"/>${path(behind.join(''), wire, 24)}${path(strand, thread, 32)}${path(front.join(''), wire, 24)}</svg>\n`;
}

writeFileSync(join(root, 'src/board/view/shared/mark.svg'), svg());
