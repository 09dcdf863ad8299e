import { button, element, setAttribute } from '../shared/element.ts';
import { labelOf } from '../shared/labels.ts';
import { isSameValue } from './draft.ts';
import type { Field } from './review-data.ts';

/** The control of a field on a card. */
export interface Control {
  node: HTMLElement;
  /** Shows a value; undefined for none. */
  show: (value: unknown) => void;
  /** Takes the choice at a position, from 0; false if there is none. */
  choose: (index: number) => boolean;
  /** Puts the focus where the person can type; false for buttons. */
  focusInput: () => boolean;
}

interface Choice {
  label: string;
  value: unknown;
}

/** Choices that are buttons; with more of them, they are a list. */
const maxButtons = 9;

/** Returns the values among which a field lets a person choose; undefined if they write one. */
export function choicesOf({ type, choices, min, max }: Field): Choice[] | undefined {
  if (choices) return choices.map((value) => ({ label: labelOf(value), value }));
  if (type === 'boolean') {
    return [
      { label: 'Yes', value: true },
      { label: 'No', value: false },
    ];
  }
  if (type !== 'integer' || min === undefined || max === undefined || max - min >= maxButtons || max < min)
    return undefined;
  return Array.from({ length: max - min + 1 }, (_, index) => ({ label: String(min + index), value: min + index }));
}

/**
 * Creates the control of a field.
 * @param give takes the value that the person chose, undefined for none.
 * @param refuse takes a sentence about what cannot be a value, undefined once it can.
 */
export function createControl(
  field: Field,
  label: string,
  give: (value: unknown) => void,
  refuse: (sentence: string | undefined) => void,
): Control {
  const choices = choicesOf(field);
  if (choices && choices.length <= maxButtons) return choiceButtons(choices, give);
  if (choices) return choiceList(choices, label, give);
  if (field.type === 'number' || field.type === 'integer') return numberBox(field, label, give, refuse);
  return textBox(field, label, give, refuse);
}

function choiceButtons(choices: Choice[], give: (value: unknown) => void): Control {
  let shown: unknown;
  const buttons = choices.map(({ value }, index) =>
    button('', () => give(isSameValue(shown, value) ? undefined : value), {
      class: 'choice',
      'aria-pressed': 'false',
      'aria-keyshortcuts': String(index + 1),
      dir: 'auto',
    }),
  );
  for (const [index, each] of buttons.entries()) {
    each.append(choices[index]!.label, element('kbd', { 'aria-hidden': 'true' }, String(index + 1)));
  }
  return {
    node: element('div', { class: 'choices' }, ...buttons),
    show: (value) => {
      shown = value;
      for (const [index, each] of buttons.entries()) {
        setAttribute(each, 'aria-pressed', String(isSameValue(choices[index]!.value, value)));
      }
    },
    choose: (index) => {
      if (!choices[index]) return false;
      give(choices[index].value);
      return true;
    },
    focusInput: () => false,
  };
}

function choiceList(choices: Choice[], label: string, give: (value: unknown) => void): Control {
  const select = element(
    'select',
    {
      'aria-label': label,
      onchange: () => give(select.value === '' ? undefined : choices[Number(select.value)]!.value),
    },
    element('option', { value: '' }, 'Choose …'),
    ...choices.map((choice, index) => element('option', { value: index }, choice.label)),
  );
  return {
    node: select,
    show: (value) => {
      const index = choices.findIndex((choice) => isSameValue(choice.value, value));
      select.value = index === -1 ? '' : String(index);
    },
    choose: (index) => {
      if (!choices[index]) return false;
      give(choices[index].value);
      return true;
    },
    focusInput: () => focus(select),
  };
}

function numberBox(
  { type, min, max }: Field,
  label: string,
  give: (value: unknown) => void,
  refuse: (sentence: string | undefined) => void,
): Control {
  const step = type === 'integer' ? 1 : 'any';
  const bounds = { min, max, step };
  const read = (text: string): void => {
    const value = Number(text);
    if (text.trim() === '') {
      refuse(box.validity.badInput ? 'Write a number.' : undefined);
      if (!box.validity.badInput) give(undefined);
    } else if (!Number.isFinite(value) || (type === 'integer' && !Number.isInteger(value))) {
      refuse(type === 'integer' ? 'Write a whole number.' : 'Write a number.');
    } else if ((min !== undefined && value < min) || (max !== undefined && value > max)) {
      refuse(`It must be ${boundsText(min, max)}.`);
    } else {
      refuse(undefined);
      give(value);
    }
  };
  const box = element('input', { type: 'number', 'aria-label': label, ...bounds, oninput: () => read(box.value) });
  const hasSlider = min !== undefined && max !== undefined && max > min;
  const sliderStep = type === 'integer' ? 1 : (max! - min!) / 100;
  const slider = element('input', {
    type: 'range',
    'aria-label': `${label}, slider`,
    ...bounds,
    step: sliderStep,
    oninput: () => read(slider.value),
  });
  return {
    node: element('div', { class: 'number' }, hasSlider && slider, box, element('span', {}, boundsText(min, max))),
    show: (value) => {
      const text = typeof value === 'number' ? String(value) : '';
      // Keeps the text while the person types, such as 1.50.
      if (document.activeElement !== box) box.value = text;
      if (text !== '') slider.value = text;
    },
    choose: () => false,
    focusInput: () => focus(box),
  };
}

function boundsText(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  if (min !== undefined) return `at least ${min}`;
  return max === undefined ? '' : `at most ${max}`;
}

/** Returns a box for text, or for JSON where the field has a schema that no other control expresses. */
function textBox(
  { type }: Field,
  label: string,
  give: (value: unknown) => void,
  refuse: (sentence: string | undefined) => void,
): Control {
  const isText = type === 'string';
  const read = (): void => {
    const text = box.value;
    if (text.trim() === '') {
      refuse(undefined);
      give(undefined);
    } else if (isText) give(text);
    else {
      try {
        give(JSON.parse(text));
        refuse(undefined);
      } catch {
        refuse('Write a value as JSON, with texts in double quotes.');
      }
    }
  };
  const box = element('textarea', {
    rows: 2,
    'aria-label': isText ? label : `${label}, as JSON`,
    dir: 'auto',
    oninput: read,
  });
  return {
    node: box,
    show: (value) => {
      if (document.activeElement === box) return;
      const text = value === undefined ? '' : isText ? String(value) : JSON.stringify(value);
      if (box.value !== text) box.value = text;
    },
    choose: () => false,
    focusInput: () => focus(box),
  };
}

function focus(node: HTMLElement): true {
  node.focus();
  return true;
}
