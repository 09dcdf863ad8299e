import { diffArrays } from 'diff';
import { type ComponentChild, h } from 'preact';
import { PureComponent } from '../shared/pure-component.ts';
import { visibleText } from '../shared/visible-text.ts';

/** Longer texts are not compared. */
const maxComparedChars = 50_000;
/** Texts with more different words have too little in common for their differences to help. */
const maxDifferentWords = 400;

interface DifferencesProps {
  /** The other text, such as the expected answer; parts that only it has are struck through. */
  from: string;
  to: string;
}

/** The differences between two texts, word by word. */
export class Differences extends PureComponent<DifferencesProps> {
  override render({ from, to }: DifferencesProps): ComponentChild {
    return differencesView(from, to);
  }
}

function differencesView(from: string, to: string): ComponentChild {
  const sentence = (text: string): ComponentChild => h('p', { class: 'quiet-line' }, text);
  if (from === to) return sentence('Both are the same.');
  const tooDifferent = sentence('They have too little in common to show the differences.');
  if (from.length + to.length > maxComparedChars) return tooDifferent;
  const changes = diffArrays(wordsOf(from), wordsOf(to), { maxEditLength: maxDifferentWords });
  if (!changes?.some(({ added, removed, value }) => !added && !removed && value.some((word) => /\w/.test(word))))
    return tooDifferent;
  const parts = changes.map(({ added, removed, value }) => {
    const text = visibleText(value.join(''));
    return added ? h('ins', {}, text) : removed ? h('del', {}, text) : text;
  });
  return h('div', { class: 'text differences', dir: 'auto' }, parts);
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}_]+|\s+|./gsu) ?? [];
}
