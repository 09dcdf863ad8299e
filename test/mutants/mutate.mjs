import { parseSync } from 'vite';

/** One change to a file: `[start, end)` of its text becomes `replacement`. */
/** @typedef {{ operator: string, start: number, end: number, replacement: string }} Mutation */

const comparisons = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '==': '!=', '!=': '==' };
const arithmetic = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' };
/** Steps of a chain that still gives a usable value when one of them is missing. */
const steps =
  /^(where|whereRef|orderBy|limit|offset|filter|sort|toSorted|reverse|slice|trim|trimEnd|toLowerCase|flat|min|max|int|positive|strict|refine|superRefine|regex|toWellFormed|catch|finally)$/;
/** Names of members and functions whose texts are read by people and pinned elsewhere. */
const prose = /^(describe|description|summary|hint|message|title|log|msg)$/;

/**
 * Returns every mutation of a TypeScript file that the operators know.
 * @param {string} text
 * @returns {Mutation[]}
 */
export function mutationsOf(text) {
  const found = [];
  const source = (node) => text.slice(node.start, node.end);
  const add = (operator, node, replacement) => found.push({ operator, start: node.start, end: node.end, replacement });
  const removed = (operator, node) => {
    const comma = /^\s*,/.exec(text.slice(node.end))?.[0].length ?? 0;
    found.push({ operator, start: node.start, end: node.end + comma, replacement: '' });
  };
  const between = (operator, left, right, from, to) => {
    const start = text.indexOf(from, left.end);
    if (start !== -1 && start < right.start) found.push({ operator, start, end: start + from.length, replacement: to });
  };
  const isText = (node) =>
    node.type === 'TemplateLiteral' ||
    (node.type === 'Literal' && typeof node.value === 'string') ||
    (node.type === 'BinaryExpression' && (isText(node.left) || isText(node.right)));

  const operators = {
    BinaryExpression(node) {
      const comparison = comparisons[node.operator];
      if (comparison) between('comparison', node.left, node.right, node.operator, comparison);
      const other = arithmetic[node.operator];
      if (other && !isText(node)) between('arithmetic', node.left, node.right, node.operator, other);
    },
    LogicalExpression(node) {
      if (node.operator === '??') add('default dropped', node, source(node.left));
      else between('and/or', node.left, node.right, node.operator, node.operator === '&&' ? '||' : '&&');
    },
    Literal(node) {
      if (typeof node.value === 'number') add('number', node, String(node.value + 1));
      if (typeof node.value === 'boolean') add('boolean', node, String(!node.value));
      if (typeof node.value === 'string' && /^[\w./-]{2,40}$/.test(node.value)) add('string', node, `'mutant'`);
    },
    UnaryExpression(node) {
      if (node.operator === '!') add('negation dropped', node, source(node.argument));
    },
    ConditionalExpression(node) {
      add('arms swapped', node, `${source(node.test)} ? ${source(node.alternate)} : ${source(node.consequent)}`);
    },
    IfStatement(node) {
      if (!node.alternate) add('branch removed', node, ';');
    },
    ExpressionStatement(node) {
      const call = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
      const isLog = /^(this\.#?)?(options\.|runtime\.)?#?log\(|context\.get\('log'\)/.test(source(call));
      if (['CallExpression', 'AssignmentExpression'].includes(call.type) && !isLog) add('statement removed', node, ';');
    },
    CallExpression(node) {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.optional || !steps.test(callee.property.name ?? '')) return;
      if (!/^z$|Math$/.test(source(callee.object))) add('step dropped', node, source(callee.object));
    },
    ObjectExpression(node) {
      for (const property of node.properties) {
        if (!prose.test(property.key?.name ?? '')) removed('member removed', property);
      }
    },
    ArrayExpression(node) {
      if (node.elements.length < 2) return;
      for (const element of node.elements) if (element) removed('element removed', element);
    },
  };

  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node?.type !== 'string') return;
    const isTypeOnly = /^TS(?!As|NonNull|Satisfies)|^Import|^ExportAll/.test(node.type);
    const isProse = prose.test(node.key?.name ?? node.callee?.name ?? node.callee?.property?.name ?? '');
    if (isTypeOnly) return;
    operators[node.type]?.(node);
    // The receiver of a description still counts, its text does not.
    if (isProse) return visit(node.callee?.object);
    // A member's name is not a value, and text of a pattern that is compared with is.
    for (const [name, child] of Object.entries(node)) if (name !== 'key' && name !== 'source') visit(child);
  };
  visit(parseSync('mutated.ts', text).program);
  return found;
}

/**
 * Draws a sample that has about as many mutations of each operator, the same for the same seed.
 * @template {{ operator: string }} T
 * @param {T[]} all
 * @param {number} count
 * @param {number} seed
 * @returns {T[]}
 */
export function sample(all, count, seed) {
  const random = generator(seed);
  const byOperator = new Map();
  for (const mutation of all)
    byOperator.set(mutation.operator, [...(byOperator.get(mutation.operator) ?? []), mutation]);
  const piles = [...byOperator.values()];
  const drawn = [];
  while (drawn.length < count && piles.some((pile) => pile.length > 0)) {
    for (const pile of piles) {
      if (pile.length > 0) drawn.push(...pile.splice(Math.floor(random() * pile.length), 1));
    }
  }
  return drawn.slice(0, count);
}

/** Returns a pseudo-random generator (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
