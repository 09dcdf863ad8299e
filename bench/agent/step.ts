// `npx tsx bench/agent/step.ts FOLDER …`: takes the step of somebody who plays the model, and prints what they see next; see README.md.
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { endFile, type Step, shownFile, stepFile, writeWhole } from './step-model.ts';

const [folder, ...words] = process.argv.slice(2);

function stop(problem: string): never {
  console.error(problem);
  process.exit(2);
}

const usage = `usage: npx tsx bench/agent/step.ts FOLDER                        shows what the model sees now
       npx tsx bench/agent/step.ts FOLDER call TOOL JSON [call TOOL JSON …]   calls tools
       npx tsx bench/agent/step.ts FOLDER say TEXT               answers the user; - reads the text from stdin`;
if (folder === undefined) stop(usage);

/** Returns the step that words on the command line describe. */
function stepOf(words: readonly string[]): Step {
  const [verb, text] = words;
  if (verb === 'say' && words.length === 2) return { say: text === '-' ? readFileSync(0, 'utf8') : text! };
  if (verb !== 'call' || words.length % 3 !== 0) stop(usage);
  const calls = Array.from({ length: words.length / 3 }, (_, index) => {
    const [word, name, json] = words.slice(3 * index, 3 * index + 3);
    if (word !== 'call') stop(usage);
    return { name: name!, arguments: json! };
  });
  return { calls };
}

let step = 1;
while (existsSync(stepFile(folder, step))) step += 1;
if (words.length > 0) {
  if (!existsSync(shownFile(folder, step))) stop('Nothing has been shown to answer yet.');
  await writeWhole(stepFile(folder, step), JSON.stringify(stepOf(words)));
  step += 1;
}
const pollMs = 50;
/** Time in which a job that has just been started creates its folder. */
const startMs = 30_000;
for (let waitedMs = 0; !existsSync(shownFile(folder, step)) && !existsSync(endFile(folder)); waitedMs += pollMs) {
  if (waitedMs > startMs && !existsSync(folder))
    stop(`Nothing plays in ${folder}. Start it: npm run bench:agent -- --step ${folder}`);
  await setTimeout(pollMs);
}
const file = existsSync(shownFile(folder, step)) ? shownFile(folder, step) : endFile(folder);
console.log(readFileSync(file, 'utf8'));
