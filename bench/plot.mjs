// Draws a plot with logarithmic axes as SVG, without a library; the same numbers always give the same file.
const width = 380;
const height = 300;
const margin = { left: 52, right: 14, top: 34, bottom: 44 };
const colours = ['#2563eb', '#0d9488', '#9ca3af', '#d97706', '#dc2626', '#7c3aed', '#15803d'];

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** Lists 1, 2 and 5 times the powers of ten within a range. */
function ticks(from, to, steps) {
  const all = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
    for (const step of steps) all.push(step * 10 ** power);
  }
  return all.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
}

const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(Number(value.toPrecision(2)));

/** Draws one panel: `series` maps a name to points [x, y], all above zero. */
function panel({ title, xLabel, series }, left) {
  const points = Object.values(series).flat();
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys) / 1.3, Math.max(...ys) * 1.3];
  const scale = (value, from, to, start, length) => start + (Math.log(value / from) / Math.log(to / from)) * length;
  const x = (value) => scale(value, x0, x1, left + margin.left, width - margin.left - margin.right);
  const y = (value) => scale(value, y0, y1, height - margin.bottom, margin.top + margin.bottom - height);
  const at = (value) => value.toFixed(1);
  const bottom = height - margin.bottom;
  const parts = [
    `<text x="${left + width / 2}" y="18" text-anchor="middle" font-weight="600">${escaped(title)}</text>`,
  ];
  for (const tick of ticks(y0, y1, y1 / y0 > 300 ? [1] : [1, 2, 5])) {
    parts.push(
      `<line x1="${left + margin.left}" x2="${left + width - margin.right}" y1="${at(y(tick))}" y2="${at(y(tick))}" stroke="#e5e7eb"/>`,
      `<text x="${left + margin.left - 6}" y="${at(y(tick) + 4)}" text-anchor="end">${short(tick)}</text>`,
    );
  }
  for (const tick of [...new Set(xs)].sort((a, b) => a - b)) {
    parts.push(`<text x="${at(x(tick))}" y="${bottom + 16}" text-anchor="middle">${short(tick)}</text>`);
  }
  parts.push(
    `<text x="${left + width / 2}" y="${height - 8}" text-anchor="middle">${escaped(xLabel)}</text>`,
    `<text transform="translate(${left + 14} ${height / 2}) rotate(-90)" text-anchor="middle">ms, median</text>`,
    `<path d="M${left + margin.left} ${margin.top}V${bottom}H${left + width - margin.right}" fill="none" stroke="#6b7280"/>`,
  );
  Object.entries(series).forEach(([name, line], index) => {
    const colour = colours[index % colours.length];
    const path = line.map(([px, py], point) => `${point === 0 ? 'M' : 'L'}${at(x(px))} ${at(y(py))}`).join('');
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.8"/>`);
    for (const [px, py] of line) parts.push(`<circle cx="${at(x(px))}" cy="${at(y(py))}" r="2.4" fill="${colour}"/>`);
    const legend = height + 6 + index * 16;
    parts.push(
      `<rect x="${left + margin.left}" y="${legend - 9}" width="14" height="3" fill="${colour}"/>`,
      `<text x="${left + margin.left + 20}" y="${legend - 3}">${escaped(name)}</text>`,
    );
  });
  return parts.join('\n');
}

/** Draws the panels side by side, with their legends below. */
export function plot(panels) {
  const legends = Math.max(...panels.map(({ series }) => Object.keys(series).length));
  const total = { width: width * panels.length, height: height + legends * 16 + 8 };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${total.width} ${total.height}" font-family="system-ui, sans-serif" font-size="11" fill="#374151">
<title>Latency against page size, concurrency and queue size</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${panels.map((one, index) => panel(one, index * width)).join('\n')}
</svg>
`;
}
