/** Returns the numbers of an answer's last line that has any written `name=1`, by name in lower case. */
export function numbersIn(answer: string): Record<string, number> {
  const lines = answer.replaceAll(/[*`]/g, '').split('\n').reverse();
  for (const line of lines) {
    const pairs = [...line.matchAll(/([\p{L}_]+)\s*=\s*(-?\d+(?:\.\d+)?)/gu)];
    if (pairs.length > 0) {
      return Object.fromEntries(pairs.map(([, name, number]) => [name!.toLowerCase(), Number(number)]));
    }
  }
  return {};
}

/** Compares the numbers of an answer with the true ones; returns the faults. */
export function faultsOfNumbers(answer: string, expected: Readonly<Record<string, number>>): string[] {
  const found = numbersIn(answer);
  return Object.entries(expected)
    .filter(([name, number]) => found[name] === undefined || Math.abs(found[name] - number) > 0.05)
    .map(([name, number]) => `the answer should say ${name}=${number} but says ${found[name] ?? 'nothing'}`);
}

/** Returns the facts of an answer's last line that has any, written `name=value, other=value`, by name in lower case. */
export function factsIn(answer: string): Map<string, string> {
  const lines = answer.replaceAll(/[*`"]/g, '').split('\n').reverse();
  const facts = (lines.find((line) => /[\p{L}_]\s*=/u.test(line)) ?? '').matchAll(
    /([\p{L}_]+)\s*=\s*([^,;=]+)(?=[,;]|$)/gu,
  );
  return new Map([...facts].map(([, name, value]) => [name!.toLowerCase(), value!.trim().replace(/\.$/, '')]));
}

/** Compares the facts of an answer with the true ones, numbers up to 0.05; returns the faults. */
export function faultsOfFacts(answer: string, expected: Readonly<Record<string, number | string>>): string[] {
  const found = factsIn(answer);
  return Object.entries(expected)
    .filter(([name, value]) => {
      const said = found.get(name);
      if (said === undefined) return true;
      if (typeof value === 'string') return said.toLowerCase() !== value.toLowerCase();
      return Math.abs(Number(said.replaceAll(/[^\d.-]/g, '')) - value) > 0.05;
    })
    .map(([name, value]) => `the answer should say ${name}=${value} but says ${found.get(name) ?? 'nothing'}`);
}

/** Returns what an answer says after each `NOT DONE:` at the beginning of a line. */
export function notDoneIn(answer: string): string[] {
  return answer.split('\n').flatMap((line) => /^[\s>*_`#•\d.)-]*NOT DONE[*_`]*:[*_`]*(.*)$/i.exec(line)?.[1] ?? []);
}

/** Returns a fault unless an answer has as many lines that begin with `NOT DONE:`. */
export function faultsOfNotDone(answer: string, expected: number): string[] {
  const { length } = notDoneIn(answer);
  if (length === expected) return [];
  return [`the answer should have ${expected} lines that begin with NOT DONE:, not ${length}`];
}
