import { type ComponentChild, h, type TargetedEvent } from 'preact';
import type { FieldSummary } from '../../../queues/queue-fields.ts';
import { button } from '../shared/button.ts';
import { plainText } from '../shared/visible-text.ts';
import { isSameValue, isText } from './draft.ts';
import { boundsText, type Choice, choicesOf, isNumeric, maxButtons, textOf } from './field-values.ts';

interface ControlProps {
  field: FieldSummary;
  /** The value to show, undefined for none. */
  value: unknown;
  /** The text in the box, where the person has typed one. */
  typed: string | undefined;
  onGive: (value: unknown) => void;
  onType: (box: HTMLInputElement | HTMLTextAreaElement) => void;
}

/** Draws the control of a field. The class `box` marks what a person types into or opens. */
export function fieldControl(props: ControlProps): ComponentChild {
  const choices = choicesOf(props.field);
  if (choices) return choices.length <= maxButtons ? choiceButtons(choices, props) : choiceList(choices, props);
  return isNumeric(props.field) ? numberBox(props) : textBox(props);
}

function choiceButtons(choices: readonly Choice[], { value, onGive }: ControlProps): ComponentChild {
  const buttons = choices.map((choice) => {
    const isChosen = isSameValue(choice.value, value);
    const shortcut = choice.key !== undefined && { key: choice.key };
    const attributes = { class: 'choice', 'aria-pressed': isChosen, dir: 'auto', ...shortcut };
    return button(choice.label, () => onGive(isChosen ? undefined : choice.value), attributes);
  });
  return h('div', { class: 'line' }, buttons);
}

function choiceList(choices: readonly Choice[], { field, value, onGive }: ControlProps): ComponentChild {
  return h(
    'select',
    {
      class: 'box',
      'aria-label': plainText(field.name),
      value: choices.findIndex((choice) => isSameValue(choice.value, value)),
      onChange: ({ currentTarget }: TargetedEvent<HTMLSelectElement>) =>
        onGive(choices[Number(currentTarget.value)]?.value),
    },
    h('option', { value: -1 }, 'Choose …'),
    choices.map(({ label }, index) => h('option', { value: index }, label)),
  );
}

function numberBox({ field, value, typed, onType }: ControlProps): ComponentChild {
  const { type, min, max } = field;
  const box = h('input', {
    type: 'number',
    class: 'box',
    'aria-label': plainText(field.name),
    min,
    max,
    step: type === 'integer' ? 1 : 'any',
    value: typed ?? textOf(field, value),
    onInput: ({ currentTarget }) => onType(currentTarget),
  });
  return h('div', { class: 'line' }, box, h('span', {}, boundsText(min, max)));
}

/** Draws a box for text, or for JSON where the field has a schema that no other control expresses. */
function textBox({ field, value, typed, onType }: ControlProps): ComponentChild {
  const label = plainText(field.name);
  return h('textarea', {
    class: 'box',
    rows: 2,
    'aria-label': isText(field.type) ? label : `${label}, as JSON`,
    dir: 'auto',
    value: typed ?? textOf(field, value),
    onInput: ({ currentTarget }: TargetedEvent<HTMLTextAreaElement>) => onType(currentTarget),
  });
}
